//! `groupkey audit`.

use serde_json::Value;

use crate::finished::groupkey;

#[test]
fn claimed_stands_beside_found() {
    let found = groupkey("audit --scheme skdc --quick --json").objects();
    assert_eq!(found.len(), 20);
    for finding in &found {
        for field in ["scheme", "profile", "claim", "claimed", "found", "history", "derivation"] {
            assert!(finding.get(field).is_some(), "{field} in {finding}");
        }
    }
    let forward: Vec<&Value> =
        found.iter().filter(|finding| finding["claim"] == "forward-secrecy").collect();
    assert_eq!(forward.len(), 2);
    assert!(forward.iter().all(|finding| finding["claimed"] == true));
    assert!(forward.iter().all(|finding| finding["found"] == "holds"));
}

#[test]
fn what_is_broken_as_published_is_shown_and_no_failure() {
    let told = groupkey("audit --scheme oft --quick").success();
    assert!(told.contains("oft, published profile: collusion-resistance is broken"), "{told}");
    assert!(told.contains("XOR of"), "{told}");
    assert!(!told.contains("oft, sound profile"), "{told}");
}

#[test]
fn the_same_findings_on_any_number_of_threads() {
    let on =
        |threads| groupkey(&format!("audit --scheme oft --quick --threads {threads}")).success();
    assert_eq!(on(1), on(3));
}

#[test]
fn a_class_without_the_scheme_is_refused() {
    let refused = groupkey("audit --scheme skdc --class hybrid");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.starts_with("error: "), "{}", refused.stderr);
}
