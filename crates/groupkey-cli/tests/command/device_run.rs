//! `groupkey device run`: emulated devices in a group with hosts, over a real broker.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use groupkey::catalogue;
use groupkey_lab::device::Target;
use groupkey_mqtt::device_settings::DeviceSettings;
use groupkey_mqtt::driver::{Connection, Running, fresh_rng, now, run};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::{Secret, hex};
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{GroupForm, Member, Policy, Service, member};
use serde_json::Value;

use crate::broker::mosquitto;
use crate::finished::{Folder, GROUPKEY, groupkey, groupkey_in, or_skip};

/// Three devices on two architectures, and two hosts. The group changes fifty times in all: some
/// while a device's network is cut, and some after another device was reset and resumed.
#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn devices_live_in_a_group_with_hosts() {
    const TEST: &str = "devices_live_in_a_group_with_hosts";
    let Some(()) = emulators(TEST) else { return };
    let Some((port, _mosquitto)) = mosquitto(TEST) else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let mut group = Group::new(port);
    let mut devices = [
        group.device("arm-1", "cortex-m4"),
        group.device("riscv-1", "rv32imac"),
        group.device("arm-2", "cortex-m4"),
    ];
    // The first of them builds the firmware.
    devices.iter_mut().for_each(|device| drop(device.event("identity")));
    let mut host = group.host("host-1");
    devices.iter_mut().for_each(|device| drop(device.event("joined")));
    group.host_comes_and_goes(10);
    group.agree(&mut devices);

    // Messages go both ways.
    group.say(&host, b"slippery road");
    devices.iter_mut().for_each(|device| device.hears("slippery road"));
    for device in &mut devices {
        let text = format!("{} has seen it", device.name);
        device.say(&text);
        group.hears(&mut host, text.as_bytes());
    }

    // A device is cut off for longer than the broker keeps rekey messages.
    devices[1].monitor("set_link net off");
    group.host_comes_and_goes(5);
    sleep(EXPIRY);
    group.host_comes_and_goes(2);
    let (apart, others): (Vec<_>, Vec<_>) =
        devices.iter_mut().partition(|device| device.name == "riscv-1");
    let behind = group.epoch();
    others.into_iter().for_each(|device| device.reaches(behind));
    for device in apart {
        device.catch_up_with_its_events();
        assert!(device.epoch < behind, "the network was not cut");
        device.monitor("set_link net on");
        device.reaches(behind);
        device.say("I am back");
    }
    group.hears(&mut host, b"I am back");

    // Another is reset. It has its identity and its membership in flash, and resumes: the key stays.
    let (identity, epoch) = (devices[2].identity.clone(), group.epoch());
    devices[2].monitor("quit");
    devices[2].ends();
    devices[2] = group.device("arm-2", "cortex-m4");
    assert_eq!(devices[2].event("identity")["public"], identity.as_str());
    devices[2].event("resumed");
    devices[2].reaches(epoch);
    assert_eq!(group.epoch(), epoch);
    while group.epoch() < FOUNDED + CHANGES {
        group.host_comes_and_goes(1);
    }
    group.agree(&mut devices);
    group.say(&host, b"clear road");
    devices.iter_mut().for_each(|device| device.hears("clear road"));

    // The group evicts a device.
    group.evict("arm-1");
    assert_eq!(devices[0].ends(), 3);
    devices.iter().for_each(Device::needs_what_is_documented);
}

/// A first start that was cut off in the middle of a write leaves half an identity, which nobody
/// has seen. The device draws another, and keeps that.
#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_torn_identity_is_drawn_anew() {
    const TEST: &str = "a_torn_identity_is_drawn_anew";
    let Some(()) = emulators(TEST) else { return };
    let folder = Folder::new();
    folder.file("psk", &"ab".repeat(32));
    // Nobody is there: the device does not get further than its identity.
    let start = || {
        let mut device =
            Device::start(folder.path(), "a", "cortex-m4", &["--broker", "127.0.0.1:1"]);
        device.event("identity")["public"].to_string()
    };
    let first = start();
    assert_eq!(start(), first);
    let path = folder.path().join("a.flash");
    let mut flash = fs::read(&path).expect("it is there");
    let log = Target::CortexM4.flash().sector..flash.len();
    let written = |byte: &u8| *byte != 0xFF;
    let begin = log.start + flash[log.clone()].iter().position(written).expect("it is written");
    let end = begin + flash[begin..].iter().rposition(written).expect("it is written");
    flash[(begin + end) / 2..=end].fill(0xFF);
    fs::write(&path, flash).expect("it is ours");
    let second = start();
    assert_ne!(second, first);
    assert_eq!(start(), second);
}

