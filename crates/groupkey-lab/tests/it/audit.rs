//! The audit finds by itself what is known of the schemes, and nothing where nothing is known.

mod planted;

use std::sync::atomic::AtomicBool;

use groupkey::MemberId;
use groupkey::catalogue::{Adversary, Profile, SCHEMES, scheme};
use groupkey_lab::audit::{
    Audit, AuditOptions, AuditedScheme, Claim, Finding, Found, SearchDepth, audit,
};
use groupkey_testkit::rig::{Rig, Settings};
use groupkey_testkit::sample;

use self::planted::{FAULTS, Fault, PLANTED};

/// All histories of three events in groups of up to four.
const SHORT: SearchDepth = SearchDepth { sampled: 0, ..SearchDepth::QUICK };

fn of(subjects: &[AuditedScheme], depth: SearchDepth, threads: usize) -> Audit {
    let stop = AtomicBool::new(false);
    let options = AuditOptions { depth, seed: 1, threads, stop: &stop, on_progress: &|_| () };
    audit(subjects, &options).expect("nobody stops it")
}

fn subject(id: &str, profile: Profile) -> AuditedScheme {
    AuditedScheme::new(scheme(id).expect("it is in the catalogue"), profile)
}

/// The finding about a claim, which must be broken, with a history and a derivation.
fn broken(id: &str, profile: Profile, claim: Claim) -> Finding {
    let findings = of(&[subject(id, profile)], SHORT, 2).findings;
    let finding = findings.into_iter().find(|finding| finding.claim == claim.name());
    let finding = finding.expect("every claim is in the findings");
    assert_eq!(finding.found, Found::Broken, "{id}: {}", claim.name());
    assert!(!finding.history.is_empty() && finding.derivation.len() > 1, "{finding:#?}");
    let last = finding.derivation.last().expect("it has steps");
    assert!(last.contains("the group key of epoch"), "{finding:#?}");
    finding
}

/// One scheme for each kind of weakness. The record, which `.ci/full audit` compares, has all.
#[test]
fn what_is_known_to_be_broken_is_found() {
    use Claim::{CollusionResistance, EvictionByRekey, KeyIndependence, SubgroupAndEvicted};
    for (id, claim) in [
        ("oft", CollusionResistance),
        ("sgcsh", CollusionResistance),
        ("dep", SubgroupAndEvicted),
        ("kronos", KeyIndependence),
        // The root key, or the traffic key, is the group key, and leads to the next one.
        ("lkh-group", KeyIndependence),
        ("cfkm", KeyIndependence),
        ("gkmp", EvictionByRekey),
    ] {
        let finding = broken(id, Profile::Published, claim);
        assert_ne!(finding.claimed, Some(true), "{id}: {}", claim.name());
        println!("{}\n{}", finding.history.join("\n"), finding.derivation.join("\n"));
    }
}

#[test]
fn the_collusion_in_one_way_function_trees_is_that_of_the_literature() {
    let finding = broken("oft", Profile::Published, Claim::CollusionResistance);
    // Who was evicted has one half of the root, who came later the other.
    assert!(finding.history.iter().any(|event| event.contains("evict")), "{finding:#?}");
    assert!(finding.history.last().is_some_and(|event| event.contains("add")), "{finding:#?}");
    assert!(finding.derivation.iter().any(|step| step.contains("XOR of")), "{finding:#?}");
}

#[test]
fn nothing_is_found_where_a_sound_form_claims_something() {
    let some = sample::one_in(9, SCHEMES);
    let subjects: Vec<_> = some.map(|scheme| AuditedScheme::new(scheme, Profile::Sound)).collect();
    let shallow = SearchDepth { events: 2, sampled: 5, ..SearchDepth::QUICK };
    for finding in of(&subjects, shallow, 2).findings {
        let relied_on = finding.claimed == Some(true);
        assert!(!relied_on || finding.found != Found::Broken, "{finding:#?}");
    }
}

