//! The answers that are given, against those that are defended, and against the audit.
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use groupkey::catalogue::{Class, Provenance, SCHEMES, scheme};
use groupkey_choose::decision::Quantity;
use groupkey_choose::requirements::{EXAMPLES, RequirementsDraft, Security};
use groupkey_choose::{Candidate, Grounds, Requirements, decide_on, recommend_on};

use super::GOING_ON;
use super::races::{asked, raced};
use crate::audit::{Finding, Found, recorded};
use crate::choose::validate::requirements;
use crate::choose::{MeasureOptions, ValidateOptions, measure};

/// One of `data/answers.toml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DefendedAnswer {
    name: String,
    from: String,
    set: Vec<String>,
    scheme: String,
    defence: String,
}

/// A built-in example and the first sentence of its answer.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleAnswer {
    name: String,
    in_short: String,
}

/// `data/answers.toml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswers {
    example: Vec<ExampleAnswer>,
    answer: Vec<DefendedAnswer>,
}

fn recorded_answers() -> RecordedAnswers {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/answers.toml");
    let text = fs::read_to_string(path).expect("it is there");
    toml::from_str(&text).expect("it can be read")
}

fn defended() -> Vec<(Requirements, DefendedAnswer)> {
    let answer = recorded_answers().answer;
    let with = |answer: DefendedAnswer| {
        (asked(&answer.set.iter().map(String::as_str).collect::<Vec<_>>()), answer)
    };
    answer.into_iter().map(with).collect()
}

#[test]
fn thirty_answers_are_defended_in_two_sentences_each() {
    let forbidden = forbidden_by_their_pages();
    let all = defended();
    let of = |from: &str| all.iter().filter(|(_, answer)| answer.from == from).count();
    assert_eq!((of("review"), of("new")), (15, 15));
    let mut names: Vec<&str> = all.iter().map(|(_, answer)| &*answer.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 30);
    for (requirements, answer) in &all {
        let DefendedAnswer { name, scheme, defence, .. } = answer;
        let sentences = defence.trim().split_inclusive(". ").count();
        assert!(sentences == 2 && defence.trim().ends_with('.'), "{name}: {defence}");
        assert!(!forbidden.contains(&&**scheme), "{name}: {scheme}");
        let modelled = decide_on(&requirements.as_modelled(), &Grounds::shipped());
        let modelled = modelled.expect("possible");
        let mut meet = modelled.front.iter().chain(&modelled.beaten);
        assert!(meet.any(|one| one.candidate.variant.scheme == *scheme), "{name}: {scheme}");
        // Without being asked for, nothing is recommended at QoS 0.
        assert!(modelled.recommended.is_some_and(|best| best.candidate.qos > 0), "{name}");
    }
}

#[test]
#[ignore = "long: minutes, races the finalists of thirty requirements"]
fn the_defended_answers_are_those_that_are_given() {
    let mut others = Vec::new();
    for (requirements, DefendedAnswer { name, scheme, .. }) in defended() {
        let best = raced(&requirements, 2, &GOING_ON).recommended.expect(&name).candidate;
        if best.variant.scheme != scheme || best.qos == 0 {
            others.push((name, best));
        }
    }
    assert!(others.is_empty(), "{others:?}");
}

