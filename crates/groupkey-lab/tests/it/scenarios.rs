//! Scenario files: the examples run, and mistakes are found where they stand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use groupkey_lab::campaign::CampaignOptions;
use groupkey_lab::scenario::{Scenario, ScenarioError};

#[test]
fn every_example_is_read_and_run() {
    let mut found = 0;
    for entry in fs::read_dir(examples()).expect("the examples are there") {
        let path = entry.expect("a file").path();
        let scenario = Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let started = Instant::now();
        let stop = AtomicBool::new(false);
        let options = CampaignOptions { threads: 2, stop: &stop, on_progress: &|_| {} };
        let rows = scenario.run(&options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rows.len(), scenario.steps().count());
        assert!(rows.iter().all(|row| row.mean_ms > 0.0 && row.runs == scenario.plan.runs));
        assert!(started.elapsed().as_secs() < 20, "{}: slow", path.display());
        found += 1;
    }
    assert_eq!(found, 4);
}

#[test]
fn what_a_member_has_of_its_own_is_what_its_tables_say() {
    let scenario = Scenario::load(&examples().join("platoon.toml")).expect("an example");
    let plan = &scenario.plan;
    assert_eq!(plan.link.changes, []);
    let [tunnel] = &plan.exceptions[..] else { panic!("one stretch of members differs") };
    assert_eq!(tunnel.numbers, 3..5);
    let [(in_ms, inside), (out_ms, outside)] = tunnel.link.changes[..] else {
        panic!("in and out")
    };
    assert_eq!((in_ms, inside.loss_percent, inside.burst_ms), (1_500.0, 25.0, Some(300.0)));
    assert_eq!((out_ms, outside), (4_500.0, plan.link.initial));
}

