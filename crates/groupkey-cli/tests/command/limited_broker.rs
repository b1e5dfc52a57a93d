//! Live groups over a broker that can do less than the files ask for.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::mosquitto_with;
use crate::finished::{Folder, GROUPKEY, groupkey_in};

#[test]
fn a_broker_that_retains_nothing_is_refused_in_one_message() {
    let Some((port, _broker)) = mosquitto_with("retains_nothing", "retain_available false") else {
        return;
    };
    let folder = Folder::new();
    folder.file("serve.toml", &format!("store = 'group.redb'\n[broker]\nport = {port}\n"));
    folder.file("member.toml", &member("a", 0, &format!("port = {port}")));
    for command in ["serve", "member"] {
        let file = format!("{command}.toml");
        let refused = groupkey_in(folder.path(), &[command, "--config", &file]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("error: the broker retains no messages"), "{refused:?}");
        assert!(refused.stderr.contains("retain_available true"), "{refused:?}");
        let said = refused.stdout + &refused.stderr;
        assert!(!said.contains("connected") && !said.contains("another process"), "{said}");
    }
}

/// What one says is what the others get: every byte, in JSON.
#[test]
fn a_broker_with_a_lower_qos_carries_the_group_and_that_is_told() {
    for (asked, most) in [(2, 1), (1, 0)] {
        let limit = format!("max_qos {most}");
        let Some((port, _broker)) = mosquitto_with("a_lower_qos", &limit) else { return };
        let folder = Folder::new();
        let broker = format!("port = {port}\nqos = {asked}");
        let group = "[group]\nfounders = 2\n";
        let mut service = format!("store = 'group.redb'\n{group}[broker]\n{broker}\n");
        for (number, name) in ["a", "b"].into_iter().enumerate() {
            service += &format!("[[device]]\nname = '{name}'\nkey = '{}'\n", key(number));
            folder.file(&format!("{name}.toml"), &member(name, number, &broker));
        }
        folder.file("serve.toml", &service);
        let mut service = Process::start(&folder, &["serve", "--config", "serve.toml"]);
        let lowered = format!("the broker allows QoS {most} at most");
        service.wait_for(|line| line.starts_with(&lowered));
        let mut a = Process::start(&folder, &["member", "--config", "a.toml", "--json"]);
        let mut b = Process::start(&folder, &["member", "--config", "b.toml", "--json"]);
        let event = |line: &str| serde_json::from_str::<Value>(line).expect("each line is JSON");
        a.wait_for(|line| event(line)["event"] == "epoch");
        b.wait_for(|line| event(line)["event"] == "epoch");
        a.says(b"{\"note\":\"it's\"} \x00\x01\xff\n");
        let heard = b.wait_for(|line| event(line)["event"] == "heard");
        assert_eq!(event(&heard)["base64"], "eyJub3RlIjoiaXQncyJ9IAAB/w==");
        assert_eq!((&event(&heard)["text"], &event(&heard)["epoch"]), (&Value::Null, &1.into()));
        a.says(b"{\"t\":21.5}\n");
        let heard = b.wait_for(|line| event(line)["event"] == "heard");
        assert_eq!(event(&heard)["text"], "{\"t\":21.5}");
    }
}

