//! What a package installs beside the command: scripts for shells, and manual pages.

use std::fs;
use std::process::{Command, Stdio};

use crate::finished::{Folder, groupkey, groupkey_in};

#[test]
fn shells_complete_every_command() {
    let commands = ["audit", "bridge", "choose", "net", "serve"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = groupkey(&format!("completions {shell}")).success();
        for command in commands {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
        assert!(script.contains("loss-direction"), "{shell} does not know options");
    }
    let folder = Folder::new();
    folder.file("groupkey.bash", &groupkey("completions bash").success());
    let checked = Command::new("bash")
        .args(["-n", "groupkey.bash"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .output();
    // A machine may have no bash.
    if let Ok(checked) = checked {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
    let refused = groupkey("completions csh");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("possible values: bash"), "{refused:?}");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    groupkey_in(folder.path(), &["man", "--out", "man1"]).success();
    let page = |name: &str| {
        let path = folder.path().join("man1").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(page("groupkey.1").contains("groupkey\\-net(1)"), "{}", page("groupkey.1"));
    assert!(page("groupkey-net.1").contains("\\-\\-loss"));
    assert!(page("groupkey-device-measure.1").contains("\\-\\-target"));
    folder.file("file", "precious");
    let refused = groupkey_in(folder.path(), &["man", "--out", "file"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.starts_with("error: file: "), "{refused:?}");
}
