//! Processes are killed as `kill -9` does it: `groupkey serve` again and again, a `groupkey member`, and
//! the broker. And `groupkey serve` meets a second service with its identity.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use groupkey::{Epoch, Key};
use groupkey_mqtt::driver::{Connection, Handle, Running, run};
use groupkey_mqtt::http::OperationResultView;
use groupkey_mqtt::keyring::{Secret, bytes_from_hex};
use groupkey_mqtt::{Member, member};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;

use crate::broker::{mosquitto, mosquitto_at};
use crate::finished::{Folder, GROUPKEY, groupkey_in};

/// Kills, at least. On a slow machine most come before the answer, so there are more of them, until
/// enough evictions were answered.
const KILLS: u32 = 24;
const MOST_KILLS: u32 = 4 * KILLS;
const EVICTIONS: usize = 5;
/// More than are evicted: joining members may not be in yet when the next goes.
const FOUNDERS: u32 = 16;

#[test]
fn killed_again_and_again_the_service_loses_nobody_and_keeps_nobody() {
    let Some((port, _broker)) = mosquitto("killed_again_and_again") else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let folder = Folder::new();
    folder.file("serve.toml", &settings(port));
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut service = Service::start(&folder);
    let mut group = Group { port, service_key: service.public, members: BTreeMap::new() };
    let mut keys = BTreeMap::new();
    let mut staying: Vec<u32> = (0..FOUNDERS).collect();
    staying.iter().for_each(|&number| group.arrive(number));
    group.agree(&staying, &mut keys);

    let (mut acknowledged, mut newcomer) = (Epoch(1), FOUNDERS);
    let mut out = Vec::new();
    let mut leaving = None;
    let (mut unanswered, mut unanswered_in_turn) = (0, 0);
    let mut kills = 0;
    while kills < KILLS || (out.len() < EVICTIONS && kills < MOST_KILLS) {
        let kill = kills;
        kills += 1;
        let mut asked = None;
        // What was asked for and not answered is asked for again, as an operator would.
        if leaving.is_none() && kill % 2 == 0 {
            group.arrive(newcomer);
            staying.push(newcomer);
            newcomer += 1;
        } else {
            let number = leaving.unwrap_or_else(|| staying.remove(rng.next_u64() as usize % 3));
            leaving = Some(number);
            asked = Some(service.evict(number));
        }
        // An eviction is stored within a few milliseconds, a join takes longer. A slow machine's service
        // gets twice as long each time that it did not answer.
        let longest = if leaving.is_some() { 6_000 << unanswered_in_turn } else { 120_000 };
        thread::sleep(Duration::from_micros(rng.next_u64() % longest));
        service.kill();
        if let Some(number) = leaving {
            match asked.and_then(Asked::promised) {
                Some(epoch) => {
                    acknowledged = acknowledged.max(epoch);
                    out.push(number);
                    leaving = None;
                    unanswered_in_turn = 0;
                }
                None => {
                    unanswered += 1;
                    unanswered_in_turn = 8.min(unanswered_in_turn + 1);
                }
            }
        }
        service = Service::start(&folder);
        assert!(service.goes_on >= acknowledged, "epoch {acknowledged} was promised");
        assert_eq!(service.public, group.service_key);
        // Now and then all come to rest; mostly the next kill comes before that.
        if kill % 4 == 3 && leaving.is_none() {
            group.agree(&staying, &mut keys);
        }
        group.look(&mut keys);
    }
    if let Some(number) = leaving {
        service.evict(number).promised().expect("it lives");
        out.push(number);
    }
    let (epoch, key) = group.agree(&staying, &mut keys);
    assert!(epoch >= acknowledged);
    for number in &out {
        let held = group.key_of(*number);
        assert!(held.is_none_or(|(_, held)| held != key), "device-{number} is out");
    }
    println!(
        "{kills} kills, {unanswered} of them before the answer; {} members in epoch {epoch}, {} out",
        staying.len(),
        out.len()
    );
    assert!(out.len() >= EVICTIONS, "{out:?}");
}

