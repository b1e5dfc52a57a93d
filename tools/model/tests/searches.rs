//! What the searches find: each attack without its mend, and nothing with the rules of now.

use groupkey_model::invariants::AGREES;
use groupkey_model::search;
use groupkey_model::searches::searches;

#[test]
fn each_mend_is_needed_and_all_of_them_are_enough() {
    search_all(false);
}

#[test]
#[ignore = "long: minutes, nine million states, 4 GB"]
fn long_searches_find_what_the_page_says() {
    search_all(true);
}

fn search_all(long: bool) {
    for one in searches().into_iter().filter(|one| one.is_long == long) {
        for (rules, scene, broken) in one.runs() {
            let outcome = search(scene, None, broken);
            println!("{}, {rules}: {outcome}", one.title);
            assert!(outcome.is_as_expected(broken), "{}, {rules}: {outcome}", one.title);
            let is_empty = broken.is_none() && !outcome.examples.contains(&AGREES);
            assert!(!is_empty, "{}, {rules}: {outcome}", one.title);
            let row = outcome.row(one.title, rules);
            assert!(PAGE.contains(&row), "{row}");
        }
    }
}

const PAGE: &str = include_str!("../../../docs/order.md");
