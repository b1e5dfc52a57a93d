//! `groupkey compare`.

use std::fs;
use std::path::Path;

use groupkey_lab::bench::{BenchHeader, BenchRow, CountedPrimitive, MessageTraffic};
use groupkey_lab::results::write_jsonl;
use serde_json::Value;

use crate::finished::{Finished, Folder, groupkey_in};

#[test]
fn the_same_results_have_not_changed() {
    let folder = files(&rows(), &rows());
    let stdout = compare(&folder, &[]).success();
    for told in [
        "3 rows are in both files, 0 in A only, 0 in B only.",
        "Counts, sizes and bytes: 0 of 3 rows changed.",
        "Times: 0 of 3 rows changed",
        "overlap in 100.0 % of the rows",
    ] {
        assert!(stdout.contains(told), "{told} is not in {stdout}");
    }
    assert_eq!(compare(&folder, &["--fail-on-change"]).code, 0);
}

#[test]
fn a_folder_stands_for_the_results_in_it() {
    let folder = files(&rows(), &rows());
    let measured = folder.path().join("measured");
    fs::create_dir(&measured).expect("the folder is ours");
    fs::rename(folder.path().join("b.jsonl"), measured.join("results.jsonl")).expect("it is there");
    let finished = groupkey_in(folder.path(), &["compare", "a.jsonl", "measured"]);
    assert!(finished.success().contains("3 rows are in both files"));

    let empty = groupkey_in(folder.path(), &["compare", "a.jsonl", "."]);
    assert_eq!(empty.code, 2);
    assert!(empty.stderr.contains("results.jsonl: "), "{}", empty.stderr);
}

/// All that `--out` writes can be compared, and what `--json` prints.
#[test]
fn runs_of_every_kind_are_compared() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("audit --scheme skdc --quick --profile sound --out audit").success();
    run("audit --scheme skdc --quick --profile published --out other").success();
    folder
        .file("audit.jsonl", &run("audit --scheme skdc --quick --profile sound --json").success());
    let told = run("compare audit audit.jsonl --fail-on-change").success();
    assert!(told.contains(" rows changed.") && !told.contains("Times"), "{told}");
    assert_eq!(run("compare audit other --fail-on-change").code, 2, "no row is in both");

    folder.file("day.csv", &run("trace --members 5 --stay 30 --duration 60").success());
    run("trace --replay day.csv --scheme skdc --device cortex-m4 --out trace").success();
    run("trace --replay day.csv --scheme skdc --device host --seed 2 --out again").success();
    let told = run("compare trace again").success();
    assert!(told.contains("A is of cortex-m4, B is of host"), "{told}");

    run("choose --set members.now=8 --out small").success();
    run("choose --set members.now=9 --out larger").success();
    let told = run("compare small larger").success();
    assert!(told.contains("cost"), "{told}");

    let refused = run("compare trace audit");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("trace/results.jsonl has the costs of a trace, but"));
}

#[test]
fn what_changed_is_shown_and_may_fail_a_script() {
    let mut after = rows();
    after[0].wire_bytes += 1;
    after[1].mean_ns *= 1.5;
    after[2].members = 77;
    let folder = files(&rows(), &after);
    let stdout = compare(&folder, &[]).success();
    let line = |start: &str, word: &str| {
        let found = stdout.lines().any(|line| line.starts_with(start) && line.contains(word));
        assert!(found, "no line has {start} and {word} in {stdout}");
    };
    line("10", "wire_bytes  510  511");
    line("20", "+50.0");
    line("In A only", "");
    line("77", "");
    assert_eq!(compare(&folder, &["--fail-on-change"]).code, 1);

    let json = compare(&folder, &["--json", "--threshold", "60"]).success();
    let json: Value = serde_json::from_str(&json).expect("an object");
    assert_eq!((&json["changed_counts"], &json["changed_times"]), (&1.into(), &0.into()));
    assert_eq!(json["overlapping_intervals"], 0.5);
    assert_eq!((&json["before"]["commit"], &json["after"]["seed"]), (&"0123abc".into(), &1.into()));
    assert_eq!(json["matched"][1]["time"]["percent"], 50.0);
}

