//! `groupkey audit`.

use std::fs;

use groupkey::catalogue::Adversary;
use groupkey_lab::audit::Claim;
use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

#[test]
fn claimed_stands_beside_found() {
    let found = groupkey("audit --scheme skdc --quick --json").objects();
    let attacks = |finding: &&Value| finding["attack"] == finding["claim"];
    assert!(found.iter().filter(attacks).count() > 10);
    let claims: usize = Adversary::ALL.map(|whom| Claim::against(whom).count()).iter().sum();
    assert_eq!(found.len() - found.iter().filter(attacks).count(), 2 * claims);
    for finding in &found {
        for field in
            ["scheme", "profile", "claim", "adversary", "claimed", "found", "history", "derivation"]
        {
            assert!(finding.get(field).is_some(), "{field} in {finding}");
        }
    }
    let searched = serde_json::json!({
        "seed": 1, "depth": 3, "quick": true, "members": 4, "events": 3, "sampled": 10,
    });
    assert!(found.iter().all(|finding| finding["searched"] == searched), "{found:?}");
    let forward: Vec<&Value> =
        found.iter().filter(|finding| finding["claim"] == "forward-secrecy").collect();
    assert_eq!(forward.len(), 4);
    for finding in forward {
        // As published, nothing is claimed against an adversary that speaks.
        let claimed = finding["profile"] == "sound" || finding["adversary"] == "passive";
        assert_eq!(finding["claimed"], claimed, "{finding}");
        assert_eq!(finding["found"], "holds", "{finding}");
    }
    let of = |claim: &str| found.iter().rfind(|finding| finding["claim"] == claim);
    let (under_mac, inherent) = (of("false-epoch-mac"), of("restored-store"));
    assert_eq!(under_mac.map(|finding| &finding["condition"]), Some(&"mac".into()));
    assert!(inherent.is_some_and(|finding| finding["inherent"].is_string()), "{inherent:?}");
}

#[test]
fn what_is_broken_as_published_is_shown_and_no_failure() {
    let told = groupkey("audit --scheme oft --quick").success();
    assert!(told.contains("oft, published profile: collusion-resistance is broken"), "{told}");
    assert!(told.contains("XOR of"), "{told}");
    assert!(!told.contains("oft, sound profile: collusion-resistance"), "{told}");
}

#[test]
fn the_same_findings_on_any_number_of_threads() {
    let on =
        |threads| groupkey(&format!("audit --scheme oft --quick --threads {threads}")).success();
    assert_eq!(on(1), on(3));
}

/// What the recorded audit says is what a fresh one finds, of schemes with all kinds of outcomes.
#[test]
fn the_recorded_findings_are_true() {
    let recorded = "../groupkey-lab/data/audit.jsonl";
    groupkey(&format!("audit --quick --scheme oft,dep,skdc,nishat --against {recorded}")).success();
}

#[test]
fn no_claim_is_said_to_hold_that_a_script_breaks() {
    let found = groupkey("audit --scheme nishat --profile published --quick --json").objects();
    let forward = found.iter().find(|finding| finding["claim"] == "forward-secrecy");
    let forward = forward.expect("every claim is in the findings");
    assert_eq!((&forward["found"], &forward["method"]), (&"broken".into(), &"script".into()));
}

#[test]
fn a_difference_from_an_earlier_audit_is_a_failure() {
    let folder = Folder::new();
    let run = |arguments: &str| {
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        groupkey_in(folder.path(), &arguments)
    };
    run("audit --scheme skdc --quick --depth 1 --out found").success();
    let file = folder.path().join("found/results.jsonl");
    run("audit --scheme skdc --quick --depth 1 --against found").success();
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, text.replacen("holds", "broken", 1)).expect("it is writable");
    let failed = run("audit --scheme skdc --quick --depth 1 --against found");
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.contains("recorded as broken"), "{}", failed.stderr);
    let refused = run("audit --scheme skdc --quick --depth 1 --out found");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--fresh replaces them"), "{}", refused.stderr);
    fs::write(&file, "{}").expect("it is writable");
    assert_eq!(run("audit --scheme skdc --quick --depth 1 --against found").code, 2);
}

#[test]
fn what_cannot_be_written_is_noticed_before_the_work() {
    // So many events take hours.
    let refused = groupkey("audit --scheme lkh-group --depth 6 --out /dev/null/found");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("cannot write into /dev/null/found"), "{}", refused.stderr);
}

#[test]
fn a_scheme_and_a_class_are_not_asked_for_together() {
    for class in ["hybrid", "centralized"] {
        let refused = groupkey(&format!("audit --scheme skdc --class {class}"));
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
    }
}

/// In another suite the same claims hold. What cannot run in it is refused, or left out of a class.
#[test]
fn a_suite_is_audited() {
    for id in ["skdc", "treekem"] {
        let line =
            format!("audit --scheme {id} --profile sound --suite pq --quick --depth 1 --json");
        let found = groupkey(&line).objects();
        assert!(found.iter().all(|finding| finding["suite"] == "pq"), "{found:?}");
        let claimed = found.iter().filter(|finding| finding["claimed"] == true);
        let claimed: Vec<_> = claimed.map(|finding| finding["found"].as_str()).collect();
        assert!(claimed.contains(&Some("holds")) && !claimed.contains(&Some("broken")), "{id}");
    }
    let refused = groupkey("audit --scheme skdc,tgdh --suite pq");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("tgdh: no post-quantum form"), "{}", refused.stderr);
}

/// A cap that nobody is told of would be a claim about histories that were never tried.
#[test]
fn the_heading_says_how_far_each_scheme_was_searched() {
    let told = groupkey("audit --scheme nishat --quick --depth 4").success();
    let heading = told.split("Scripted").next().expect("a heading").replace('\n', " ");
    for words in ["up to 3 members at creation and 2 events", "none longer at random", "pairings"] {
        assert!(heading.contains(words), "{words} is not in {heading}");
    }
    let told = groupkey("audit --scheme skdc,nishat,marks --quick").success();
    assert!(told.starts_with("Histories, seed 1, with --quick:"), "{told}");
    let full = groupkey("audit --scheme skdc --depth 1 --seed 2").success();
    assert!(full.replace('\n', " ").contains("seed 2. "), "{full}");
    let line = |start: &str, words: &str| {
        let found = told.lines().find(|line| line.trim_start().starts_with(start));
        let found = found.unwrap_or_else(|| panic!("no line begins with {start} in {told}"));
        assert!(found.contains(words), "{words} is not in {found}");
    };
    line("skdc: ", "up to 4 members at creation and 3 events after it, 10 longer ones");
    line("nishat: ", "up to 3 members at creation and 2 events after it, none longer");
    line("marks: ", "up to 2 members at creation and 5 events after it, none longer");
}
