//! A live group under load: `groupkey serve`, Mosquitto, and all members in this process, on loopback.
//!
//! Joins and leaves come one after the other, and many at once. The last line is what the primitives cost:
//! of a join, the service verifies two signatures, makes three, and computes two keys with X25519; of a leave,
//! it makes one for the member that leaves, and two for each change. Processor times are from `/proc`, so it
//! runs on Linux. It needs `mosquitto` on the path.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use ed25519_dalek::{Signer, SigningKey};
use groupkey_mqtt::driver::{Connection, Running, run};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{Member, MemberSettings};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use x25519_dalek::{PublicKey, StaticSecret};

/// Joins and leaves of a live group on loopback: how many a second, and whose processor time.
#[derive(Parser)]
struct Arguments {
    /// The command groupkey, built with --release
    #[arg(long, value_name = "FILE")]
    groupkey: PathBuf,
    /// Members of the group
    #[arg(long, default_value_t = 100)]
    members: u32,
    /// The scheme
    #[arg(long, default_value = "lkh-group")]
    scheme: String,
    /// Joins and leaves one after the other
    #[arg(long, default_value_t = 10)]
    single: u32,
    /// Joins and leaves at once: less than members
    #[arg(long, default_value_t = 64)]
    burst: u32,
    /// How devices are known to the service
    #[arg(long, default_value = "keys", value_parser = ["keys", "tokens"])]
    known_by: String,
    /// How many requests to evict are on the way at once
    #[arg(long, default_value_t = 8)]
    operators: usize,
    /// How many members each of these requests evicts
    #[arg(long, default_value_t = 1)]
    list: usize,
    /// End the members before the joins and leaves at once: what service and broker do by themselves
    #[arg(long)]
    alone: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let house = House::new(&arguments);
    house.measure("found", arguments.members, || {
        house.join(0..arguments.members);
        house.wait(arguments.members, 1);
    });
    thread::sleep(Duration::from_secs(2));
    let mut present = 0..arguments.members;
    house.measure("leave, one after the other", arguments.single, || {
        for _ in 0..arguments.single {
            house.evict(vec![present.start], 1, 1);
            present.start += 1;
            house.wait(present.len() as u32, house.service_epoch());
        }
    });
    house.measure("join, one after the other", arguments.single, || {
        for _ in 0..arguments.single {
            let epoch = house.service_epoch();
            house.join(present.end..present.end + 1);
            present.end += 1;
            house.wait(present.len() as u32, epoch + 1);
        }
    });
    if arguments.alone {
        house.end_members();
    }
    let mut alive = if arguments.alone { 0 } else { present.len() as u32 };
    house.measure("joins at once", arguments.burst, || {
        house.join(present.end..present.end + arguments.burst);
        present.end += arguments.burst;
        alive += arguments.burst;
        house.wait(alive, 1);
    });
    thread::sleep(Duration::from_secs(2));
    if arguments.alone {
        house.end_members();
    }
    house.measure("leaves at once", arguments.burst, || {
        let leaving = present.start..present.start + arguments.burst;
        present.start += arguments.burst;
        house.evict(leaving.collect(), arguments.operators, arguments.list);
        if !arguments.alone {
            house.wait(present.len() as u32, house.service_epoch());
        }
    });
    println!("{}", primitives());
}

/// Returns the shortest times of a signature, its verification and an agreement, in us.
fn primitives() -> Value {
    let (signer, message) = (SigningKey::from_bytes(&[7; 32]), [1; 200]);
    let (signature, key) = (signer.sign(&message), signer.verifying_key());
    let (secret, public) = (StaticSecret::from([3; 32]), PublicKey::from([9; 32]));
    json!({
        "what": "primitives",
        "us": {
            "sign": shortest(|| signer.sign(&message)),
            "verify": shortest(|| key.verify_strict(&message, &signature).is_ok()),
            "x25519": shortest(|| secret.diffie_hellman(&public)),
        },
    })
}

