//! `groupkey reproduce all` and the studies of computations: files, tables, interruption.

use std::fs;

use serde_json::Value;

use crate::finished::{Folder, groupkey_in, interrupted};

/// Quick enough for an unoptimised program.
const TINY: [&str; 5] = ["--quick", "--repetitions", "2", "--most-members", "10"];

#[test]
#[ignore = "long: a minute, all studies in small"]
fn all_studies_run_and_stand_in_one_table() {
    let folder = Folder::new();
    let arguments = [&["reproduce", "all", "--out", "results"][..], &TINY].concat();
    let stdout = groupkey_in(folder.path(), &arguments).success();
    let studies = ["benchmark", "centralized", "tgdh", "nishat", "network-impact"];
    for study in studies {
        assert!(stdout.lines().any(|line| line.starts_with(study)), "{study} is not in {stdout}");
        for file in ["results.jsonl", "summary.csv", "report.html"] {
            let path = folder.path().join("results").join(study).join(file);
            assert!(path.is_file(), "{}", path.display());
        }
    }
    let page = fs::read_to_string(folder.path().join("results/overview.html")).expect("a page");
    for study in studies {
        assert!(page.contains(&format!("href=\"{study}/report.html\"")), "{study}");
    }
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).expect(file);
    let claims: Value = serde_json::from_str(&read("results/claims.json")).expect("JSON");
    let recorded: Value = serde_json::from_str(RECORDED).expect("JSON");
    assert_eq!(claims.as_array().map(Vec::len), recorded.as_array().map(Vec::len));

    // No cell of a table is a page of text.
    for page in studies.map(|study| format!("results/{study}/report.html")) {
        let text = read(&page);
        for cell in text.split("<td").skip(1) {
            let cell = cell.split_once("</td>").map_or(cell, |(cell, _)| cell);
            let plain: String = cell
                .split('<')
                .filter_map(|part| part.split_once('>'))
                .map(|(_, text)| format!("{text} "))
                .collect();
            let words = plain.split_whitespace().count();
            assert!(words <= 60, "{words} words in a cell of {page}: {plain}");
        }
    }
}

#[test]
#[ignore = "long: half a minute, studies in small"]
fn a_study_prints_what_it_found_and_is_not_measured_again_without_asking() {
    let folder = Folder::new();
    let arguments = [&["reproduce", "tgdh", "--out", "results", "--json"][..], &TINY].concat();
    let found = groupkey_in(folder.path(), &arguments).objects();
    let [Value::Object(found)] = &found[..] else { panic!("one object") };
    assert_eq!(found["study"], "tgdh");
    assert_eq!(found["published"].as_array().map(Vec::len), Some(4));
    assert_eq!(found["verdicts"].as_array().map(Vec::len), Some(8));

    // The last size is cut off: unfinished.
    let results = folder.path().join("results/results.jsonl");
    let text = fs::read_to_string(&results).expect("results");
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"members\":5")).collect();
    fs::write(&results, kept.join("\n") + "\n").expect("writable");
    let finished = groupkey_in(folder.path(), &arguments);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("--resume continues"), "{}", finished.stderr);
    let resumed = [&arguments[..], &["--resume"]].concat();
    groupkey_in(folder.path(), &resumed).success();
    let lines = fs::read_to_string(&results).expect("results").lines().count();
    assert_eq!(lines, text.lines().count());
}

const RECORDED: &str = include_str!("../../../../tools/reproduce/data/outcomes.json");

#[test]
fn an_outcome_that_is_not_as_recorded_is_a_failure() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("writable");
    };
    write("recorded.json", RECORDED);
    let mut other: Value = serde_json::from_str(RECORDED).expect("JSON");
    let claims = other.as_array_mut().expect("claims");
    let claim = claims.iter_mut().find(|it| it["finding"] == "tree_size").expect("tree_size");
    claim["expected"] = "refuted".into();
    write("other.json", &other.to_string());
    let run = |more: &[&str]| {
        let study = ["reproduce", "tgdh", "--out", "results", "--fresh"];
        groupkey_in(folder.path(), &[&study[..], &TINY, more].concat())
    };
    let told = run(&["--against", "recorded.json"]).success();
    assert!(told.contains("8 of 8 outcomes are as expected"), "{told}");
    for more in [&["--against", "other.json"][..], &["--against", "other.json", "--json"]] {
        let finished = run(more);
        assert_eq!(finished.code, 1, "{}", finished.stderr);
        assert!(finished.stderr.contains("tree_size: holds everywhere"), "{}", finished.stderr);
    }
    write("nothing.json", "[{}]");
    let finished = run(&["--against", "nothing.json"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("nothing.json"), "{}", finished.stderr);
}

#[test]
fn an_interruption_tells_all_that_is_done() {
    let folder = Folder::new();
    let study = ["reproduce", "tgdh", "--quick", "--most-members", "10"];
    let few = [&study[..], &["--repetitions", "2", "--out", "few"]].concat();
    groupkey_in(folder.path(), &few).success();
    let results = folder.path().join("many/results.jsonl");
    let interrupt = |more: &[&str]| {
        // It has begun when the file is whole.
        let is_whole = || fs::read_to_string(&results).is_ok_and(|text| text.ends_with('\n'));
        let many = ["--repetitions", "100000", "--out", "many"];
        let finished = interrupted(folder.path(), &[&study[..], &many, more].concat(), is_whole);
        assert_eq!(finished.code, 130, "{}", finished.stderr);
        finished.stderr
    };
    let told = interrupt(&[]);
    assert!(told.contains("interrupted: 0 of 4 sizes are done"), "{told}");

    // The second size may lack rows, and is measured again.
    let rows = fs::read_to_string(folder.path().join("few/results.jsonl")).expect("results");
    let mut text = fs::read_to_string(&results).expect("results");
    for row in rows.lines().filter(|row| ["2", "3"].iter().any(|n| has(row, "members", n))) {
        assert!(has(row, "repetitions", "2"));
        text += &row.replacen("\"repetitions\":2,", "\"repetitions\":100000,", 1);
        text += "\n";
    }
    fs::write(&results, text + "{\"scheme\":\"tg").expect("writable");
    let told = interrupt(&["--resume"]);
    assert!(told.contains("interrupted: 1 of 4 sizes are done"), "{told}");
}

fn has(row: &str, field: &str, value: &str) -> bool {
    row.contains(&format!("\"{field}\":{value},"))
}

#[test]
fn a_repetition_alone_is_refused() {
    let folder = Folder::new();
    let finished =
        groupkey_in(folder.path(), &["reproduce", "nishat", "--quick", "--repetitions", "1"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("--repetitions"), "{}", finished.stderr);
}