/// Of the recommended candidates, the mean and the 99th percentile of ten times as many fresh runs
/// lie within the intervals of the answer.
#[test]
#[ignore = "long: minutes, simulates answers anew"]
fn figures_of_answers_lie_within_their_intervals_in_fresh_simulations() {
    let (mut within, mut all) = (0, 0);
    let drawn = requirements(&ValidateOptions {
        seed: 38,
        even: 6,
        typical: 6,
        members: 60,
        runs: 1,
        threads: 1,
        stop: &GOING_ON,
        on_progress: &|_, _| (),
    });
    for (_, requirements) in drawn {
        let decision = raced(&requirements, 2, &GOING_ON);
        let Some(best) = decision.recommended else { continue };
        let on_progress = &|_, _| ();
        let options =
            MeasureOptions { seed: 77, runs: 4_000, threads: 2, stop: &GOING_ON, on_progress };
        let fresh = measure(&requirements, std::slice::from_ref(&best.candidate), &options)
            .expect("as before");
        for quantity in [Quantity::Completion, Quantity::CompletionOf99] {
            let (Some(told), Some(fresh)) =
                (best.figure(quantity), fresh[0].assessment.figure(quantity))
            else {
                continue;
            };
            let (low, high) = told.interval;
            all += 1;
            within += u32::from((low..=high).contains(&fresh.value));
        }
    }
    println!("{within} of {all} figures lie within their intervals");
    // If 93 of 100 do, fewer than three quarters of some twenty do once in a thousand times.
    assert!(all >= 12 && 4 * within >= 3 * all, "{within} of {all}");
}

#[test]
#[ignore = "long: a minute, races the finalists of the examples"]
fn the_examples_have_the_recorded_recommendations_for_the_recorded_reasons() {
    let recorded = recorded_answers().example;
    assert_eq!(recorded.len(), EXAMPLES.len());
    for ExampleAnswer { name, in_short } in recorded {
        let (_, text) = EXAMPLES.into_iter().find(|(known, _)| *known == name).expect("built in");
        let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
        let requirements = draft.finish().expect("a group can have it");
        let decision = raced(&requirements, 2, &GOING_ON);
        assert_eq!(decision.in_short[0], in_short, "{name}");
    }
}

/// The built-in examples, groups of 2 to 100,000 members, and others that are drawn.
fn many_requirements(even: usize, typical: usize) -> Vec<Requirements> {
    let mut all: Vec<Requirements> = EXAMPLES
        .into_iter()
        .map(|(name, text)| {
            let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
            draft.finish().expect("a group can have it")
        })
        .collect();
    for members in [2, 3, 10, 100, 1_000, 5_000, 20_000, 55_000, 100_000] {
        for (controller, loss) in [(true, 0.0), (true, 1.0), (false, 1.0)] {
            let mut one = Requirements::default();
            (one.members.now, one.network.loss, one.trust.controller) = (members, loss, controller);
            all.push(one);
        }
    }
    let options = ValidateOptions {
        seed: 26,
        even,
        typical,
        members: 5_000,
        runs: 1,
        threads: 1,
        stop: &GOING_ON,
        on_progress: &|_, _| (),
    };
    let drawn = requirements(&options);
    assert_eq!(drawn.len(), even + typical);
    all.extend(drawn.into_iter().enumerate().map(|(place, (_, mut one))| {
        if place % 4 == 0 && one.trust.controller {
            let members = &mut one.members;
            (members.now, members.most) = ((members.now * 20).min(100_000), 0);
        }
        one
    }));
    all
}

/// Returns the ids of the schemes whose pages say not to use them, in whatever profile.
fn forbidden_by_their_pages() -> Vec<&'static str> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemes");
    let files = fs::read_dir(&folder).expect("the folder is there");
    let pages = files.map(|file| fs::read_to_string(file.expect("readable").path()));
    let forbids = |page: &str| {
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        let names = ["it".to_owned(), title.to_owned()];
        names.iter().any(|name| words.contains(&format!("Do not use {name} ")))
    };
    let mut ids = Vec::new();
    for page in pages.map(|page| page.expect("a page is text")).filter(|page| forbids(page)) {
        let file = page.rsplit("[Costs, messages and deviations](").next().expect("it has a link");
        let code = fs::read_to_string(folder.join(file.trim_end().trim_end_matches(')')));
        let code = code.expect("the link leads to a file");
        let is_in_it = |id: &&str| code.contains(&format!("\"{id}\","));
        ids.extend(SCHEMES.iter().map(|scheme| scheme.id).filter(is_in_it));
    }
    ids.sort_unstable();
    ids
}

