//! The audit finds by itself what is known of the schemes, and nothing where nothing is known.

use std::sync::atomic::AtomicBool;

use groupkey::catalogue::{Profile, SCHEMES, scheme};
use groupkey_lab::audit::{Audit, Claim, Depth, Finding, Found, Options, Subject, audit};

fn of(subjects: &[Subject], depth: Depth, threads: usize) -> Audit {
    let stop = AtomicBool::new(false);
    let options = Options { depth, seed: 1, threads, stop: &stop, on_progress: &|_| () };
    audit(subjects, &options).expect("nobody stops it")
}

fn quick(id: &str, profile: Profile) -> Vec<Finding> {
    let subject = Subject::new(scheme(id).expect("it is in the catalogue"), profile);
    of(&[subject], Depth { sampled: 0, ..Depth::QUICK }, 2).findings
}

#[test]
#[ignore = "a look at everything"]
fn survey() {
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            let start = std::time::Instant::now();
            let audit = of(&[Subject::new(scheme, profile)], Depth { sampled: 5, ..Depth::QUICK }, 1);
            println!(
                "=== {} {} ran {} refused {} {:?}",
                scheme.id,
                profile.name(),
                audit.histories[0],
                audit.refused[0],
                start.elapsed()
            );
            for finding in &audit.findings {
                println!("{} claimed {:?} found {:?}", finding.claim, finding.claimed, finding.found);
                if finding.found == Found::Broken && !finding.claim.starts_with("secrecy-from") {
                    for line in finding.history.iter().chain(&finding.derivation) {
                        println!("      {line}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_findings_do_not_depend_on_the_number_of_threads() {
    let subjects: Vec<_> = ["oft", "igkmp"]
        .into_iter()
        .flat_map(|id| Profile::ALL.map(|profile| Subject::new(scheme(id).unwrap(), profile)))
        .collect();
    let depth = Depth { sampled: 4, ..Depth::QUICK };
    let one = of(&subjects, depth, 1);
    let several = of(&subjects, depth, 3);
    assert_eq!(one.findings, several.findings);
    assert_eq!(one.histories, several.histories);
    assert_eq!(one.findings.len(), subjects.len() * Claim::ALL.len());
}

#[test]
fn a_key_server_that_wraps_for_each_member_holds_what_it_claims() {
    for profile in Profile::ALL {
        for finding in quick("skdc", profile) {
            let broken = finding.found == Found::Broken;
            assert_eq!(broken, finding.claim == "secrecy-from-controller", "{finding:#?}");
        }
    }
}