#[test]
fn what_no_device_can_use_is_refused_before_it_is_built() {
    let folder = Folder::new();
    folder.file("psk", &"ab".repeat(32));
    folder.file("short", "abcd");
    folder.file("a.flash", "precious");
    for (arguments, told) in [
        ("--target z80 --name a --psk psk", "cortex-m4"),
        ("--target riscv32 --name a", "--psk"),
        ("--target riscv32 --name a/b --psk psk", "a name has"),
        ("--target riscv32 --name a --psk missing", "missing"),
        ("--target riscv32 --name a --psk short", "64 hexadecimal digits"),
        ("--target riscv32 --name a --service-key abcd", "64 hexadecimal digits"),
        ("--target riscv32 --name a --psk psk --broker 192.0.2.1:1883", "--allow-plain"),
        ("--target riscv32 --name a --psk psk --broker 127.0.0.1", "HOST:PORT"),
        ("--target riscv32 --name a --psk psk --prefix a/+", "a prefix has"),
        ("--target cortex-m4 --name a --psk psk", "no flash of this device"),
        ("--target cortex-m4 --name b --psk psk", "a clone of the repository"),
        ("--target cortex-m4 --name a --psk psk --user u", "--password"),
        ("--target cortex-m4 --name a --psk psk --scheme tgdh", "cannot run tgdh"),
    ] {
        let mut words = vec!["device", "run"];
        words.extend(arguments.split(' '));
        let refused = groupkey_in(folder.path(), &words);
        assert_eq!(refused.code, 2, "{arguments}: {refused:?}");
        assert!(refused.stderr.contains(told), "{arguments}: {}", refused.stderr);
    }
    let long = format!("device run --target riscv32 --name a --psk x --say {}", "x".repeat(1_025));
    assert!(groupkey(&long).stderr.contains("1,024 bytes"));
}

/// A scheme that is not among those that the firmware links without being asked.
#[test]
#[ignore = "builds the firmware once more, which takes minutes"]
fn a_device_runs_the_scheme_that_it_was_built_for() {
    const TEST: &str = "a_device_runs_the_scheme_that_it_was_built_for";
    let Some(()) = emulators(TEST) else { return };
    let Some((port, _mosquitto)) = mosquitto(TEST) else { return };
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let mut group = Group::of(port, "ofct", 2);
    let mut device = group.device_with("arm-1", "cortex-m4", &["--scheme", "ofct"]);
    device.event("identity");
    let mut host = group.host("host-1");
    device.event("joined");
    group.host_comes_and_goes(3);
    group.agree(std::slice::from_mut(&mut device));
    device.say("ofct on a device");
    group.hears(&mut host, b"ofct on a device");
}

/// A service and its hosts.
struct Group {
    port: u16,
    folder: Folder,
    service: Running<Service>,
    public: [u8; 32],
    newcomers: u32,
}

impl Group {
    fn new(port: u16) -> Self {
        Self::of(port, "lkh-group", 4)
    }

    fn of(port: u16, scheme: &str, founders: usize) -> Self {
        let form = GroupForm::of(catalogue::scheme(scheme).expect("it is there"));
        let mut policy = Policy { founders, prefix: PREFIX.to_owned(), ..Policy::of(form) };
        policy.rekey_expiry_s = 1;
        let names = ["arm-1", "riscv-1", "arm-2", "host-1"].map(str::to_owned);
        policy.keys = names
            .into_iter()
            .chain((0..CHANGES as u32).map(newcomer))
            .map(|name| (name, key()))
            .collect();
        let mut rng = fresh_rng().expect("there is randomness");
        let service = Service::open(policy, Box::new(MemoryStore::default()), now(), &mut rng)
            .expect("the service opens");
        let public = service.public();
        let service = run(service, Connection::new("127.0.0.1", port, "service"));
        let folder = Folder::new();
        folder.file("psk", &key().to_hex());
        Self { port, folder, service, public, newcomers: 0 }
    }

    fn device(&self, name: &str, target: &str) -> Device {
        self.device_with(name, target, &[])
    }

    fn device_with(&self, name: &str, target: &str, more: &[&str]) -> Device {
        let (broker, key) = (format!("127.0.0.1:{}", self.port), hex(&self.public));
        let arguments =
            ["--broker", &broker, "--prefix", PREFIX, "--service-key", &key, "--monitor", name];
        Device::start(self.folder.path(), name, target, &[&arguments[..], more].concat())
    }

