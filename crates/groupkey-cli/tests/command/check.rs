//! `groupkey check`: it finds what is missing before anything runs, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;

use crate::broker::mosquitto_with;
use crate::finished::{Finished, Folder, GROUPKEY, groupkey_in};

#[test]
fn files_that_are_ready_pass_and_nothing_is_written() {
    let Some((port, _broker)) = mosquitto_with("files_that_are_ready", "") else { return };
    let folder = ready(port);
    let before = content(&folder);
    for file in ["serve.toml", "member.toml"] {
        let checked = check(&folder, file, &[]);
        assert_eq!(checked.code, 0, "{checked:?}");
        assert!(checked.stdout.lines().all(|line| line.starts_with("ok ")), "{checked:?}");
        assert!(checked.stdout.contains("QoS 2 at most, retained messages"), "{checked:?}");
    }
    let lines = check(&folder, "member.toml", &["--json"]).objects();
    let of = |check: &str| lines.iter().filter(|line| line["check"] == check).count();
    assert_eq!((of("subscribe"), of("publish"), of("both ways")), (4, 2, 1), "{lines:?}");
    assert!(lines.iter().all(|line| line["result"] == "ok"), "{lines:?}");
    assert_eq!(content(&folder), before);
}

#[test]
fn what_the_broker_forbids_or_cannot_is_told_with_the_remedy() {
    let folder = Folder::new();
    folder.file("acl", "topic read groupkey/1/#\ntopic write groupkey/1/join\n");
    // Root's Mosquitto would become another user, who may not read the file.
    let acl = folder.path().join("acl");
    let further = format!("user root\nmax_queued_messages 1000\nacl_file {}", acl.display());
    let Some((port, _broker)) = mosquitto_with("what_the_broker_forbids", &further) else { return };
    let folder = ready(port);
    let checked = check(&folder, "member.toml", &[]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(checked.stderr.contains("2 of "), "{checked:?}");
    let failed = |topic: &str| {
        let is_of = |line: &&str| line.starts_with("FAILS") && line.contains(topic);
        checked.stdout.lines().find(is_of).is_some_and(|line| line.contains("access list"))
    };
    assert!(failed("groupkey/1/requests") && failed("groupkey/1/talk"), "{checked:?}");
    assert!(!failed("groupkey/1/join"), "{checked:?}");

    let less = "retain_available false\nmax_qos 0\nmax_packet_size 2000";
    let Some((port, _broker)) = mosquitto_with("what_the_broker_forbids", less) else { return };
    let checked = check(&ready(port), "member.toml", &[]);
    assert_eq!(checked.code, 1, "{checked:?}");
    for told in ["needs retained messages", "QoS 0 is used", "more than 2000 bytes"] {
        assert!(checked.stdout.contains(told), "{told}: {checked:?}");
    }
}

#[test]
fn each_mistake_in_the_files_is_told_before_anything_runs() {
    let folder = ready(1);
    let key = KeyPair::generate().unwrap();
    let certificate = |year| {
        let mut params = CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        params.self_signed(&key).unwrap().pem()
    };
    folder.file("old.pem", &certificate(2001));
    folder.file("ca.pem", &certificate(2999));
    folder.file("key.pem", &key.serialize_pem());
    let member = |further: &str| folder.file("a.toml", &format!("{MEMBER}[broker]\n{further}\n"));
    member("tls = { ca = 'ca.pem', certificate = 'old.pem', key = 'key.pem' }");
    let checked = check(&folder, "a.toml", &["--offline"]);
    let expired = "FAILS  certificate  tls.certificate: expired at 2001-01-01 00:00 UTC";
    assert!(checked.code == 1 && checked.stdout.contains(expired), "{checked:?}");
    assert!(checked.stdout.contains("tls.ca: valid until 2999-01-01"), "{checked:?}");
    member("tls = { ca = 'key.pem' }");
    let checked = check(&folder, "a.toml", &["--offline"]);
    let exchanged = "it has a private key, and no certificate: are two files exchanged? (in ";
    assert!(checked.code == 1 && checked.stdout.contains(exchanged), "{checked:?}");
    member("prot = 1");
    let checked = check(&folder, "a.toml", &[]);
    assert!(checked.code == 1 && checked.stdout.contains("unknown field `prot`"), "{checked:?}");
    let checked = check(&folder, "missing.toml", &["--json"]);
    let line: Value = serde_json::from_str(checked.stdout.trim()).unwrap();
    assert_eq!((checked.code, &line["result"]), (1, &"fails".into()), "{checked:?}");
    // Nobody listens there.
    let checked = check(&folder, "member.toml", &[]);
    let refused = "FAILS  connection   127.0.0.1:1: ";
    assert!(checked.code == 1 && checked.stdout.contains(refused), "{checked:?}");
    folder.file("b.toml", "store = 'volume/group.redb'\n");
    let checked = check(&folder, "b.toml", &["--offline"]);
    assert!(checked.code == 1 && checked.stdout.contains("there is no folder"), "{checked:?}");
}

#[test]
fn a_bridge_is_checked_with_its_members_and_both_brokers() {
    let Some((port, _broker)) = mosquitto_with("a_bridge_is_checked", "") else { return };
    let folder = ready(port);
    let public = groupkey_in(folder.path(), &["member", "--public", "b.key"]).success();
    let bridge = |rules: &str| {
        let http = "[http]\nlisten = '127.0.0.1:0'\ntoken_file = 'bridge.token'\n";
        let group = "[[group]]\nmember = 'member.toml'\n";
        let others = format!("[group.bridges]\nb = '{}'\n", public.trim());
        let text = format!("[local]\nport = {port}\n{http}{group}{rules}{others}");
        folder.file("bridge.toml", &text);
    };
    bridge("out = ['plant/#']\nto = ['b']\n");
    let before = content(&folder);
    let checked = check(&folder, "bridge.toml", &[]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.lines().all(|line| line.starts_with("ok ")), "{checked:?}");
    assert!(checked.stdout.contains("publish      groupkey/1: groupkey/1/join"), "{checked:?}");
    let lines = check(&folder, "bridge.toml", &["--json"]).objects();
    let of = |check: &str, of: Value| {
        lines.iter().filter(|line| line["check"] == check && line["of"] == of).count()
    };
    assert_eq!((of("subscribe", "groupkey/1".into()), of("rules", Value::Null)), (4, 1));
    // Nothing is published where programs speak in clear.
    let local = || Value::from("groupkey/1, local");
    assert_eq!((of("subscribe", local()), of("publish", local())), (1, 0), "{lines:?}");
    assert_eq!(content(&folder), before);

    bridge("out = ['plant/#', 'plant/+/door']\n");
    let checked = check(&folder, "bridge.toml", &["--offline"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    for told in ["without `to`, what a receiver misses", "plant/# and plant/+/door of `out`"] {
        assert!(checked.stdout.contains(told), "{told}: {checked:?}");
    }
    bridge("out = ['plant/#']\nto = ['c']\n");
    let checked = check(&folder, "bridge.toml", &["--offline"]);
    let told = "bridge.toml: [[group]] 1 (member.toml): group.to names c, which is not in";
    assert!(checked.code == 1 && checked.stdout.contains(told), "{checked:?}");
    folder.file("bridge.toml", "[local]\nprot = 1\n");
    let checked = check(&folder, "bridge.toml", &[]);
    assert!(checked.stdout.contains("bridge.toml:2:1: unknown field `prot`"), "{checked:?}");

    let further = "max_qos 0";
    let Some((port, _broker)) = mosquitto_with("a_bridge_is_checked", further) else { return };
    let text = format!("[local]\nport = {port}\n[[group]]\nmember = 'member.toml'\nout = ['a']\n");
    folder.file("bridge.toml", &text);
    let checked = check(&folder, "bridge.toml", &[]);
    let told = "a bridge needs QoS 1 here";
    assert!(checked.code == 1 && checked.stdout.contains(told), "{checked:?}");
}

#[test]
fn a_store_is_looked_at_and_a_service_that_runs_is_left_alone() {
    let folder = ready(1);
    let mut child = Command::new(GROUPKEY)
        .args(["serve", "--config", "serve.toml"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("service "));
    let checked = check(&folder, "serve.toml", &[]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains("a service has it open"), "{checked:?}");
    assert!(checked.stdout.contains("look   connection   not tried"), "{checked:?}");
    child.kill().unwrap();
    child.wait().unwrap();

    let whole = check(&folder, "serve.toml", &["--offline"]);
    assert!(whole.code == 0 && whole.stdout.contains("group.redb: whole"), "{whole:?}");
    let path = folder.path().join("group.redb");
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&path, &bytes).unwrap();
    let damaged = check(&folder, "serve.toml", &["--offline"]);
    let told = "the file is damaged: put the last copy back";
    assert!(damaged.code == 1 && damaged.stdout.contains(told), "{damaged:?}");
    assert!(fs::read(&path).unwrap() == bytes, "it was changed");
}

/// A folder with a service's and a member's file for a broker on this port.
fn ready(port: u16) -> Folder {
    let folder = Folder::new();
    let broker = format!("[broker]\nport = {port}\n");
    let key = "ab".repeat(32);
    let device = format!("[[device]]\nname = 'a'\nkey = '{key}'\n");
    let http = "[http]\nlisten = '127.0.0.1:0'\ntoken_file = 'http.token'\n";
    let service = format!("store = 'group.redb'\nidentity = 'service.key'\n{broker}{http}{device}");
    folder.file("serve.toml", &service);
    folder.file("member.toml", &format!("{MEMBER}{broker}"));
    folder
}

fn check(folder: &Folder, file: &str, further: &[&str]) -> Finished {
    groupkey_in(folder.path(), &[&["check", "--config", file], further].concat())
}

/// The names and bytes of all files.
fn content(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

const MEMBER: &str = "name = 'a'\nidentity = 'a.key'\n\
     secret = 'abababababababababababababababababababababababababababababababab'\n";