#[test]
fn a_killed_member_and_a_broker_without_memory_cost_nobody_the_group() {
    const TEST: &str = "a_killed_member";
    let Some((port, broker)) = mosquitto(TEST) else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let folder = Folder::new();
    folder.file("serve.toml", &settings(port));
    let service = Service::start(&folder);
    let mut group = Group { port, service_key: service.public, members: BTreeMap::new() };
    let mut keys = BTreeMap::new();
    let secret = key(0).to_hex();
    let (name, broker_lines) = ("name = 'device-0'", format!("[broker]\nport = {port}\n"));
    let member = format!("{name}\nidentity = 'a.key'\nsecret = '{}'\nresume = true\n", *secret);
    folder.file("member.toml", &(member + &broker_lines));
    let mut process = MemberProcess::start(&folder);
    (1..FOUNDERS).for_each(|number| group.arrive(number));
    let staying: Vec<u32> = (1..FOUNDERS).collect();
    group.agree(&staying, &mut keys);
    process.await_epoch(Epoch(1));

    process.kill();
    let promised = service.evict(1).promised().expect("it lives");
    group.agree(&staying[1..], &mut keys);
    let mut process = MemberProcess::start(&folder);
    process.await_epoch(promised);

    drop(broker);
    let _broker = mosquitto_at(TEST, port, "").expect("it was there before");
    let promised = service.evict(2).promised().expect("it lives");
    let (epoch, _) = group.agree(&staying[2..], &mut keys);
    assert!(epoch >= promised);
    process.await_epoch(promised);
    process.kill();
}

/// A wrong path: the second service has the first one's identity and client identifier, and an empty
/// store.
#[test]
fn a_second_service_with_an_empty_store_ends_and_the_first_goes_on() {
    let Some((port, _broker)) = mosquitto("a_second_service") else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let folder = Folder::new();
    let good = format!("identity = \"service.key\"\n{}", settings(port));
    folder.file("serve.toml", &good);
    folder.file("wrong.toml", &good.replace("group.redb", "empty.redb"));
    let service = Service::start(&folder);
    let mut group = Group { port, service_key: service.public, members: BTreeMap::new() };
    let mut keys = BTreeMap::new();
    let staying: Vec<u32> = (1..FOUNDERS).collect();
    (0..FOUNDERS).for_each(|number| group.arrive(number));
    let all: Vec<u32> = (0..FOUNDERS).collect();
    group.agree(&all, &mut keys);
    service.evict(0).promised().expect("it lives");
    let (epoch, _) = group.agree(&staying, &mut keys);

    let second = groupkey_in(folder.path(), &["serve", "--config", "wrong.toml"]);
    assert_eq!(second.code, 1, "{}", second.stderr);
    for part in ["the store has no group", "15 members", "--found"] {
        assert!(second.stderr.contains(part), "{}", second.stderr);
    }
    service.evict(1).promised().expect("it lives");
    let (later, _) = group.agree(&staying[1..], &mut keys);
    assert_eq!(later, epoch.next());
}