    fn host(&self, name: &str) -> Running<Member> {
        let settings = member::MemberSettings {
            prefix: PREFIX.to_owned(),
            name: name.to_owned(),
            identity: Secret::random().expect("there is randomness"),
            shared: Some(key()),
            service: Some(self.public),
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        };
        run(
            Member::new(settings).expect("it can join"),
            Connection::new("127.0.0.1", self.port, name),
        )
    }

    /// A host joins and is evicted, so many times. Each time that is two changes.
    fn host_comes_and_goes(&mut self, times: u32) {
        for _ in 0..times {
            let before = self.epoch();
            let name = newcomer(self.newcomers);
            self.newcomers += 1;
            let mut host = self.host(&name);
            wait_for("the newcomer joins", || self.epoch() > before);
            let joined = async {
                while let Some(event) = host.events.recv().await {
                    if matches!(event, MemberEvent::Rekeyed(_)) {
                        return;
                    }
                }
            };
            block_on(joined);
            self.evict(&name);
            wait_for("the newcomer goes", || self.epoch() > before + 1);
        }
    }

    fn evict(&self, name: &str) {
        let name = name.to_owned();
        let evicted = self.service.handle.call(move |service, now, rng| {
            service.evict(&name, now, rng).map_err(|error| error.to_string())
        });
        block_on(evicted).expect("the service runs").expect("it is a member");
    }

    fn epoch(&self) -> u64 {
        let epoch =
            self.service.handle.call(|service, _, _| service.group_key().map_or(0, |key| key.0.0));
        block_on(epoch).expect("the service runs")
    }

    fn agree(&self, devices: &mut [Device]) {
        let epoch = self.epoch();
        devices.iter_mut().for_each(|device| device.reaches(epoch));
    }

    fn say(&self, host: &Running<Member>, text: &'static [u8]) {
        let said = host.handle.call(move |member, now, rng| member.say(text, now, rng).is_ok());
        assert_eq!(block_on(said), Some(true));
    }

    fn hears(&self, host: &mut Running<Member>, text: &[u8]) {
        let heard = async {
            while let Some(event) = host.events.recv().await {
                if matches!(event, MemberEvent::Heard(received) if received.content == text) {
                    return;
                }
            }
            panic!("the host ended");
        };
        block_on(heard);
    }
}

struct Device {
    name: String,
    target: String,
    process: Child,
    input: ChildStdin,
    events: Receiver<Value>,
    monitor: PathBuf,
    identity: String,
    epoch: u64,
    memory: Option<Value>,
}

impl Device {
    fn start(folder: &Path, name: &str, target: &str, arguments: &[&str]) -> Self {
        let firmware = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware");
        let mut process = Command::new(GROUPKEY)
            .args(["device", "run", "--json", "--target", target, "--name", name, "--psk", "psk"])
            .args(["--firmware", firmware])
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let input = process.stdin.take().expect("it is piped");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let (sender, events) = channel();
        thread::spawn(move || {
            let read = |line: String| serde_json::from_str(&line).expect("each line is an object");
            lines.map_while(Result::ok).all(|line| sender.send(read(line)).is_ok())
        });
        let (name, target, monitor) = (name.to_owned(), target.to_owned(), folder.join(name));
        let (identity, epoch, memory) = (String::new(), 0, None);
        Self { name, target, process, input, events, monitor, identity, epoch, memory }
    }

    /// Waits for the next event of this kind.
    fn event(&mut self, kind: &str) -> Value {
        self.until(kind, |_, event| (event["event"] == kind).then(|| event.clone()))
    }

    fn reaches(&mut self, epoch: u64) {
        if self.epoch < epoch {
            self.until("a later epoch", |device, _| (device.epoch >= epoch).then_some(()));
        }
    }

    fn hears(&mut self, text: &str) {
        self.until(text, |_, event| (event["text"] == text).then_some(()));
    }

