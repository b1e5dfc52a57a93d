//! Bad usage and bad input: one clear message, what to do about it, exit code 2; never a panic.

use std::fs;

use crate::finished::{Finished, Folder, GROUPKEY, groupkey, groupkey_in};

#[test]
fn unknown_names_are_answered_with_the_closest_and_with_the_list() {
    let told = refusal("net --scheme lkh-grup");
    assert!(
        told.contains("lkh-grup") && told.contains("help: a similar value exists: 'lkh-group'")
    );
    assert!(told.contains("skdc") && told.contains("gdh2"), "{told}");

    let told = refusal("net --operation creat");
    assert!(told.contains("'create'") && told.contains("remove"), "{told}");
    let told = refusal("net --device esp32-python");
    assert!(told.contains("esp32-micropython"), "{told}");
    assert!(refusal("net --profile sond").contains("'sound'"));
    assert!(refusal("net --suite standart").contains("'standard'"));
    assert!(refusal("net --protection hmac").contains("'mac'"));
    assert!(refusal("nett").contains("'net'"));
    assert!(refusal("reproduce network").contains("network-impact"));
    assert!(refusal("net --lossy 5").contains("--loss"));
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    for value in ["NaN", "inf", "-inf", "-1", "100.1", "5%", "many", ""] {
        let told = refusal_of(&["net", &format!("--loss={value}")]);
        assert!(told.contains("--loss"), "{told}");
    }
    for value in ["NaN", "inf", "-0.5", "1e300"] {
        let told = refusal_of(&["net", "--delay", value]);
        assert!(told.contains("--delay"), "{told}");
    }
    for (arguments, expected) in [
        ("net --loss 101", "0 to 100"),
        ("net --qos 3", "expected 0, 1 or 2"),
        ("demo --qos x", "expected 0, 1 or 2"),
        ("net --until publish --members 3", "--until needs --probe"),
        ("net --members 3 --messages 20", "--messages needs --probe"),
        ("net --probe --qos 0,1 --until publish", "--until is about QoS 2"),
        ("net --scheme lkh-group --set degree=2 --set degree=4", "degree=2 and degree=4"),
        ("bench --scheme lkh-group --set degree=2,degree=4", "degree=2 and degree=4"),
        ("bench --scheme skdc --members 4 --operation add --bytes 10", "--bytes is about messages"),
        ("net --scheme boneh-fat --members 200 --runs 1", "limits"),
        ("demo --seed -1", "-1"),
        ("net --loss 5,,10", "--loss"),
        ("net --members 1", "2"),
        ("net --members 0", "2"),
        ("net --members -5", "2"),
        ("net --members 2.5", "--members"),
        ("net --members 99999999999", "--members"),
        ("net --scheme gdh2 --members 1001", "gdh2: a group of 1001 members"),
        ("net --runs 0", "--runs"),
        ("net --runs -1", "--runs"),
        ("net --seed -1", "--seed"),
        ("net --seed 18446744073709551616", "--seed"),
        ("net --threads 0", "--threads"),
        ("net --jitter -1", "--jitter"),
        ("net --bandwidth 0", "bandwidth"),
        ("net --loss 5 --burst 0", "burst"),
        ("net --loss 100 --burst 20", "burst"),
        ("net --max-in-flight 0", "--max-in-flight"),
        ("net --probe --messages 0", "--messages"),
        ("reproduce network-impact --runs 0", "--runs"),
    ] {
        let told = refusal(arguments);
        assert!(told.contains(expected), "{arguments}: {told}");
    }
}

#[test]
fn a_number_out_of_range_is_told_with_both_bounds() {
    for (arguments, expected) in [
        ("net --members 0", "expected a whole number from 2 to 100,000"),
        ("net --members 1e9", "expected a whole number from 2 to 100,000"),
        ("bench --members 0", "expected a whole number from 2 to 16,777,216"),
        ("choose --set members.joins=1e12", "must be 0 to 1,000,000,000 an hour"),
        ("choose --set members.now=abc", "expected a whole number"),
        ("net --delay 1e300", "a delay of 1e300 ms cannot be; give 0 or more, at most a day"),
    ] {
        let told = refusal(arguments);
        assert!(told.contains(expected), "{arguments}: {told}");
    }
}