struct MemberProcess {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl MemberProcess {
    fn start(folder: &Folder) -> Self {
        let mut process = Command::new(GROUPKEY)
            .args(["member", "--config", "member.toml", "--json"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let lines = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { process, lines }
    }

    /// Reads what it says until it has the key of this epoch.
    fn await_epoch(&mut self, epoch: Epoch) {
        let lines = self.lines.by_ref().lines().map_while(Result::ok);
        let mut events = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
        let has = |event: &Value| event["epoch"].as_u64().is_some_and(|it| it >= epoch.0);
        let is_there = |event: &Value| event["event"] == "epoch" && has(event);
        assert!(events.any(|event| is_there(&event)), "it ended before epoch {epoch}");
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for MemberProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

struct Service {
    process: Child,
    lines: Receiver<String>,
    public: [u8; 32],
    goes_on: Epoch,
    address: String,
}

impl Service {
    /// Starts it and waits until it is connected.
    fn start(folder: &Folder) -> Self {
        let mut process = Command::new(GROUPKEY)
            .args(["serve", "--config", "serve.toml"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut service =
            Self { process, lines, public: [0; 32], goes_on: Epoch(0), address: String::new() };
        loop {
            let line = service.lines.recv_timeout(PATIENCE).expect("it says that it is connected");
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["connected"] => return service,
                [address] if address.starts_with("http://") => service.address = line,
                ["service", public] => service.public = bytes_from_hex(public).expect("hex"),
                ["continues", "in", "epoch", epoch, ..] => {
                    service.goes_on = Epoch(epoch.parse().expect("a number"));
                }
                _ => {}
            }
        }
    }

    /// Asks it to evict a device, and does not wait.
    fn evict(&self, number: u32) -> Asked {
        let host = self.address.strip_prefix("http://").expect("an address");
        let mut stream = TcpStream::connect(host).expect("it listens");
        let request = format!(
            "POST /api/v1/groups/1/members/device-{number}/evict HTTP/1.1\r\nHost: {host}\r\n\
             Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        Asked(stream)
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }
}

/// A request whose answer is still to come.
struct Asked(TcpStream);

impl Asked {
    fn promised(mut self) -> Option<Epoch> {
        let mut answer = String::new();
        let _ = self.0.read_to_string(&mut answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        let outcome: OperationResultView = serde_json::from_str(body).ok()?;
        outcome.epoch.map(Epoch)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The members, which live in this process.
struct Group {
    port: u16,
    service_key: [u8; 32],
    members: BTreeMap<u32, Running<Member>>,
}

impl Group {
    fn arrive(&mut self, number: u32) {
        let settings = member::MemberSettings {
            prefix: "groupkey/1".to_owned(),
            name: format!("device-{number}"),
            identity: Secret::from_bytes([number as u8 + 100; 32]),
            shared: Some(key(number)),
            service: Some(self.service_key),
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        };
        let connection = Connection::new("127.0.0.1", self.port, format!("device-{number}"));
        let member = Member::new(settings).expect("the settings are good");
        self.members.insert(number, run(member, connection));
    }

    fn key_of(&self, number: u32) -> Option<(Epoch, Key)> {
        let handle: &Handle<Member> = &self.members[&number].handle;
        let held =
            handle.call(|member, _, _| member.group_key().map(|(epoch, key)| (epoch, key.clone())));
        tokio::runtime::Handle::current().block_on(held).expect("the member lives")
    }

    /// Takes down who has what: no epoch has two keys.
    fn look(&self, keys: &mut BTreeMap<Epoch, Key>) {
        for &number in self.members.keys() {
            if let Some((epoch, key)) = self.key_of(number) {
                let known = keys.entry(epoch).or_insert_with(|| key.clone());
                assert_eq!(*known, key, "epoch {epoch} has two keys");
            }
        }
    }

    /// Waits until these have the same key, and nobody else has it.
    fn agree(&self, numbers: &[u32], keys: &mut BTreeMap<Epoch, Key>) -> (Epoch, Key) {
        let begin = Instant::now();
        loop {
            self.look(keys);
            let held: BTreeMap<u32, _> =
                self.members.keys().map(|&number| (number, self.key_of(number))).collect();
            let first = held[&numbers[0]].clone();
            let agreed = held.iter().all(|(number, key)| {
                numbers.contains(number) == (*key == first) && first.is_some()
            });
            if let Some(first) = first.filter(|_| agreed) {
                return first;
            }
            let epochs: Vec<_> =
                held.iter().map(|(id, key)| (id, key.as_ref().map(|key| key.0.0))).collect();
            assert!(begin.elapsed() < PATIENCE, "no agreement of {numbers:?}: {epochs:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn settings(port: u16) -> String {
    let mut settings = format!(
        "store = \"group.redb\"\n[broker]\nport = {port}\n[group]\nfounders = {FOUNDERS}\n\
         batch_ms = 10\n[http]\nlisten = \"127.0.0.1:0\"\ntoken = \"{TOKEN}\"\n"
    );
    for number in 0..FOUNDERS + MOST_KILLS {
        let key = key(number).to_hex();
        writeln!(settings, "[[device]]\nname = \"device-{number}\"\nkey = \"{}\"", *key)
            .expect("strings grow");
    }
    settings
}

const TOKEN: &str = "abababababababababababababababababababababababababababababababab";

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}

/// Far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);