    /// Takes the events that are there.
    fn catch_up_with_its_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.note(&event);
        }
    }

    fn note(&mut self, event: &Value) {
        match event["event"].as_str() {
            Some("epoch") => self.epoch = event["epoch"].as_u64().expect("it is a number"),
            Some("identity") => {
                self.identity = event["public"].as_str().expect("it is text").to_owned();
            }
            Some("memory") => self.memory = Some(event.clone()),
            _ => {}
        }
    }

    fn until<T>(&mut self, what: &str, found: impl Fn(&Self, &Value) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|_| {
                panic!("{} waits for {what} in epoch {}", self.name, self.epoch)
            });
            self.note(&event);
            if let Some(found) = found(self, &event) {
                return found;
            }
        }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.input, "{text}").expect("it reads");
    }

    /// Compares what the program needs of a chip with the table in `docs/boards.md`.
    fn needs_what_is_documented(&self) {
        let memory = self.memory.as_ref().expect("it was printed");
        let bytes = |key: &str| memory[key].as_f64().expect("it is a number");
        let ram = ["static_bytes", "heap_bytes", "stack_bytes"];
        let all = ram.map(bytes).iter().sum();
        let needed = [bytes("flash_bytes")].into_iter().chain(ram.map(bytes)).chain([all]);
        let needed: Vec<f64> = needed.map(|bytes| bytes / 1024.0).collect();
        eprintln!("{}, {}, KiB: {needed:.1?}", self.name, self.target);
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/boards.md");
        let page = fs::read_to_string(page).expect("the page");
        let begin = format!("| `{}` |", self.target);
        let table = page.split("<!-- live -->").nth(1).expect("the table is marked");
        let row = table.lines().find_map(|line| line.strip_prefix(&begin)).expect("a row");
        let documented = row.trim_end_matches('|').split('|').map(str::trim);
        for (needed, documented) in needed.iter().zip(documented) {
            let documented: f64 = documented.parse().expect("a number");
            let difference = (needed - documented).abs();
            assert!(
                difference <= documented * TOLERANCE,
                "{}: {needed:.1}, not {documented}",
                self.target
            );
        }
    }

    fn monitor(&self, command: &str) {
        let mut monitor = UnixStream::connect(&self.monitor).expect("the emulator runs");
        monitor.write_all(format!("{command}\n").as_bytes()).expect("it reads");
        // The monitor reads the command before it notices that nobody is there any more.
        sleep(Duration::from_millis(200));
    }

    /// Waits until the command has ended, and returns its exit code.
    fn ends(&mut self) -> i32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it is ours") {
                return status.code().unwrap_or(-1);
            }
            assert!(begin.elapsed() < PATIENCE, "{} does not end", self.name);
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Ctrl-C, so that the command ends the emulator. A process that has ended gets nothing.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
            let _ = self.process.wait();
        }
    }
}

fn emulators(test: &str) -> Option<()> {
    or_skip(test, Target::ALL.into_iter().try_for_each(Target::check_tools))
}

fn wait_for(what: &str, mut has_happened: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !has_happened() {
        assert!(begin.elapsed() < PATIENCE, "{what} in vain");
        sleep(Duration::from_millis(20));
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let bounded =
        async { tokio::time::timeout(PATIENCE, future).await.expect("it happens in time") };
    tokio::runtime::Handle::current().block_on(bounded)
}

fn newcomer(number: u32) -> String {
    format!("newcomer-{number}")
}

fn key() -> Secret {
    Secret::from_bytes([7; 32])
}

const PREFIX: &str = "t/devices";

/// The epoch of the founding, and how many changes follow.
const FOUNDED: u64 = 1;
const CHANGES: u64 = 50;

/// Another compiler makes other instructions, and other messages take other room.
const TOLERANCE: f64 = 0.1;

/// Longer than the broker keeps rekey messages.
const EXPIRY: Duration = Duration::from_secs(2);

/// Far longer than an idle machine needs, also to build the firmware.
const PATIENCE: Duration = Duration::from_secs(400);

/// A board finds in its flash what was written for it. Nothing is built or run.
#[test]
fn settings_of_a_board_are_written_alone() {
    let folder = Folder::new();
    folder.file("psk", &"7".repeat(64));
    let mut words = vec!["device", "run", "--settings-only", "--target", "rv32imac"];
    words.extend(["--name", "truck-7", "--psk", "psk", "--allow-plain", "--broker"]);
    let here = groupkey_in(folder.path(), &[&words[..], &["127.0.0.1:1883"]].concat());
    assert!(here.code == 2 && here.stderr.contains("does not reach"), "{here:?}");
    groupkey_in(folder.path(), &[&words[..], &["192.0.2.1:1884"]].concat()).success();
    let flash = fs::read(folder.path().join("truck-7.flash")).expect("it was written");
    let settings = DeviceSettings::read(&flash).expect("a record is there");
    assert_eq!((settings.address, settings.port), ([192, 0, 2, 1], 1884));
    assert_eq!(settings.name, "truck-7");
}