/// Returns whether the recorded audit found that the sound form of a scheme holds a claim.
fn holds(scheme: &str, adversary: &str, claim: &str) -> bool {
    let is_of = |finding: &&Finding| {
        (&*finding.scheme, &*finding.profile, &*finding.claim) == (scheme, "sound", claim)
            && finding.adversary.name() == adversary
            && finding.condition.is_none()
    };
    let mut found = recorded::findings().iter().filter(is_of).map(|finding| finding.found);
    found.next() == Some(Found::Holds) && found.all(|found| found == Found::Holds)
}

#[test]
fn a_scheme_that_its_page_forbids_lacks_what_is_required_by_default() {
    let forbidden = forbidden_by_their_pages();
    assert_eq!(forbidden, ["cfkm", "cka"]);
    for scheme in forbidden {
        let usual = Security::default();
        assert!(usual.passive.iter().any(|claim| !holds(scheme, "passive", claim)), "{scheme}");
    }
}

#[test]
fn what_is_recommended_holds_the_default_claims_and_no_page_forbids_it() {
    nothing_recommended_contradicts_its_page_or_the_audit(many_requirements(160, 40));
}

#[test]
#[ignore = "long: a minute, the same of two thousand requirements"]
fn nothing_that_is_recommended_for_two_thousand_requirements_contradicts_its_page_or_the_audit() {
    let drawn = many_requirements(1_600, 400);
    assert!(drawn.len() >= 2_000);
    nothing_recommended_contradicts_its_page_or_the_audit(drawn);
}

fn nothing_recommended_contradicts_its_page_or_the_audit(drawn: Vec<Requirements>) {
    let least = drawn.len() * 3 / 4;
    let forbidden = forbidden_by_their_pages();
    let usual = Security::default();
    let mut answered: BTreeMap<String, Vec<Requirements>> = BTreeMap::new();
    for requirements in drawn {
        let best = recommend_on(&requirements, &Grounds::shipped()).expect("they are possible");
        let Some(Candidate { variant, qos }) = best.map(|best| best.candidate) else { continue };
        assert!(qos > 0 || requirements.network.qos == Some(0), "{variant}: {requirements:?}");
        // Every member can make a MAC, so it holds nothing against one who sends.
        let is_signed = ["signature", "merkle"].contains(&&*variant.guard);
        assert!(
            is_signed || requirements.security.active.is_empty(),
            "{variant}: {requirements:?}"
        );
        let known = scheme(&variant.scheme).expect("it is in the catalogue");
        if !requirements.trust.gateways_know_the_key && known.class() == Class::Hybrid {
            assert!(holds(known.id, "passive", "secrecy-from-subgroup-controller"), "{variant}");
        }
        answered.entry(variant.scheme).or_default().push(requirements);
    }
    let all: usize = answered.values().map(Vec::len).sum();
    assert!(all > least && answered.len() > 5, "{all} answers, of {} schemes", answered.len());
    for (scheme, asked) in &answered {
        assert!(!forbidden.contains(&&**scheme), "{scheme}: {:?}", asked[0]);
        let known = groupkey::catalogue::scheme(scheme).expect("it is in the catalogue");
        assert_ne!(known.provenance, Provenance::StandIn, "{scheme}");
        for requirements in asked {
            let Security { passive, active, .. } = &requirements.security;
            let kept = [("passive", &usual.passive, passive), ("active", &usual.active, active)];
            for (adversary, usual, required) in kept {
                for claim in usual.iter().filter(|claim| required.contains(claim)) {
                    assert!(holds(scheme, adversary, claim), "{scheme}: {adversary} {claim}");
                }
            }
        }
    }
}

#[test]
fn examples_require_what_is_required_by_default() {
    for (name, text) in EXAMPLES {
        let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
        let Security { passive, active, .. } = draft.finish().expect("it is possible").security;
        let usual = Security::default();
        assert!(usual.passive.iter().all(|claim| passive.contains(claim)), "{name}");
        assert!(usual.active.iter().all(|claim| active.contains(claim)), "{name}");
    }
}
