//! What the searches of a service's store find: each attack without its mend, and nothing with the
//! rules of now but the limits that the page has.

use groupkey_model::continuity::invariants::CHANGES;
use groupkey_model::continuity::searches::searches;
use groupkey_model::search;

#[test]
fn each_mend_of_the_store_is_needed_and_the_limits_are_known() {
    for one in searches() {
        for (rules, scene, broken) in one.runs() {
            let outcome = search(scene, None, broken);
            println!("{}, {rules}: {outcome}", one.title);
            assert!(outcome.is_as_expected(broken), "{}, {rules}: {outcome}", one.title);
            let is_empty = broken.is_none() && !outcome.examples.contains(&CHANGES);
            assert!(!is_empty, "{}, {rules}: {outcome}", one.title);
            let row = outcome.row(one.title, rules);
            assert!(PAGE.contains(&row), "{row}");
        }
    }
}

const PAGE: &str = include_str!("../../../docs/operate.md");