#[test]
fn other_words_for_one_thing_lead_to_it() {
    for (word, name) in [("join", "add"), ("leave", "remove"), ("evict", "remove")] {
        let command = format!("net --scheme skdc --members 3 --runs 1 --operation {word} --json");
        assert_eq!(groupkey(&command).objects()[0]["operation"], name);
    }
    let told = refusal("reproduce nope");
    for study in ["all", "benchmark", "centralized", "network-impact", "nishat", "tgdh"] {
        assert!(told.contains(study), "{told}");
    }
    let told = refusal("choose --live ftp://x");
    assert!(told.contains("ftp://x") && !told.contains("http.token"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_file_without_end_is_refused() {
    for arguments in [
        "net --scenario /dev/zero",
        "trace --replay /dev/zero",
        "choose --requirements /dev/zero",
        "bench --workload /dev/zero",
        "device show /dev/zero",
        "report /dev/zero",
        "audit --against /dev/zero",
        "serve --config /dev/zero",
        "member --config /dev/zero",
        "choose --live http://127.0.0.1:1 --token-file /dev/zero",
    ] {
        let told = refusal(arguments);
        let is_long = told.contains("is it the right file?") || arguments.starts_with("report");
        assert!(is_long, "{arguments}: {told}");
    }
}

#[test]
fn files_of_windows_are_read() {
    let folder = Folder::new();
    let trace = "\u{feff}time_ms,event,member\r\n0,create,0-2\r\n5,leave,0\r\n";
    let trace = folder.file("t.csv", trace);
    let replayed = groupkey_in(folder.path(), &["trace", "--replay", trace, "--scheme", "skdc"]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}

#[test]
fn lists_need_values_and_bear_repetition() {
    assert!(refusal("net --scheme").contains("--scheme"));
    assert!(refusal_of(&["net", "--scheme="]).contains("--scheme"));
    assert!(refusal_of(&["net", "--members", ""]).contains("--members"));
    let rows =
        groupkey("net --scheme skdc,skdc --members 4,4 --loss 0,0 --runs 1 --json").objects();
    assert_eq!(rows.len(), 1);
}

#[test]
fn a_product_beyond_reason_is_refused_before_it_runs() {
    let told = refusal("net --members 50,100 --loss 0,5 --runs 4000000000");
    assert!(told.contains("help: stay within 1000000 runs"), "{told}");
}

#[test]
fn parameters_must_be_the_schemes_own() {
    assert!(refusal("net --set degree").contains("name=value"));
    assert!(refusal("net --set height=3").contains("degree"));
    assert!(refusal("net --set degree=1").contains("degree"));
    assert!(refusal("net --scheme skdc --set degree=2").contains("skdc"));
}

#[test]
fn a_device_without_figures_for_the_suite_says_which_it_has() {
    let told = refusal("net --device esp32-micropython --suite standard");
    assert!(told.contains("published"), "{told}");
}

#[test]
fn arguments_that_exclude_each_other_say_so() {
    for arguments in [
        "net --probe --scheme skdc",
        "net --probe --members 5",
        "net --probe --profile sound",
        "net --probe --set degree=2",
        "net --probe --samples --json",
        "net --scenario a.toml --loss 5",
        "net --scenario a.toml --scheme skdc",
        "net --scenario a.toml --suite standard",
        "net --scenario a.toml --probe",
        "reproduce network-impact --resume --fresh",
    ] {
        assert!(refusal(arguments).contains("cannot be used with"), "{arguments}");
    }
    assert!(refusal("net --messages 5").contains("--probe"));
    assert!(refusal("net --until publish").contains("--probe"));
    assert!(refusal("net --samples").contains("--json"));
    assert!(refusal("reproduce").contains("network-impact"));
}

#[test]
fn a_scenario_that_cannot_be_read_is_named_with_the_place() {
    let folder = Folder::new();
    let told = |name| {
        let finished = groupkey_in(folder.path(), &["net", "--scenario", name]);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        refused(finished)
    };
    assert!(told("missing.toml").contains("missing.toml"));
    let broken = folder.file("broken.toml", "members = 5\nscheme = \n");
    assert!(told(broken).contains("broken.toml:2:"), "{}", told(broken));
    let unknown = folder.file("unknown.toml", "membres = 5\n");
    assert!(told(unknown).contains("unknown.toml:1:"), "{}", told(unknown));
    fs::write(folder.path().join("binary.toml"), [0xff, 0xfe, 0]).expect("writable");
    assert!(told("binary.toml").contains("binary.toml"));
}

/// A file may ask for no more than the arguments.
#[test]
fn a_scenario_beyond_reason_is_refused_before_it_runs() {
    let folder = Folder::new();
    for (changed, to, place, told) in [
        ("runs = 1", "runs = 4294967295", "2:8", "4294967295 runs are too many; 1000000 at most"),
        ("runs = 1", "runs = 0", "2:8", "give at least 1 run"),
        ("members = 4", "members = 100001", "5:11", "too many; 100000 at most"),
        ("members = 4", "members = 4294967295", "5:11", "too many; 100000 at most"),
        ("bytes = 9", "bytes = 1000001", "6:17", "1000001 bytes of a request are too many"),
    ] {
        let text = "description = 'x'\nruns = 1\n[group]\nscheme = 'skdc'\nmembers = 4\n\
                    request_bytes = 9\n";
        let name = folder.file("scenario.toml", &text.replace(changed, to));
        let finished = groupkey_in(folder.path(), &["net", "--scenario", name]);
        assert_eq!(finished.code, 2, "{to}: {}", finished.stderr);
        let stderr = refused(finished);
        assert!(stderr.contains(&format!("scenario.toml:{place}:")), "{to}: {stderr}");
        assert!(stderr.contains(told), "{to}: {stderr}");
        let name = folder.file("scenario.toml", text);
        groupkey_in(folder.path(), &["net", "--scenario", name]).success();
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_work_starts() {
    let folder = Folder::new();
    let file = folder.file("taken", "a file is no folder");
    let arguments = ["reproduce", "network-impact", "--runs", "1000", "--out", file];
    let finished = groupkey_in(folder.path(), &arguments);
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("error: cannot write into taken"), "{}", finished.stderr);
    assert!(finished.stderr.contains("help: choose another folder with --out"));
}

#[cfg(target_os = "linux")]
#[test]
fn whatever_cannot_be_printed_says_so() {
    for command in ["schemes", "bench --scheme skdc --members 4 --json", "net --runs 1 --json"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let told = std::process::Command::new(GROUPKEY)
            .args(command.split_whitespace())
            .stdout(full)
            .output()
            .map(Finished::from)
            .expect("the command starts");
        assert_eq!(told.code, 1, "{command}: {}", told.stderr);
        assert!(told.stderr.starts_with("error: "), "{command}: {}", told.stderr);
        assert!(told.stderr.contains("standard output: "), "{command}: {}", told.stderr);
    }
}

fn refusal(arguments: &str) -> String {
    let finished = groupkey(arguments);
    assert_eq!(finished.code, 2, "{arguments}: {}{}", finished.stdout, finished.stderr);
    refused(finished)
}

fn refusal_of(arguments: &[&str]) -> String {
    let finished = groupkey_in(".".as_ref(), arguments);
    assert_eq!(finished.code, 2, "{arguments:?}: {}{}", finished.stdout, finished.stderr);
    refused(finished)
}

/// The message: on standard error, beginning with what went wrong, and nothing of a panic.
fn refused(finished: Finished) -> String {
    let Finished { stdout, stderr, .. } = finished;
    assert_eq!(stdout, "", "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}
