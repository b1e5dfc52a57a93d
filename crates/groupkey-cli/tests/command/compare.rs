//! `groupkey compare`.

use serde_json::Value;

use crate::finished::{Finished, Folder, groupkey_in};

#[test]
fn what_moved_is_told_and_fails_a_script() {
    let rows = rows("--runs 3");
    let mean = rows[0]["mean_ms"].as_f64().expect("a mean");
    let with = |changes: &[(&str, Value)]| {
        let mut rows = rows.clone();
        changes.iter().for_each(|(field, value)| rows[0][*field] = value.clone());
        rows
    };
    for (after, code, told) in [
        (
            rows.clone(),
            0,
            "2 rows are in both files, 0 in A only, 0 in B only.\nFigures that moved beyond their intervals: 0.",
        ),
        (with(&[("wire_bytes", 7.into())]), 1, "scheme skdc  wire_bytes"),
        (with(&[("provenance", "stand-in".into())]), 1, "specified  stand-in"),
        (with(&[("mean_ms", (2.0 * mean).into()), ("ci95_ms", 0.into())]), 1, "mean_ms"),
        // Within the interval, below the threshold, without an interval, and by other draws.
        (with(&[("mean_ms", (2.0 * mean).into()), ("ci95_ms", mean.into())]), 0, "intervals: 0."),
        (with(&[("mean_ms", (1.04 * mean).into()), ("ci95_ms", 0.into())]), 0, "intervals: 0."),
        (with(&[("p50_ms", 7.into())]), 0, "intervals: 0."),
        (with(&[("wire_bytes", 7.into()), ("seed", 99.into())]), 0, "intervals: 0."),
        (rows[1..].to_vec(), 1, "the row"),
        (with(&[("members", 77.into())]), 1, "1 in A only, 1 in B only"),
    ] {
        let gate = compare(&rows, &after, "--fail-on-change");
        assert!(gate.stdout.contains(told), "{told} is not in {}", gate.stdout);
        assert_eq!(gate.code, code, "{told}: {}", gate.stderr);
        assert_eq!(compare(&rows, &after, "").code, 0);
    }
    let after = with(&[("wire_bytes", 7.into())]);
    let json: Value = compare(&rows, &after, "--json").success().parse().expect("an object");
    assert_eq!((&json["moved"][0]["figure"], &json["matched"]), (&"wire_bytes".into(), &2.into()));
}

/// A gate must not open because there was nothing to look at.
#[test]
fn nothing_compared_is_not_unchanged() {
    let (single, several) = (rows("--runs 1"), rows("--runs 2"));
    for (a, b, told) in [
        (&single[..], &single[..], "no mean can be tested"),
        (&several[..1], &several[1..], "no row is in both files"),
        (&several, &[several[0].clone(), several[0].clone()], "has two rows of"),
        (&several, &[several[0].clone(), "tar".into()], "b.jsonl:2: not a result row"),
    ] {
        let gate = compare(a, b, "--fail-on-change");
        assert_eq!(gate.code, 2, "{}", gate.stderr);
        assert!(gate.stderr.contains(told), "{told} is not in {}", gate.stderr);
    }
}

#[test]
fn folders_of_every_kind_are_compared() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("audit --scheme skdc --quick --profile sound --out audit").success();
    run("bench --scheme skdc --members 4 --repetitions 2 --out bench").success();
    run("choose --set members.now=8 --fitted --out choice").success();
    for kind in ["audit", "bench", "choice"] {
        run(&format!("compare {kind} {kind} --fail-on-change")).success();
    }
    assert!(run("compare bench audit").stderr.contains("format is \"groupkey-audit\""));
}

fn rows(runs: &str) -> Vec<Value> {
    let folder = Folder::new();
    let net = format!("net --scheme skdc,oft --members 5 --loss 10 --json {runs}");
    groupkey_in(folder.path(), &net.split_whitespace().collect::<Vec<_>>()).objects()
}

fn compare(before: &[Value], after: &[Value], options: &str) -> Finished {
    let folder = Folder::new();
    for (name, rows) in [("a.jsonl", before), ("b.jsonl", after)] {
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        folder.file(name, &lines);
    }
    let words = format!("compare a.jsonl b.jsonl {options}");
    groupkey_in(folder.path(), &words.split_whitespace().collect::<Vec<_>>())
}
