//! The command with a scheme more: what the README shows, run.

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

/// Every command in the README's blocks ends well.
#[test]
fn the_readme_is_true() {
    let readme = include_str!("../README.md");
    let commands: Vec<_> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ cargo run -p own-scheme -- "))
        .collect();
    assert!(commands.len() > 1);
    for command in commands {
        stdout(&command.split_whitespace().collect::<Vec<_>>());
    }
}

fn stdout(arguments: &[&str]) -> String {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_own-scheme"))
        .args(arguments)
        .output()
        .expect("the program was built");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}