/// A gate must not open because there was nothing to look at.
#[test]
fn nothing_compared_is_not_unchanged() {
    let single = |row: BenchRow| BenchRow { repetitions: 1, ci95_ns: None, sd_ns: None, ..row };
    let before: Vec<_> = rows().into_iter().map(single).collect();
    let mut after = before.clone();
    after[0].mean_ns *= 9.0;
    let folder = files(&before, &after);
    let stdout = compare(&folder, &[]).success();
    for told in ["Times: 0 of 0 rows changed", "3 rows of a single repetition cannot be tested.\n"]
    {
        assert!(stdout.contains(told), "{told} is not in {stdout}");
    }
    assert!(!stdout.contains("overlap"), "{stdout}");
    let json: Value = serde_json::from_str(&compare(&folder, &["--json"]).success()).expect("JSON");
    assert_eq!(json["untested_times"], 3);
    let gate = |folder: &Folder, code, words: &str| {
        let gate = compare(folder, &["--fail-on-change"]);
        assert_eq!(gate.code, code, "{}", gate.stderr);
        assert!(gate.stderr.contains(words), "{words} is not in {}", gate.stderr);
    };
    gate(&folder, 2, "no time can be tested");
    after[0].wire_bytes += 1;
    gate(&files(&before, &after), 1, "b.jsonl changed");
    gate(&files(&rows()[..1], &rows()[1..]), 2, "no row is in both files");
    gate(&files(&[], &[]), 2, "there is nothing to show");
}

#[test]
fn what_the_files_come_from_is_told_where_it_differs() {
    let folder = files(&rows(), &rows());
    let same = compare(&folder, &[]);
    assert_eq!((same.stdout.contains("A: "), &*same.stderr), (false, ""));
    let change = |from: &str, to: &str| {
        let path = folder.path().join("b.jsonl");
        let text = fs::read_to_string(&path).expect("just written");
        fs::write(path, text.replacen(from, to, 1)).expect("the folder is ours");
    };
    change("0123abc", "4567def");
    let told = compare(&folder, &[]);
    assert!(told.stdout.starts_with("A: commit 0123abc\nB: commit 4567def\n"), "{}", told.stdout);
    assert_eq!(told.stderr, "");
    change("a processor", "another");
    let told = compare(&folder, &[]);
    assert!(told.stdout.contains("B: commit 4567def, machine another\n"), "{}", told.stdout);
    assert!(told.stderr.contains("warning: the files are of two machines"), "{}", told.stderr);
}

#[test]
fn a_device_more_is_no_change() {
    let modelled = |row| BenchRow { device: Some("cortex-m4".into()), device_ns: Some(5.0), ..row };
    let after: Vec<_> = rows().into_iter().map(modelled).collect();
    let stdout = compare(&files(&rows(), &after), &["--fail-on-change"]).success();
    let told = "Modelled times are not compared: A has none, B is of cortex-m4.\n";
    assert!(stdout.contains(told), "{stdout}");
}

#[test]
fn an_unfinished_file_is_told() {
    let folder = files(&rows(), &rows());
    let path = folder.path().join("b.jsonl");
    let text = fs::read_to_string(&path).expect("just written");
    let torn: Vec<_> = text.lines().take(3).collect();
    fs::write(path, &torn.join("\n")[..text.len() / 2]).expect("the folder is ours");
    let told = compare(&folder, &[]);
    assert_eq!(told.stderr, "note: b.jsonl is unfinished: 1 of 3 rows\n");
    told.success();
}

#[test]
fn lengths_of_messages_tell_rows_apart() {
    let mut all = rows();
    all[0].message_bytes = Some(50);
    all[1] = BenchRow { message_bytes: Some(500), ..all[0].clone() };
    let stdout = compare(&files(&all, &all[1..]), &[]).success();
    assert!(stdout.contains("2 rows are in both files, 1 in A only"), "{stdout}");
    let only = stdout.split("In A only:").nth(1).expect("a table");
    let only: Vec<_> = only.split_whitespace().collect();
    assert_eq!(only, ["members", "message_bytes", "10", "50"]);
    assert!(!compare(&files(&rows(), &rows()), &[]).success().contains("message_bytes"));
}

