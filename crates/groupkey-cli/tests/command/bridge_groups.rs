//! Two groups in each of two bridges, one with a service and one of peers: what is of one stays in it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use groupkey_testbed::mosquitto::Mosquitto;
use serde_json::Value;

use crate::bridge::{PATIENCE, Program, key};
use crate::broker::three_mosquittos;
use crate::finished::{Folder, GROUPKEY, groupkey_in};

#[test]
fn each_topic_goes_into_its_group_only() {
    let Some(site) = Site::new("each_topic_goes_into_its_group_only") else { return };
    let _service = site.command(&["serve", "--config", "serve.toml"]);
    let members =
        ["c.toml", "d.toml"].map(|file| site.command(&["member", "--config", file, "--json"]));
    let bridges = ["a", "b"].map(|name| {
        let program = site.command(&["bridge", "--config", &format!("{name}.bridge.toml")]);
        program.wait_for("http://");
        program
    });
    for bridge in &bridges {
        bridge.wait_for_all(&[
            "groupkey/1: epoch ",
            "groupkey/2: epoch ",
            "groupkey/1: local: connected",
            "groupkey/2: local: connected",
        ]);
    }
    for member in &members {
        member.wait_for("\"event\":\"epoch\"");
    }
    let mut subscriber = site.program("mosquitto_sub", site.b);
    subscriber.args(["-t", "#", "-q", "1", "-v"]);
    let subscriber = Program::follow(subscriber);
    let lines = subscriber.lines();
    subscriber.settle();
    // The last leaves into the second group alone, whose rules at b do not let it in. Those of the first
    // would.
    for (topic, payload) in [("three/x", "3"), ("one/x", "1"), ("two/x", "2")] {
        let mut publish = site.program("mosquitto_pub", site.a);
        publish.args(["-t", topic, "-q", "1", "-m", payload]);
        assert!(publish.status().is_ok_and(|status| status.success()), "{topic}");
    }
    let hear = || lines.recv_timeout(PATIENCE).expect("b's program hears it");
    let mut heard = [hear(), hear()];
    heard.sort();
    assert_eq!(heard, ["one/x 1", "two/x 2"]);

    until("both members heard", || {
        has(&carried(&members[0]), "one/x") && has(&carried(&members[1]), "two/x")
    });
    let [service_group, peers] = members.each_ref().map(carried);
    assert!(has(&service_group, "one/x"), "{service_group:?}");
    assert!(!has(&service_group, "two/x") && !has(&service_group, "three/x"), "{service_group:?}");
    assert!(has(&peers, "two/x") && has(&peers, "three/x") && !has(&peers, "one/x"), "{peers:?}");

    let health = get(&bridges[0], "/health", "");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let token = format!("Authorization: Bearer {}\r\n", key(9));
    for (bridge, line) in [
        (0, "groupkey_bridge_sent_total{group=\"groupkey/1\"} 1"),
        (0, "groupkey_bridge_sent_total{group=\"groupkey/2\"} 2"),
        (1, "groupkey_bridge_delivered_total{group=\"groupkey/1\"} 1"),
        (1, "groupkey_bridge_denied_total{group=\"groupkey/1\"} 0"),
        (1, "groupkey_bridge_denied_total{group=\"groupkey/2\"} 1"),
        (1, "groupkey_bridge_connected{group=\"groupkey/2\",side=\"local\"} 1"),
    ] {
        // The local broker's acknowledgement may come after the message.
        until(line, || get(&bridges[bridge], "/metrics", &token).lines().any(|own| own == line));
    }
    assert!(lines.try_recv().is_err(), "the denied message came in");
}

/// Three brokers and the files of two groups. Bridges `a` and `b` are in both, the member `c` in the
/// first, the peer `d` in the second.
struct Site {
    folder: Folder,
    a: u16,
    b: u16,
    _brokers: [(u16, Mosquitto); 3],
}

impl Site {
    fn new(test: &str) -> Option<Self> {
        let brokers = three_mosquittos(test)?;
        let [group, a, b] = brokers.each_ref().map(|(port, _)| *port);
        let site = Self { folder: Folder::new(), a, b, _brokers: brokers };
        site.write_groups(group);
        for (name, other, local) in [("a", "b", a), ("b", "a", b)] {
            site.write_bridge(name, other, local);
        }
        Some(site)
    }

