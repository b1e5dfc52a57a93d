//! What the searches find: each attack without its mend, and nothing with the rules of now.

use groupkey_model::runs;

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
    for run in runs().into_iter().filter(|run| run.is_long == long) {
        let (title, rules, broken, example) = (run.title, run.rules, run.broken, run.example);
        let outcome = run.outcome();
        println!("{title}, {rules}: {outcome}");
        assert!(outcome.is_as_expected(broken), "{title}, {rules}: {outcome}");
        let is_empty = broken.is_none() && !outcome.examples.contains(&example);
        assert!(!is_empty, "{title}, {rules}: {outcome}");
        let row = outcome.row(title, rules);
        assert!(PAGE.contains(&row), "{row}");
    }
}

const PAGE: &str = include_str!("../../../docs/order.md");