#[test]
#[ignore = "long: half a minute, forms that nobody runs live"]
fn membership_is_safe_in_trees_and_stars_as_published() {
    for id in ["skdc", "lkh-user", "lkh-key", "lkh-group", "tgdh"] {
        for finding in of(&[subject(id, Profile::Published)], SHORT, 2).findings {
            let membership =
                [Claim::ForwardSecrecy, Claim::BackwardSecrecy, Claim::CollusionResistance];
            let is_passive = finding.adversary == Adversary::Passive;
            if is_passive && membership.iter().any(|claim| claim.name() == finding.claim) {
                assert_eq!(finding.found, Found::Holds, "{finding:#?}");
            }
        }
    }
}

#[test]
fn planted_faults_are_found_and_nothing_without_one() {
    let sound = of(&[planted::subject(Fault::None)], SHORT, 2).findings;
    for finding in sound.iter().filter(|finding| finding.claimed == Some(true)) {
        // Its members take every message that opens: an adversary that speaks has what it wants.
        let is_active = finding.adversary == Adversary::Active;
        let is_replay = ["agreement", "replay"].contains(&&*finding.claim);
        assert!(is_active || finding.found != Found::Broken, "{finding:#?}");
        assert!(!is_replay || finding.found == Found::Broken, "{finding:#?}");
    }
    for fault in FAULTS {
        let findings = of(&[planted::subject(fault)], SHORT, 2).findings;
        let forward = &findings[0];
        assert_eq!(forward.claim, Claim::ForwardSecrecy.name());
        assert_eq!(forward.found, Found::Broken, "{fault:?}");
        // Created with three, one leaves: nothing shorter can show it.
        assert_eq!(forward.history.len(), 2, "{fault:?}: {forward:#?}");
        assert!(forward.history[1].contains("evict"), "{forward:#?}");
        assert_eq!(forward.derivation.len(), 3, "{fault:?}: {forward:#?}");
    }
}

/// What evicts a member is a message that it hears: the rig shows a fault as soon as it happens. Not
/// the third one, whose messages are for one member each: parties refuse what is not for them.
#[test]
fn the_rig_offers_who_is_evicted_the_message_that_evicts_it() {
    for fault in [Fault::None, Fault::OldKeyReused, Fault::WrappedUnderKnownKey] {
        let parameters = planted::subject(fault).parameters;
        let mut rig = Rig::new(&PLANTED, Settings { parameters, ..Settings::default() });
        rig.create(3).unwrap();
        rig.remove(1).unwrap();
        assert_eq!(rig.outsider_knows_key(), fault != Fault::None, "{fault:?}");
    }
}

#[test]
fn an_eviction_that_fails_leaves_a_member_a_member() {
    let mut rig = Rig::new(&PLANTED, Settings::default());
    rig.create(2).unwrap();
    rig.remove(1).unwrap_err();
    rig.add(2).unwrap();
    rig.agreed_key().unwrap();
    assert_eq!(rig.key_of(MemberId(1).into()), rig.key_of(MemberId(0).into()));
}

#[test]
fn the_findings_do_not_depend_on_the_number_of_threads() {
    let subjects: Vec<_> = ["s2rp", "igkmp"]
        .into_iter()
        .flat_map(|id| Profile::ALL.map(|profile| subject(id, profile)))
        .collect();
    let depth = SearchDepth { events: 2, sampled: 40, ..SearchDepth::QUICK };
    let one = of(&subjects, depth, 1);
    let several = of(&subjects, depth, 3);
    assert_eq!(one.findings, several.findings);
    assert_eq!(one.histories, several.histories);
    let claims = one.findings.iter().filter(|finding| !finding.claim_is_attack());
    let each: usize =
        Adversary::ALL.map(|adversary| Claim::against(adversary).count()).iter().sum();
    assert_eq!(claims.count(), subjects.len() * each);
}
