//! `groupkey serve --scheme auto` changes the scheme of a group that lives.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use groupkey_mqtt::driver::{Connection, run};
use groupkey_mqtt::keyring::{Secret, bytes_from_hex};
use groupkey_mqtt::{Member, member};

use crate::broker::mosquitto;
use crate::finished::{Folder, GROUPKEY};

const MEMBERS: u32 = 6;

/// The members keep more keys than the requirements allow, so the change need not pay.
#[test]
fn a_scheme_that_breaks_a_limit_is_changed_unless_it_is_pinned() {
    let Some((port, _broker)) = mosquitto("a_scheme_that_breaks_a_limit") else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let folder = Folder::new();
    folder.file("requirements.toml", "[limits]\nkeys = 40.0\n");
    let mut settings = format!(
        "store = 'group.redb'\n[broker]\nport = {port}\n[group]\nfounders = {MEMBERS}\n\
         [adapt]\nrequirements = 'requirements.toml'\nfloor_s = 0\nobserve_s = 1\npinned = true\n"
    );
    for number in 0..MEMBERS {
        let key = key(number).to_hex();
        write!(settings, "[[device]]\nname = 'device-{number}'\nkey = '{}'\n", *key).unwrap();
    }
    folder.file("serve.toml", &settings);
    let mut process = Command::new(GROUPKEY)
        .args(["serve", "--config", "serve.toml", "--scheme", "auto"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let output = BufReader::new(process.stdout.take().expect("it is piped"));
    let (sender, lines) = channel();
    thread::spawn(move || {
        output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    // Returns the next line that begins like this, and those before it.
    let await_line = |begin: &str| {
        let mut before = Vec::new();
        loop {
            let line = lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("no {begin:?} after {before:?}"));
            if line.starts_with(begin) {
                return (line, before);
            }
            before.push(line);
        }
    };
    let (line, _) = await_line("service ");
    let service = bytes_from_hex(&line["service ".len()..]);
    let members: Vec<_> = (0..MEMBERS)
        .map(|number| {
            let settings = member::Settings {
                prefix: "groupkey/1".to_owned(),
                name: format!("device-{number}"),
                identity: Secret::from_bytes([number as u8 + 100; 32]),
                shared: Some(key(number)),
                service,
                messages: Default::default(),
            };
            let connection = Connection::new("127.0.0.1", port, format!("device-{number}"));
            run(Member::new(settings).expect("the settings are good"), connection)
        })
        .collect();
    await_line("epoch 1: ");
    let mut input = process.stdin.take().expect("it is piped");
    writeln!(input, "propose").unwrap();
    let (proposed, _) = await_line("");
    assert!(proposed.contains("instead of lkh-group"), "{proposed}");
    assert!(proposed.contains("no longer meets the requirements"), "{proposed}");
    // It is pinned, and looks every second.
    thread::sleep(Duration::from_secs(3));
    writeln!(input, "pin").unwrap();
    let (_, before) = await_line("lkh-group");
    assert!(before.is_empty(), "{before:?}");
    writeln!(input, "unpin").unwrap();
    let (told, _) = await_line("adapt: ");
    assert_eq!(told, format!("adapt: {proposed}"));
    let (changed, _) = await_line("the scheme is ");
    assert!(changed.ends_with("with 6 members; 0 were left behind"), "{changed}");
    writeln!(input, "propose\nveto").unwrap();
    let scheme = changed.split_whitespace().nth(3).unwrap();
    let (stays, _) = await_line(scheme);
    assert!(stays.ends_with("stays"), "{stays}");
    let (vetoed, _) = await_line("not done");
    assert!(vetoed.contains("nothing to veto"), "{vetoed}");
    drop(members);
    process.kill().unwrap();
    process.wait().unwrap();
}

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}
