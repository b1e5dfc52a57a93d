//! The command with a scheme more: what the README shows, run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn the_scheme_stands_in_the_list() {
    let listed = stdout(&["schemes", "list", "--json"]);
    let schemes: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(schemes[0]["id"], "list");
    assert_eq!(schemes[0]["class"], "centralized");
    assert!(stdout(&["schemes"]).lines().any(|line| line.starts_with("list ")));
}

#[test]
fn the_scheme_runs_in_a_network_beside_others() {
    let arguments = ["net", "--scheme", "skdc,list", "--members", "20", "--runs", "2", "--json"];
    let rows: Vec<serde_json::Value> =
        stdout(&arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages = |scheme: &str, operation: &str| {
        let row = rows.iter().find(|row| row["scheme"] == scheme && row["operation"] == operation);
        row.unwrap()["messages"].as_f64().unwrap()
    };
    assert_eq!(messages("list", "create"), 1.0);
    assert_eq!(messages("skdc", "create"), 20.0);
}

/// All that it claims holds; attacks about which it says nothing are reported beside that.
#[test]
fn the_scheme_is_audited() {
    let arguments = ["audit", "--scheme", "list", "--profile", "sound", "--quick", "--json"];
    let findings: Vec<serde_json::Value> =
        stdout(&arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let claimed: Vec<_> = findings.iter().filter(|finding| finding["claimed"] == true).collect();
    let forward = claimed.iter().find(|finding| finding["claim"] == "forward-secrecy");
    assert_eq!(forward.unwrap()["found"], "holds");
    assert!(claimed.iter().all(|finding| finding["found"] != "broken"), "{claimed:?}");
    assert!(findings.iter().any(|finding| finding["claim"] == "replay"));
    assert!(stdout(&["schemes", "list"]).contains("not audited"));
}

/// Without an audit no claim of it counts, and the answer says how to make one.
#[test]
fn the_scheme_takes_part_in_choices_once_it_was_audited() {
    let folder = tempfile::tempdir().expect("there is room");
    let decide = |more: &[&str]| -> serde_json::Value {
        let asked = ["choose", "--set", "members.now=20", "--fitted", "--json"];
        let told = stdout_in(folder.path(), &[&asked[..], more].concat());
        serde_json::from_str(&told).unwrap()
    };
    let of_list = |all: &serde_json::Value,
                   scheme: fn(&serde_json::Value) -> &serde_json::Value| {
        all.as_array().unwrap().iter().find(|one| scheme(one) == "list").cloned()
    };
    let out = of_list(&decide(&[])["out"], |one| &one["scheme"]).expect("it is among the schemes");
    let why = out["reasons"][0]["has"].as_str().unwrap();
    assert!(why.contains("audit --scheme list --profile sound --out list"), "{why}");
    assert!(out["reasons"][0]["nearest"].is_null(), "to give up a claim is no remedy: {out}");

    let audit = ["audit", "--scheme", "list", "--profile", "sound", "--quick", "--out", "list"];
    stdout_in(folder.path(), &audit);
    let decision = decide(&["--audit", "list"]);
    let meets =
        ["front", "beaten"].map(|part| of_list(&decision[part], |one| &one["candidate"]["scheme"]));
    let list = meets.into_iter().flatten().next().expect("it meets the requirements");
    assert!(list["cost"].as_f64().unwrap() > 0.0, "{list}");
}

/// Every command in the README's blocks ends well.
#[test]
fn the_readme_is_true() {
    let readme = include_str!("../README.md");
    let folder = new_folder("readme");
    let commands: Vec<_> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ cargo run -p own-scheme -- "))
        .collect();
    assert!(commands.len() > 1);
    for command in commands {
        stdout_in(&folder, &command.split_whitespace().collect::<Vec<_>>());
    }
    // Its times are in one figure with the catalogue's.
    let name = "figures/creation-centralized-total.svg";
    let figure = fs::read_to_string(folder.join(name)).expect("a figure");
    for scheme in ["skdc", "lkh-group", "list"] {
        assert!(figure.contains(&format!(">{scheme}</text>")), "{scheme}");
    }
    assert_eq!(figure.matches("class='chart'").count(), 1, "both files share a panel");
}

/// Rows of the scheme can be compared with others of it, whatever the command.
#[test]
fn runs_of_the_scheme_are_compared() {
    let folder = new_folder("compared");
    for (seed, out) in [("1", "before"), ("2", "after")] {
        let audit = ["audit", "--scheme", "list", "--profile", "sound", "--quick", "--seed"];
        stdout_in(&folder, &[&audit[..], &[seed, "--out", out]].concat());
    }
    let told = stdout_in(&folder, &["compare", "before", "after"]);
    assert!(told.contains("intervals: 0."), "{told}");
}

fn new_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("target is writable");
    folder
}

fn stdout(arguments: &[&str]) -> String {
    stdout_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

fn stdout_in(folder: &Path, arguments: &[&str]) -> String {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_own-scheme"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program was built");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}