/// Returns the shortest of many times, us: others use the processors, too.
fn shortest<T>(mut act: impl FnMut() -> T) -> f64 {
    let times = (0..2_000).map(|_| {
        let began = Instant::now();
        std::hint::black_box(act());
        began.elapsed().as_secs_f64() * 1e6
    });
    round(times.fold(f64::INFINITY, f64::min))
}

/// The broker, the service and the members.
struct House {
    folder: tempfile::TempDir,
    broker: Child,
    service: Child,
    ports: [u16; 2],
    token: String,
    known_by: String,
    runtime: Runtime,
    /// The epoch of each member that has a key.
    epochs: Arc<Mutex<BTreeMap<u32, u64>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl House {
    fn new(arguments: &Arguments) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ports = [free_port(), free_port()];
        let token = hex(9, 9);
        let path = |name: &str| folder.path().join(name);
        let broker = format!(
            "listener {} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n\
             max_inflight_messages 0\nset_tcp_nodelay true\n",
            ports[0]
        );
        fs::write(path("mosquitto.conf"), broker).expect("a file");
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
        };
        let broker = quiet(Command::new("mosquitto").arg("-c").arg(path("mosquitto.conf")));
        wait_for(ports[0]);
        fs::write(path("serve.toml"), settings(arguments, ports, &token)).expect("a file");
        let service = quiet(
            Command::new(&arguments.groupkey).arg("serve").arg("--config").arg(path("serve.toml")),
        );
        wait_for(ports[1]);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("threads");
        let (known_by, epochs, tasks) =
            (arguments.known_by.clone(), Arc::default(), Mutex::default());
        Self { folder, broker, service, ports, token, known_by, runtime, epochs, tasks }
    }

    /// Does something, and prints how long it took and whose processor time.
    fn measure(&self, what: &str, operations: u32, act: impl FnOnce()) {
        let times =
            || [self.service.id(), self.broker.id(), std::process::id()].map(processor_seconds);
        let (before, began) = (times(), Instant::now());
        act();
        let (after, elapsed) = (times(), began.elapsed().as_secs_f64());
        let each = |index: usize| {
            round((after[index] - before[index]) * 1e3 / f64::from(operations.max(1)))
        };
        let line = json!({
            "what": what,
            "operations": operations,
            "per_s": round(f64::from(operations) / elapsed),
            "cpu_ms_each": { "service": each(0), "broker": each(1), "members": each(2) },
            "service_mb": round(resident_mb(self.service.id())),
        });
        println!("{line}");
    }

    fn join(&self, devices: std::ops::Range<u32>) {
        for device in devices {
            let shared = match &*self.known_by {
                "tokens" => secret(3, device),
                _ => secret(2, device),
            };
            let member = Member::new(MemberSettings {
                prefix: "groupkey/1".to_owned(),
                name: name(device),
                identity: secret(1, device),
                shared: Some(shared),
                service: None,
                allowed: Default::default(),
                messages: Default::default(),
                freshness: Default::default(),
            });
            let connection = Connection::new("127.0.0.1", self.ports[0], name(device));
            let epochs = Arc::clone(&self.epochs);
            let _inside = self.runtime.enter();
            let mut running = run(member.expect("valid settings"), connection);
            let follow = async move {
                // The member ends when its handle is dropped.
                let Running { handle: _handle, events, .. } = &mut running;
                while let Some(event) = events.recv().await {
                    let mut epochs = epochs.lock().expect("no panic");
                    match event {
                        MemberEvent::Rekeyed(epoch) => {
                            epochs.insert(device, epoch.0);
                        }
                        MemberEvent::Evicted => {
                            epochs.remove(&device);
                            break;
                        }
                        _ => {}
                    }
                }
            };
            self.tasks.lock().expect("no panic").push(self.runtime.spawn(follow));
        }
    }

    /// Ends the members. The group keeps them: they might come back.
    fn end_members(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().expect("no panic"));
        for task in tasks {
            task.abort();
            let _ = self.runtime.block_on(task);
        }
        self.epochs.lock().expect("no panic").clear();
    }

    /// Waits until so many members have a key, of this epoch or a later one.
    fn wait(&self, members: u32, epoch: u64) {
        let end = Instant::now() + Duration::from_secs(300);
        let are_there = || {
            let epochs = self.epochs.lock().expect("no panic");
            let current = epochs.values().filter(|&&reached| reached >= epoch).count();
            epochs.len() == members as usize && current == members as usize
        };
        while !are_there() {
            assert!(Instant::now() < end, "not all members have the key after 300 s");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Evicts devices: so many requests at once, with so many names each.
    fn evict(&self, devices: Vec<u32>, at_once: usize, list: usize) {
        let lists: Vec<_> = devices.chunks(list.max(1)).collect();
        let waiting = Mutex::new(lists);
        thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| {
                    loop {
                        let next = waiting.lock().expect("no panic").pop();
                        let Some(devices) = next else { break };
                        self.evict_list(devices);
                    }
                });
            }
        });
    }

    fn evict_list(&self, devices: &[u32]) {
        let names: Vec<_> = devices.iter().copied().map(name).collect();
        let (status, body) = match &*names {
            [name] => self.ask("POST", &format!("/api/v1/groups/1/members/{name}/evict"), ""),
            names => {
                let request = json!({ "names": names }).to_string();
                self.ask("POST", "/api/v1/groups/1/evictions", &request)
            }
        };
        assert_eq!(status, 200, "{body}");
        assert!(!body.contains("\"evicted\":false"), "{body}");
    }

    fn service_epoch(&self) -> u64 {
        let (_, body) = self.ask("GET", "/api/v1/groups/1", "");
        let group: Value = serde_json::from_str(&body).unwrap_or_default();
        group["epoch"].as_u64().unwrap_or_default()
    }

    fn ask(&self, method: &str, path: &str, content: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[1])).expect("the service");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{content}",
            self.token,
            content.len()
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer.split_whitespace().nth(1).and_then(|code| code.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or_default(), body.to_owned())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.tasks.lock().expect("no panic").iter().for_each(JoinHandle::abort);
        for child in [&mut self.service, &mut self.broker] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.folder.path();
    }
}

