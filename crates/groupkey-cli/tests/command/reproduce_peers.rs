//! `groupkey reproduce peers`: files, sentences, and that threads change nothing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::finished::{Finished, Folder, groupkey_in};

const FEW: &str = "--quick --scheme skdc,lkh-group,treekem,tgdh,sd --most-members 10";

#[test]
fn it_says_who_is_ahead_and_threads_change_nothing() {
    let folder = Folder::new();
    let told = peers(folder.path(), &format!("{FEW} --threads 1")).success();
    for words in [
        "all schemes",
        "schemes without a controller",
        "Time until all have the key of remove in nb-iot",
        "is ahead",
        "The network is",
        "rows of 5 schemes",
        "report.html",
    ] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{words} is not in {told}");
    }
    let [results, report] = ["results.jsonl", "report.html"].map(|file| read(folder.path(), file));
    assert!(report.contains("Who is ahead, where, and why"));
    assert!(report.contains("groupkey reproduce peers --seed 1 --quick --scheme skdc,lkh-group"));
    assert!(["new", "populated", "departed"].iter().all(|past| results.contains(past)));
    let header: Value =
        serde_json::from_str(results.lines().next().expect("a header")).expect("JSON");
    assert_eq!(header["format"], "groupkey-peers");
    let rows = results.lines().count() - 1;
    assert_eq!(read(folder.path(), "summary.csv").lines().count() - 1, rows);

    // What is there is not replaced by accident.
    let again = peers(folder.path(), FEW);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--fresh"), "{}", again.stderr);

    let found = peers(folder.path(), &format!("{FEW} --threads 3 --fresh --json")).objects();
    assert_eq!(read(folder.path(), "results.jsonl"), results);
    assert_eq!(read(folder.path(), "report.html"), report);
    let found = &found[0];
    assert_eq!(found["rows"], rows);
    let [leads, sentences] =
        ["leads", "sentences"].map(|key| found[key].as_array().expect("a list"));
    assert!(!leads.is_empty() && leads.len() == sentences.len());
    assert_eq!(found["failures"], Value::Array(Vec::new()));

    // Other commands read the file.
    let told = groupkey_in(folder.path(), &["report", "peers"]).success();
    assert!(told.contains("report.html"));
    assert!(read_file(&folder.path().join("report.html")).contains("Sender, modelled"));
    groupkey_in(folder.path(), &["compare", "peers", "peers", "--fail-on-change"]).success();
}

#[test]
fn what_is_asked_for_is_measured() {
    let folder = Folder::new();
    let more = "--quick --scheme skdc,oft --most-members 10 --measure --repetitions 2 --json";
    peers(folder.path(), more).success();
    let results = read(folder.path(), "results.jsonl");
    let rows = results.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON"));
    let rows: Vec<Value> = rows.collect();
    assert!(!rows.is_empty());
    for row in rows {
        // Who leaves a group of two leaves one member, which is not measured.
        if (&row["members"], &row["operation"]) == (&2.into(), &"remove".into()) {
            continue;
        }
        assert!(row["measured"]["sender_us"].as_f64().is_some_and(|us| us > 0.0), "{row}");
    }
}

#[test]
fn no_group_is_no_study() {
    let folder = Folder::new();
    let finished = peers(folder.path(), "--scheme treekem --quick --most-members 1");
    assert_eq!(finished.code, 2);
    let finished = peers(folder.path(), "--repetitions 3");
    assert_eq!(finished.code, 2, "without --measure");
}

fn peers(folder: &Path, more: &str) -> Finished {
    let fixed = ["reproduce", "peers", "--out", "peers"];
    let arguments: Vec<&str> = fixed.into_iter().chain(more.split_whitespace()).collect();
    groupkey_in(folder, &arguments)
}

fn read(folder: &Path, file: &str) -> String {
    read_file(&folder.join("peers").join(file))
}

fn read_file(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
