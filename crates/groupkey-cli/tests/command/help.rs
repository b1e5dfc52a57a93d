//! Help: every example in it works, and it teaches every command.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::broker::mosquitto;
use crate::finished::{Folder, GROUPKEY, groupkey, groupkey_in};

#[test]
#[ignore = "long: a minute, runs each example of the help"]
fn every_example_in_the_help_works() {
    // Some examples read examples/, and one leaves a folder behind.
    let folder = Folder::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::os::unix::fs::symlink(examples, folder.path().join("examples")).expect("writable");
    for help in ["--help", "net --help", "schemes --help"] {
        let help = groupkey(help).success();
        let commands = commands(&help);
        assert!(commands.len() >= 3, "{help}");
        // The README has the reproductions, and they take a while.
        for arguments in commands.iter().filter(|words| words.first() != Some(&"reproduce")) {
            if !arguments.contains(&BROKER) {
                groupkey_in(folder.path(), arguments).success();
            } else if let Some((port, _broker)) = mosquitto("every_example_in_the_help_works") {
                let ours = format!("127.0.0.1:{port}");
                let there =
                    |word: &&str| if *word == BROKER { ours.clone() } else { (*word).to_owned() };
                let arguments: Vec<String> = arguments.iter().map(there).collect();
                groupkey(&arguments.join(" ")).success();
            }
        }
    }
}

/// Where the examples have their broker.
const BROKER: &str = "localhost:1883";

/// The commands that stand on lines of their own, indented; two spaces precede what they are for.
fn commands(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next()?.strip_prefix("groupkey"))
        .map(|arguments| arguments.split_whitespace().collect())
        .collect()
}

#[test]
fn help_teaches_every_command() {
    let help = groupkey("--help").success();
    for word in ["net", "reproduce", "schemes", "Examples:", "Exit codes:"] {
        assert!(help.contains(word), "{word} is not in {help}");
    }
    let help = groupkey("net --help").success();
    for word in
        ["milliseconds", "per cent", "kbit/s", "lkh-group", "esp32-micropython", "published"]
    {
        assert!(help.contains(word), "{word} is not in {help}");
    }
    assert!(groupkey("reproduce network-impact --help").success().contains("report.html"));
    assert!(groupkey("--version").success().starts_with("groupkey "));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    for arguments in [&["schemes"][..], &["schemes", "--json"], &["--help"], &["net", "--json"]] {
        let mut child = Command::new(GROUPKEY)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
    }
}