fn settings(arguments: &Arguments, [mqtt, http]: [u16; 2], token: &str) -> String {
    let Arguments { members, scheme, single, burst, known_by, .. } = arguments;
    let devices = members + single + burst;
    let tokens: Vec<_> = (0..devices).map(|device| format!("\"{}\"", hex(3, device))).collect();
    let tokens = if known_by == "tokens" { tokens.join(", ") } else { String::new() };
    let mut text = format!(
        "store = \"group.redb\"\nallow_open_files = true\ntokens = [{tokens}]\n\
         [broker]\nport = {mqtt}\n[group]\nscheme = \"{scheme}\"\nfounders = {members}\n\
         [http]\nlisten = \"127.0.0.1:{http}\"\ntoken = \"{token}\"\n"
    );
    if known_by == "keys" {
        for device in 0..devices {
            let (name, key) = (name(device), hex(2, device));
            text += &format!("[[device]]\nname = \"{name}\"\nkey = \"{key}\"\n");
        }
    }
    text
}

fn name(device: u32) -> String {
    format!("device-{device}")
}

fn secret(kind: u8, device: u32) -> Secret {
    let mut bytes = [kind; 32];
    bytes[..4].copy_from_slice(&device.to_be_bytes());
    Secret::from_bytes(bytes)
}

fn hex(kind: u8, device: u32) -> String {
    secret(kind, device).to_hex().to_string()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("it is bound").port()
}

fn wait_for(port: u16) {
    let end = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "nothing listens on port {port}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Processor time of a process, s: of its threads as they run now, in ns, or of all that it ever had, in
/// hundredths. The service and the broker keep theirs.
fn processor_seconds(process: u32) -> f64 {
    if process == std::process::id() {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
        return ticks.sum::<f64>() / 100.0;
    }
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let times = threads.filter_map(|thread| {
        let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e9
}

fn resident_mb(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1_024.0
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
