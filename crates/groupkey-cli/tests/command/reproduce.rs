//! `groupkey reproduce network-impact`: files, interruption, resumption.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::finished::{Finished, Folder, groupkey_in, interrupted};

#[test]
fn it_leaves_results_a_summary_and_a_report() {
    let folder = Folder::new();
    let out = folder.path();
    let stdout = reproduce(out, "--runs 2").success();
    for word in ["ours", "skdc_create_n200_loss0_delay0", "f1 ", "f8 ", "report.html"] {
        assert!(stdout.contains(word), "{word} is not in {stdout}");
    }

    let results = read(out, "results.jsonl");
    let header: Value =
        serde_json::from_str(results.lines().next().expect("a header")).expect("JSON");
    assert_eq!((&header["seed"], &header["runs"]), (&1.into(), &2.into()));
    let rows = results.lines().count() - 1;
    assert_eq!(read(out, "summary.csv").lines().count() - 1, rows);
    let report = read(out, "report.html");
    assert!(report.contains("groupkey reproduce network-impact --runs 2 --seed 1"));
    assert!(!report.contains(out.to_str().expect("a plain name")), "no path of this machine");

    let names = fs::read_dir(out.join("results")).expect("it exists").count();
    assert_eq!(names, 3, "nothing else is left behind");

    // Finished results are replaced; the same seed gives the same.
    reproduce(out, "--runs 2 --json").success();
    assert_eq!(read(out, "results.jsonl"), results);
    assert_eq!(read(out, "report.html"), report);
}

#[test]
fn a_row_of_the_report_is_run_again_by_its_command() {
    let folder = Folder::new();
    reproduce(folder.path(), "--runs 2").success();
    let results = read(folder.path(), "results.jsonl");
    let row: Value = serde_json::from_str(results.lines().nth(40).expect("a row")).expect("JSON");
    let report = read(folder.path(), "report.html");
    let seed = &row["seed"];
    let commands = report.split(['<', '>', '"']).filter(|text| text.starts_with("groupkey net "));
    let expected = [
        format!("--scheme {} ", row["scheme"].as_str().expect("a name")),
        format!("--operation {} ", row["operation"].as_str().expect("a name")),
        format!("--members {} ", row["members"]),
        format!("--loss {} ", row["loss_percent"].as_f64().expect("a number")),
        format!("--delay {} ", row["delay_ms"].as_f64().expect("a number")),
        format!("--seed {seed} "),
    ];
    let command = commands
        .into_iter()
        .find(|command| expected.iter().all(|part| format!("{command} ").contains(part)))
        .expect("the report has a command for the row");
    let mut arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
    arguments.extend(["--json", "--samples"]);
    assert_eq!(groupkey_in(folder.path(), &arguments).objects(), [row]);
}

#[test]
fn an_interrupted_campaign_keeps_what_is_done_and_resumes_to_the_same_files() {
    let whole = Folder::new();
    reproduce(whole.path(), "--runs 3").success();

    let broken = Folder::new();
    let finished = interrupt_reproduction(broken.path(), "--runs 3 --threads 1");
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    assert!(finished.stderr.starts_with("interrupted: "), "{}", finished.stderr);
    let kept = read(broken.path(), "results.jsonl");
    assert!(kept.lines().count() > 1 && kept.len() < read(whole.path(), "results.jsonl").len());
    assert!(kept.ends_with('\n'));

    // Neither started again by accident, nor resumed as another campaign.
    let finished = reproduce(broken.path(), "--runs 3");
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("help: --resume continues"), "{}", finished.stderr);
    let finished = reproduce(broken.path(), "--runs 4 --resume");
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("was begun with --seed 1 --runs 3"), "{}", finished.stderr);
    assert_eq!(read(broken.path(), "results.jsonl"), kept);

    // A crash may leave half a line.
    fs::write(broken.path().join("results/results.jsonl"), kept + "{\"scheme\":\"sk")
        .expect("writable");
    let told = reproduce(broken.path(), "--runs 3 --resume").success();
    assert!(told.contains(" from before) in "), "{told}");
    let told = reproduce(broken.path(), "--runs 3 --resume").success();
    assert!(told.contains("270 rows of 3 runs or more (all from before) in "), "{told}");
    for file in ["results.jsonl", "summary.csv", "report.html"] {
        assert!(read(broken.path(), file) == read(whole.path(), file), "{file} differs");
    }
}

#[test]
fn the_command_that_resumes_is_printed_and_works() {
    let folder = Folder::new();
    let finished = interrupt_reproduction(folder.path(), "--runs 2 --threads 1 --seed 9");
    let advice = finished.stderr.split_once("help: continue with: groupkey ");
    let (_, command) = advice.expect("advice");
    let arguments: Vec<&str> = command.split_whitespace().collect();
    groupkey_in(folder.path(), &arguments).success();
}

#[test]
fn a_file_that_is_not_ours_is_not_touched() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("results")).expect("writable");
    fs::write(folder.path().join("results/results.jsonl"), "my diary\n").expect("writable");
    for more in ["--runs 2", "--runs 2 --resume"] {
        let finished = reproduce(folder.path(), more);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        assert!(finished.stderr.contains("results.jsonl:1: "), "{}", finished.stderr);
        assert!(finished.stderr.contains("--fresh"), "{}", finished.stderr);
    }
    assert_eq!(read(folder.path(), "results.jsonl"), "my diary\n");
    reproduce(folder.path(), "--runs 2 --fresh").success();
}

fn reproduce(folder: &Path, more: &str) -> Finished {
    groupkey_in(folder, &arguments(more))
}

fn arguments(more: &str) -> Vec<&str> {
    let fixed = ["reproduce", "network-impact", "--out", "results"];
    fixed.into_iter().chain(more.split_whitespace()).collect()
}

fn interrupt_reproduction(folder: &Path, more: &str) -> Finished {
    let results = folder.join("results/results.jsonl");
    interrupted(folder, &arguments(more), || {
        fs::read_to_string(&results).is_ok_and(|text| text.lines().count() > 1)
    })
}

fn read(folder: &Path, file: &str) -> String {
    let path = folder.join("results").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