/// Every byte from one's standard input to the others' standard output.
#[test]
fn raw_bytes_pass_unchanged() {
    // All bytes except the line feed, which ends a line.
    let line: Vec<u8> = (0..=u8::MAX).filter(|&byte| byte != b'\n').chain(*b"\r").collect();
    let lines = [&line[..], b"\n\nlast\n"].concat();
    let whole: Vec<u8> = (0..1_000_u32).map(|number| number as u8).collect();
    for (raw, said) in [("--raw", lines), ("--raw=whole", whole)] {
        let Some((port, _broker)) = mosquitto_with("raw_bytes", "") else { return };
        let folder = Folder::new();
        let broker = format!("port = {port}");
        let mut service =
            format!("store = 'group.redb'\n[group]\nfounders = 2\n[broker]\n{broker}\n");
        for (number, name) in ["a", "b"].into_iter().enumerate() {
            service += &format!("[[device]]\nname = '{name}'\nkey = '{}'\n", key(number));
            folder.file(&format!("{name}.toml"), &member(name, number, &broker));
        }
        folder.file("serve.toml", &service);
        let _service = Process::start(&folder, &["serve", "--config", "serve.toml"]);
        let [mut a, mut b] = ["a.toml", "b.toml"].map(|file| {
            Command::new(GROUPKEY)
                .args(["member", "--config", file, raw])
                .current_dir(folder.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the command starts")
        });
        let told = BufReader::new(b.stderr.take().expect("it is piped")).lines();
        let mut told = told.map_while(Result::ok);
        assert!(told.any(|line| line.starts_with("epoch ")), "b has a key");
        a.stdin.take().expect("it is piped").write_all(&said).expect("a reads");
        let mut heard = vec![0; said.len()];
        let read = b.stdout.take().expect("it is piped").read_exact(&mut heard);
        for mut process in [a, b] {
            let _ = process.kill();
            let _ = process.wait();
        }
        assert!(read.is_ok() && heard == said, "{raw}: {heard:?}");
    }
}

/// It was off when it was evicted. The service tells it, and a supervisor need not start it again.
#[test]
fn an_evicted_member_ends_with_3_however_often_it_is_started() {
    let Some((port, _broker)) = mosquitto_with("evicted", "") else { return };
    let folder = Folder::new();
    let broker = format!("port = {port}");
    let mut service = format!("store = 'group.redb'\n[group]\nfounders = 3\n[broker]\n{broker}\n");
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        service += &format!("[[device]]\nname = '{name}'\nkey = '{}'\n", key(number));
        folder.file(&format!("{name}.toml"), &member(name, number, &broker));
    }
    folder.file("serve.toml", &service);
    let mut service = Process::start(&folder, &["serve", "--config", "serve.toml"]);
    let [mut a, mut b, mut c] = ["a.toml", "b.toml", "c.toml"]
        .map(|file| Process::start(&folder, &["member", "--config", file, "--json"]));
    let is_epoch = |line: &str| line.contains("\"epoch\"");
    for member in [&mut a, &mut b, &mut c] {
        member.wait_for(is_epoch);
    }
    drop(c);
    service.says(b"evict c\n");
    a.wait_for(is_epoch);
    for _ in 0..2 {
        let ended = groupkey_in(folder.path(), &["member", "--config", "c.toml"]);
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.stderr.contains("evicted from the group"), "{ended:?}");
    }
}

/// A running command.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut child = Command::new(GROUPKEY)
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .filter(|line| sender.send(line.clone()).is_ok())
                .count()
        });
        let input = child.stdin.take().expect("it is piped");
        Self { child, input, lines }
    }

    fn says(&mut self, line: &[u8]) {
        self.input.write_all(line).expect("it reads");
    }

    /// The next line of standard output that is as wanted.
    fn wait_for(&mut self, is_it: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        let mut seen = Vec::new();
        while begin.elapsed() < Duration::from_secs(60) {
            match self.lines.recv_timeout(Duration::from_millis(200)) {
                Ok(line) if is_it(&line) => return line,
                Ok(line) => seen.push(line),
                Err(_) => {}
            }
        }
        let _ = self.child.kill();
        let mut errors = String::new();
        let stderr = self.child.stderr.take();
        stderr.map(|mut stderr| stderr.read_to_string(&mut errors));
        panic!("{seen:?}: {errors}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn member(name: &str, number: usize, broker: &str) -> String {
    let secret = key(number);
    format!("name = '{name}'\nidentity = '{name}.key'\nsecret = '{secret}'\n[broker]\n{broker}\n")
}

fn key(number: usize) -> String {
    format!("{:02x}", number + 1).repeat(32)
}
