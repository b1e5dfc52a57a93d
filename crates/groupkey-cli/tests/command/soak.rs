//! `groupkey soak`.

use serde_json::Value;

use crate::finished::{Finished, groupkey};

fn lines(finished: &Finished) -> Vec<Value> {
    let object = |line| serde_json::from_str(line).expect("each line is a JSON object");
    finished.stdout.lines().map(object).collect()
}

#[test]
fn what_is_broken_fails_and_comes_with_a_command_that_runs_it_again() {
    let soaked = groupkey("soak --faults 200 --seed 1 --json");
    let found = lines(&soaked);
    let of_kind = |kind: &'static str| found.iter().filter(move |line| line["kind"] == kind);
    assert_eq!(of_kind("scheme").count(), 5, "{found:?}");
    let faults: u64 = of_kind("scheme").filter_map(|line| line["faults"].as_u64()).sum();
    assert!(faults >= 50, "{found:?}");
    let is_broken = of_kind("broken").next().is_some();
    assert_eq!(soaked.code, i32::from(is_broken), "{}", soaked.stderr);
    for broken in of_kind("broken") {
        let command = broken["command"].as_str().and_then(|all| all.strip_prefix("groupkey "));
        let again = groupkey(command.expect("there is a command"));
        assert_eq!(again.code, 1, "{}", again.stdout);
        let seen = format!("{}: ", broken["invariant"].as_str().expect("it has a name"));
        assert!(again.stderr.contains(&seen), "{}", again.stderr);
    }
}

#[test]
fn the_same_seed_gives_the_same_result_on_any_number_of_threads() {
    let on =
        |threads| groupkey(&format!("soak --faults 60 --seed 3 --threads {threads} --json")).stdout;
    assert_eq!(on(1), on(3));
    let other = groupkey("soak --faults 60 --seed 4 --json").stdout;
    assert_ne!(on(1), other);
}

#[test]
fn what_cannot_be_soaked_is_refused() {
    for (arguments, why) in [
        ("--members 33", "from 4 to 32"),
        ("--scheme cka", "cka does not run in a live group"),
        ("--scheme iolus", "iolus does not run in a live group"),
        ("--history 3", "--history is one of one scheme"),
        ("--scheme skdc --history 3 --only 1000", "has no step 1000"),
        ("--members 3", "--members"),
    ] {
        let refused = groupkey(&format!("soak {arguments}"));
        assert_eq!(refused.code, 2, "{arguments}");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
