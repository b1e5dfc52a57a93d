//! What the searches find: each attack without its mend, and nothing with the rules of now but the
//! limits that `docs/order.md` and `docs/operate.md` name.

use groupkey_model::{ModelRun, runs, store_runs};

#[test]
fn each_mend_is_needed_and_all_of_them_are_enough() {
    search_all(runs(), false);
}

#[test]
fn each_mend_of_the_store_is_needed_and_the_limits_are_known() {
    search_all(store_runs(), false);
}

#[test]
#[ignore = "long: minutes, nine million states, 4 GB"]
fn long_searches_find_what_is_expected() {
    search_all(runs(), true);
}

fn search_all(runs: Vec<ModelRun>, long: bool) {
    for run in runs.into_iter().filter(|run| run.is_long == long) {
        let (title, rules, broken, example) = (run.title, run.rules, run.broken, run.example);
        let outcome = run.outcome();
        println!("{title}, {rules}: {outcome}");
        assert!(outcome.is_as_expected(broken), "{title}, {rules}: {outcome}");
        let is_empty = broken.is_none() && !outcome.examples.contains(&example);
        assert!(!is_empty, "{title}, {rules}: {outcome}");
    }
}