#[test]
fn subgroups_have_links_of_their_own() {
    let plan = Scenario::load(&examples().join("depots.toml")).expect("an example").plan;
    let [satellite] = &plan.subgroup_exceptions[..] else { panic!("one gateway differs") };
    assert_eq!((satellite.numbers.clone(), satellite.link.initial.delay_ms), (3..4, 280.0));
    assert_eq!(plan.exceptions.len(), 1, "what a subgroup has is no member's");
    for (tables, told) in [
        ("[[link]]\nsubgroups = [0, 1]\ndelay_ms = 1\n", "hybrid schemes have"),
        ("[[link]]\nsubgroups = [1, 0]\n", "subgroups are the first and the last"),
        ("[[link]]\nmembers = [0, 1]\nsubgroups = [0, 1]\n", "not both"),
        ("[network]\nsubgroups = [0, 1]\n", "put subgroups into a [[link]]"),
        ("[[link]]\ndelay_ms = 1\n", "whose?"),
    ] {
        let error = Scenario::parse(&format!("{GROUP}{tables}"), Path::new("test.toml"));
        let error = error.expect_err("it cannot be").to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn overlapping_tables_make_stretches() {
    let text = format!(
        "{GROUP}[[link]]\nmembers = [0, 4]\ndelay_ms = 10\n[[link]]\nmembers = [3, 6]\nloss_percent = 1\n"
    );
    let plan = Scenario::parse(&text, Path::new("test.toml")).expect("a scenario").plan;
    let stretches: Vec<_> = plan
        .exceptions
        .iter()
        .map(|e| (e.numbers.clone(), e.link.initial.delay_ms, e.link.initial.loss_percent))
        .collect();
    assert_eq!(stretches, [(0..3, 10.0, 0.0), (3..5, 10.0, 1.0), (5..7, 0.0, 1.0)]);
}

#[test]
fn mistakes_are_found_where_they_stand() {
    for (text, position, told) in [
        ("description = \"x\n", (1, 17), "string"),
        ("description = 'x'\nrun = 3\n", (2, 1), "unknown field `run`"),
        ("description = 'x'\n[group]\nmembers = 3\n", (2, 1), "missing field `scheme`"),
        ("description = 'x'\n[group]\nscheme = 'ldk'\n", (3, 10), "there are skdc"),
        ("description = 'x'\n[group]\nscheme = 'skdc'\nmembers = 1\n", (4, 11), "give 2 to"),
        ("description = 'x'\n[group]\nscheme = 'skdc'\nmembers = 100001\n", (4, 11), "100000"),
    ] {
        check(text, position, told);
    }
    for (rest, position, told) in [
        ("[network]\nloss_percent = 101\n", (6, 16), "from 0 to 100"),
        ("[network]\ndelay_ms = -1\n", (6, 12), "0 or more"),
        ("[network]\nlos_percent = 1\n", (6, 1), "loss_percent"),
        ("[network]\nat_ms = 1\n", (6, 9), "[[change]]"),
        ("[[link]]\ndelay_ms = 1\n", (5, 1), "members = [first, last]"),
        ("[[link]]\nmembers = [4, 2]\n", (6, 11), "first and the last"),
        (
            "[[link]]\nmembers = [11, 20]\n",
            (6, 11),
            "no member 11: the first is 0, the last here 10",
        ),
        ("[[change]]\nat_ms = 4e10\n", (6, 9), "within a year"),
        ("[[change]]\nloss_percent = 1\n", (5, 1), "at_ms = milliseconds"),
        ("[[change]]\nat_ms = 5\ndevice = 'host'\n", (7, 10), "[[link]]"),
        ("[[link]]\nmembers = [0, 1]\ndevice = 'toaster'\n", (7, 10), "there are host"),
        ("[[link]]\nmembers = [0, 1]\ndevice = 'i5-6500-python'\n", (7, 10), "suite published"),
        ("[mqtt]\nqos = 3\n", (6, 7), "0, 1 or 2"),
        ("[mqtt]\nhand_over = 'puback'\n", (6, 13), "publish, pubrel"),
        ("[mqtt]\nmax_in_flight = 0\n", (6, 17), "at least 1"),
        ("[mqtt]\nkeep_alive_s = 0\n", (6, 16), "1 to 65535 s"),
        ("[mqtt]\nsession = 'clean'\n", (6, 11), "nothing fails here"),
        ("[mqtt]\nrestarts_per_hour = 2\n", (6, 21), "restart_s belongs to it"),
        ("[network]\noutage_s = 2\n", (6, 12), "outages_per_hour belongs to it"),
        ("[network]\noutages_per_hour = 60\noutage_s = 60\n", (6, 20), "take 100 %"),
        ("[[change]]\nat_ms = 5\noutage_s = 2\n", (7, 12), "outages cannot change"),
        ("request_bytes = 1000001\n", (5, 17), "1000000 at most"),
        ("subgroup_device = 'host'\n", (5, 19), "hybrid schemes have"),
        ("parameters = { degree = 3 }\n", (5, 16), "parameters of skdc: none"),
    ] {
        check(&format!("{GROUP}{rest}"), position, told);
    }
    check(
        &format!("operations = ['create']\n{GROUP}request_bytes = 9\n"),
        (6, 17),
        "no member joins or leaves",
    );
    let gdh2 = GROUP.replace("'skdc'", "'gdh2'");
    check(&format!("{gdh2}request_bytes = 9\n"), (5, 17), "gdh2 has no controller to ask");
    for (operations, position, told) in [
        ("'create', 'ad'", (2, 25), "write create, add"),
        ("'create', 'remove x'", (2, 25), "not a member's number"),
        ("'add'", (2, 15), "created first"),
        ("'create', 'create'", (2, 25), "exists already"),
        ("'create', 'remove 3', 'remove 3'", (2, 37), "not in the group"),
    ] {
        let text = GROUP.replace("[group]", &format!("operations = [{operations}]\n[group]"));
        check(&text, position, told);
    }
}

#[test]
fn subgroups_that_are_not_there_are_refused() {
    let group = "description = 'x'\n[group]\nscheme = 'igkmp'\nmembers = 10\n\
                 parameters = { subgroups = 3 }\n[[link]]\nsubgroups = ";
    check(&format!("{group}[3, 3]"), (7, 13), "no subgroup 3: the first is 0, the last here 2");
    assert!(Scenario::parse(&format!("{group}[2, 2]"), Path::new("test.toml")).is_ok());
}

/// A device may compute for long after the network is quiet.
#[test]
fn an_operation_begins_when_everybody_is_done_with_the_one_before() {
    let text = |rest_ms| {
        format!(
            "description = 'x'\noperations = ['create', 'add', 'remove']\nruns = 1\n\
             rest_ms = {rest_ms}\n[group]\nscheme = 'boneh-fat'\nmembers = 3\n\
             profile = 'published'\nsuite = 'published'\ndevice = 'esp32-pbc'\n"
        )
    };
    let rows = [0, 2_000].map(|rest_ms| {
        let scenario = Scenario::parse(&text(rest_ms), Path::new("test.toml")).expect("a scenario");
        let stop = AtomicBool::new(false);
        scenario
            .run(&CampaignOptions { threads: 1, stop: &stop, on_progress: &|_| () })
            .expect("it runs")
    });
    for (at_once, later) in rows[0].iter().zip(&rows[1]) {
        assert!(at_once.computation_ms > 500.0, "{}", at_once.computation_ms);
        assert!(at_once.transmission_ms < 10.0, "{}", at_once.transmission_ms);
        assert!((at_once.mean_ms - later.mean_ms).abs() < 5.0);
    }
}

/// Links and a broker that fail hold operations up, at QoS 1; at QoS 0 members stay behind instead.
#[test]
fn outages_hold_up_who_waits_and_leave_behind_who_does_not() {
    let run = |qos: u8, failing: &str, threads| {
        let text = format!(
            "description = 'x'\noperations = ['create', 'remove', 'add', 'remove']\nruns = 40\n\
             rest_ms = 300000\n[group]\nscheme = 'lkh-group'\nmembers = 20\n\
             [mqtt]\nqos = {qos}\n{failing}"
        );
        let scenario = Scenario::parse(&text, Path::new("test.toml")).expect("a scenario");
        let stop = AtomicBool::new(false);
        let options = CampaignOptions { threads, stop: &stop, on_progress: &|_| () };
        scenario.run(&options).expect("it runs")
    };
    let failing = "restarts_per_hour = 1\nrestart_s = 10\n\
                   [network]\ndelay_ms = 20\noutages_per_hour = 12\noutage_s = 60\n";
    let whole = "[network]\ndelay_ms = 20\n";
    let [at_least_once, at_most_once] = [1, 0].map(|qos| run(qos, failing, 2));
    assert_eq!(at_least_once, run(1, failing, 7));
    // A fifth of the links is down at any time, so hardly an operation finds all members there.
    for row in &at_least_once[1..] {
        assert!(row.mean_ms > 20_000.0 && row.behind == 0.0, "{row:?}");
    }
    for row in &at_most_once[1..] {
        assert!((2.0..8.0).contains(&row.behind), "{row:?}");
    }
    // Who was behind before the change asks.
    assert!(at_most_once[2].catch_ups > 2.0, "{:?}", at_most_once[2]);
    for row in run(0, whole, 2) {
        assert_eq!((row.behind, row.catch_ups, row.setting.keep_alive_s), (0.0, 0.0, None));
        assert!(row.mean_ms < 100.0);
    }
}

/// A member whose link has changed before it came has the connection that goes with the link.
#[test]
fn a_newcomer_comes_over_its_link_as_it_is_now() {
    let resent = |link: &str| {
        let text = format!(
            "description = 'x'\noperations = ['create', 'add']\nruns = 1\nrest_ms = 60000\n\
             [group]\nscheme = 'skdc'\nmembers = 4\n{link}"
        );
        let scenario = Scenario::parse(&text, Path::new("test.toml")).expect("a scenario");
        let stop = AtomicBool::new(false);
        let options = CampaignOptions { threads: 1, stop: &stop, on_progress: &|_| () };
        let rows = scenario.run(&options).expect("it runs");
        rows.iter().map(|row| row.retransmissions).collect::<Vec<_>>()
    };
    assert_eq!(resent("[network]\ndelay_ms = 1000\n"), [0.0, 0.0]);
    assert_eq!(resent("[[change]]\nat_ms = 0\ndelay_ms = 1000\n"), [0.0, 0.0]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::load(Path::new("no-such-scenario.toml")).expect_err("there is none");
    assert!(error.to_string().starts_with("no-such-scenario.toml: "), "{error}");
}

const GROUP: &str = "description = 'x'\n[group]\nscheme = 'skdc'\nmembers = 10\n";

fn check(text: &str, (line, column): (usize, usize), told: &str) {
    let error: ScenarioError =
        Scenario::parse(text, Path::new("test.toml")).expect_err("it has a mistake");
    let shown = error.to_string();
    assert!(shown.starts_with(&format!("test.toml:{line}:{column}: ")), "{text}\n{shown}");
    assert!(shown.contains(told), "{text}\n{shown}");
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios")
}