#[test]
fn files_that_cannot_be_compared_are_refused() {
    let folder = files(&rows(), &rows());
    let path = folder.path();
    let header = fs::read_to_string(path.join("a.jsonl")).expect("just written");
    let (header, row) = header.split_once('\n').expect("two lines at least");
    let row = row.lines().next().expect("a row");
    let network = header.replace("groupkey-bench", "groupkey-results");
    for (content, told) in [
        (String::new(), "b.jsonl:1: neither a header nor a row of results"),
        ("{}\n".to_owned(), "b.jsonl:1: neither a header nor a row of results"),
        (header.replace("groupkey-bench", "tar"), "b.jsonl:1: format is \"tar\", none of"),
        (network, "b.jsonl has a study of a network"),
        (header.replace("\"version\":1", "\"version\":2"), "b.jsonl:1: version 2 is not 1"),
        (format!("{header}\n{row}\n[7]\n"), "b.jsonl:3: not a result row"),
        (format!("{header}\n{row}\n{row}\n"), "has two rows that measure the same: skdc sound"),
        (header.to_owned() + "\n" + &row.replace(":1000.0", ":1e999") + "\n", "b.jsonl:2: not a"),
        (header.to_owned() + "\n" + &row.replace(":1000.0", ":-3") + "\n", "mean_ns is -3"),
        (
            header.to_owned() + "\n" + &row.replace("\"wrap\"", "\"rap\"") + "\n",
            "primitive \"rap\"",
        ),
    ] {
        fs::write(path.join("b.jsonl"), content).expect("the folder is ours");
        let refused = compare(&folder, &[]);
        assert_eq!(refused.code, 2, "{told}: {}", refused.stderr);
        assert!(refused.stderr.contains(told), "{told} is not in {}", refused.stderr);
    }
    fs::remove_file(path.join("b.jsonl")).expect("it is there");
    assert!(compare(&folder, &[]).stderr.contains("b.jsonl: "));
}

fn compare(folder: &Folder, options: &[&str]) -> Finished {
    groupkey_in(folder.path(), &[&["compare", "a.jsonl", "b.jsonl"], options].concat())
}

fn files(before: &[BenchRow], after: &[BenchRow]) -> Folder {
    let folder = Folder::new();
    let write = |path: &Path, rows: &[BenchRow]| {
        let header = BenchHeader::new(1, "0123abc".into(), "a processor".into(), "platoon".into());
        let header = BenchHeader { rows: Some(rows.len()), ..header };
        let mut bytes = Vec::new();
        write_jsonl(&mut bytes, &header, rows).expect("writing to memory");
        fs::write(path, bytes).expect("the folder is ours");
    };
    write(&folder.path().join("a.jsonl"), before);
    write(&folder.path().join("b.jsonl"), after);
    folder
}

fn rows() -> Vec<BenchRow> {
    [10, 20, 30].map(row).into()
}

fn row(members: u32) -> BenchRow {
    let messages = u64::from(members);
    let unicast =
        MessageTraffic { messages, payload_bytes: 26 * messages, wire_bytes: 51 * messages };
    BenchRow {
        scheme: "skdc".into(),
        profile: "sound".into(),
        parameters: String::new(),
        suite: "standard".into(),
        security_bits: 128,
        class: "centralized".into(),
        provenance: "specified".into(),
        protection: "mac".into(),
        workload: "platoon".into(),
        operation: "create".into(),
        role: "controller".into(),
        phase: "operational".into(),
        members,
        subgroups: 0,
        message_bytes: None,
        nonces: None,
        repetitions: 50,
        seed: 7,
        clock: "processor".to_owned(),
        mean_ns: 1_000.0,
        ci95_ns: Some(2.8),
        sd_ns: Some(10.0),
        p50_ns: 999.0,
        p90_ns: 1_013.0,
        p99_ns: 1_020.5,
        counted_ns: 800.0,
        measured_over_counted: None,
        primitives: [("wrap".into(), CountedPrimitive { calls: f64::from(members), amount: 1.0 })]
            .into(),
        permanent_bytes: 16 * messages,
        temporary_bytes: 16,
        messages,
        payload_bytes: unicast.payload_bytes,
        wire_bytes: unicast.wire_bytes,
        unicast,
        multicast: MessageTraffic::default(),
        broadcast: MessageTraffic::default(),
        device: None,
        device_ns: None,
        device_joule: None,
        radio: None,
        radio_joule: None,
        samples_ns: Vec::new(),
        warnings: Vec::new(),
    }
}