    fn write_groups(&self, port: u16) {
        let names = ["a", "b", "c"].into_iter().enumerate();
        let devices: String = names
            .clone()
            .map(|(number, name)| format!("[[device]]\nname = '{name}'\nkey = '{}'\n", key(number)))
            .collect();
        let broker = format!("[broker]\nport = {port}\n");
        let service = format!("store = 'group.redb'\n[group]\nfounders = 3\n{broker}{devices}");
        self.folder.file("serve.toml", &service);
        for (number, name) in names {
            let file = if name == "c" { "c".to_owned() } else { format!("{name}1") };
            let (identity, secret) = (format!("{file}.key"), key(number));
            let member =
                format!("name = '{name}'\nidentity = '{identity}'\nsecret = '{secret}'\n{broker}");
            self.folder.file(&format!("{file}.toml"), &member);
        }
        let peers = [("a", "a2"), ("b", "b2"), ("d", "d")];
        let list: String = peers
            .iter()
            .enumerate()
            .map(|(number, (name, file))| {
                let public = self.public(file);
                format!(
                    "[[peer]]\nname = '{name}'\nnumber = {number}\nidentity = '{public}'\nfounder = true\n"
                )
            })
            .collect();
        let form = "[group]\nprefix = 'groupkey/2'\nnumber = 2\nscheme = 'tgdh'\n";
        for (name, file) in peers {
            let peer = format!("name = '{name}'\nidentity = '{file}.key'\n{broker}{form}{list}");
            self.folder.file(&format!("{file}.toml"), &peer);
        }
    }

    fn write_bridge(&self, name: &str, other: &str, port: u16) {
        let [first, second] = [1, 2].map(|group| self.public(&format!("{other}{group}")));
        let from = format!("from = ['{other}']\n");
        let (one, two) = match name {
            "a" => (
                format!("out = ['one/#']\nto = ['b']\n[group.bridges]\nb = '{first}'\n"),
                format!(
                    "out = ['two/#', 'three/#']\nto = ['b']\n[group.bridges]\nb = '{second}'\n"
                ),
            ),
            _ => (
                format!(
                    "[group.bridges]\na = '{first}'\n[[group.in]]\ntopics = ['one/#', 'three/#']\n{from}"
                ),
                format!(
                    "[group.bridges]\na = '{second}'\n[[group.in]]\ntopics = ['two/#']\n{from}"
                ),
            ),
        };
        let bridge = format!(
            "[local]\nport = {port}\n[http]\nlisten = '127.0.0.1:0'\ntoken = '{}'\n\
             [[group]]\nmember = '{name}1.toml'\n{one}[[group]]\nmember = '{name}2.toml'\n{two}",
            key(9)
        );
        self.folder.file(&format!("{name}.bridge.toml"), &bridge);
    }

    fn public(&self, file: &str) -> String {
        let arguments = ["member", "--public", &format!("{file}.key")];
        groupkey_in(self.folder.path(), &arguments).success().trim().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Program {
        let mut command = Command::new(GROUPKEY);
        command.args(arguments).current_dir(self.folder.path());
        Program::follow(command)
    }

    fn program(&self, name: &str, port: u16) -> Command {
        let mut command = Command::new(name);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        command
    }
}

/// All bytes that bridges sent to the group of this member.
fn carried(member: &Program) -> Vec<u8> {
    let told = member.told();
    let objects = told.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let heard = objects.filter(|object| object["event"] == "heard");
    heard.flat_map(|object| bytes(object["base64"].as_str().expect("it has the bytes"))).collect()
}

/// Reads base64 (RFC 4648, section 4).
fn bytes(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_usize, 0);
    for letter in text.trim_end_matches('=').chars() {
        bits = bits << 6 | LETTERS.find(letter).expect("it is base64");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn get(bridge: &Program, path: &str, header: &str) -> String {
    let told = bridge.told();
    let address = told.iter().find_map(|line| line.strip_prefix("http://")).expect("it was told");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}
