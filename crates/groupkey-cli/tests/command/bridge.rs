//! `groupkey bridge` between programs that nobody changed: `mosquitto_pub` and `mosquitto_sub`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use groupkey_testbed::mosquitto::Mosquitto;

use crate::broker::{mosquitto, three_mosquittos};
use crate::finished::{Folder, GROUPKEY, groupkey_in, or_skip};

/// A few seconds of the minute below.
#[test]
fn nothing_is_lost_across_kills_and_an_eviction() {
    let Some(house) = House::new("nothing_is_lost") else { return };
    house.carries(4_000);
}

#[test]
#[ignore = "long: a minute of 1,000 messages a second, across kills of both bridges and an eviction"]
fn nothing_is_lost_in_a_minute_of_a_thousand_messages_a_second() {
    let Some(house) = House::new("nothing_is_lost_in_a_minute") else { return };
    house.carries(60_000);
}

/// Whoever hears everything at the group's broker learns no topic and no payload.
#[test]
fn the_groups_broker_sees_neither_topics_nor_payloads() {
    let Some(house) = House::new("the_groups_broker_sees") else { return };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut spy = Program::start(house.program("mosquitto_sub", house.group, &["-t", "#", "-v"]));
    let mut output = spy.child.stdout.take().expect("it is piped");
    let kept = Arc::clone(&heard);
    thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            kept.lock().expect("nobody panicked").extend_from_slice(&bytes[..count]);
        }
    });
    let (_service, _member, _a, _b) = house.begin();
    let subscribe = ["-t", "plant/#", "-q", "1", "-v"];
    let subscriber = Program::follow(house.program("mosquitto_sub", house.b, &subscribe));
    let lines = subscriber.lines();
    subscriber.settle();
    for number in 0..20 {
        let payload = format!("the boiler has {number} degrees");
        let said = ["-t", "plant/boiler/temperature", "-q", "1", "-m", &payload];
        house.publish(house.a, &said);
    }
    for number in 0..20 {
        let line = lines.recv_timeout(PATIENCE).expect("b's program hears it");
        assert_eq!(line, format!("plant/boiler/temperature the boiler has {number} degrees"));
    }
    let heard = heard.lock().expect("nobody panicked");
    let has = |text: &str| heard.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("groupkey/1/talk"), "it heard {} bytes", heard.len());
    for clear in ["plant", "boiler", "temperature", "degrees"] {
        assert!(!has(clear), "{clear} is in clear");
    }
}

/// Both sides let everything pass. Still no message comes back.
#[test]
fn what_comes_from_the_group_does_not_go_back() {
    let Some(mut house) = House::new("does_not_go_back") else { return };
    house.rules = Rules { out: "#", topics: "#", from: "'any'" };
    let (_service, _member, _a, mut b) = house.begin();
    let subscribers = [house.a, house.b].map(|port| {
        let program = house.program("mosquitto_sub", port, &["-t", "#", "-q", "1", "-v"]);
        let program = Program::follow(program);
        (program.lines(), program)
    });
    subscribers[1].1.settle();
    house.publish(house.a, &["-t", "lamp", "-q", "1", "-r", "-m", "on"]);
    house.publish(house.b, &["-t", "door", "-q", "0", "-m", "open"]);
    sleep(Duration::from_secs(3));
    for (lines, _) in &subscribers {
        let mut heard: Vec<String> = lines.try_iter().collect();
        heard.sort();
        assert_eq!(heard, ["door open", "lamp on"]);
    }
    // It is retained on the other side, too, and does not come back from there either.
    let retained = ["-t", "#", "-C", "1", "-W", "10", "--retained-only", "-F", "%t %p %r"];
    let told = house.program("mosquitto_sub", house.b, &retained).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&told.stdout), "lamp on 1\n");
    b.kill();
    let b = house.bridge("b");
    b.wait_for("local: connected");
    sleep(Duration::from_secs(2));
    assert_eq!(subscribers[0].0.try_iter().count(), 0, "a retained message came back");
}

#[test]
fn what_no_rule_names_stays_where_it_is() {
    let Some(house) = House::new("what_no_rule_names") else { return };
    let (_service, _member, _a, b) = house.begin();
    let program = house.program("mosquitto_sub", house.b, &["-t", "#", "-q", "1", "-v"]);
    let subscriber = Program::follow(program);
    let lines = subscriber.lines();
    subscriber.settle();
    // It may leave a, and not come in at b; it may not leave a; and it may do both.
    for topic in ["plant/7/secret/x", "office/7", "plant/7/temperature"] {
        house.publish(house.a, &["-t", topic, "-q", "1", "-m", "1"]);
    }
    let heard = lines.recv_timeout(PATIENCE).expect("b's program hears it");
    assert_eq!(heard, "plant/7/temperature 1");
    b.wait_for("denied 1");
    assert!(lines.try_recv().is_err());
}

#[test]
fn mistakes_in_the_file_are_told_with_what_to_do() {
    let folder = Folder::new();
    let printed = groupkey_in(folder.path(), &["bridge", "--print-config"]).success();
    assert!(printed.contains("\n[[group]]\n"), "{printed}");
    folder.file("bridge.toml", &printed);
    let refused = groupkey_in(folder.path(), &["bridge", "--config", "bridge.toml"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("member.toml"), "{refused:?}");
    assert!(refused.stderr.contains("help: groupkey bridge --print-config"), "{refused:?}");
}

/// Every line of `docs/bridge.md` that a reader would type.
#[test]
fn the_first_hour_of_the_page_is_as_it_says() {
    let needed = ["mosquitto_pub", "openssl", "bash"].into_iter().find_map(|program| {
        let started = Command::new(program).arg("--help").stdout(Stdio::null()).status();
        started.err().map(|error| format!("{program}: {error}"))
    });
    let test = "the_first_hour_of_the_page";
    let Some(()) = or_skip(test, needed.map_or(Ok(()), Err)) else { return };
    // Whether Mosquitto itself is there.
    let Some(_) = mosquitto(test) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/bridge.md")).expect("the page is there");
    let blocks = |kind: &str| -> Vec<String> {
        let begin = format!("```{kind}\n");
        let parts = page.split(&begin).skip(1);
        parts
            .filter_map(|part| part.split_once("\n```").map(|(block, _)| block.to_owned()))
            .collect()
    };
    let mut script = format!("set -eu\ntrap 'kill $(jobs -p)' EXIT\n{}", blocks("sh").join("\n"));
    for port in ["1883", "1884", "1885"] {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        script = script.replace(port, &free.expect("there is a free port").port().to_string());
    }
    let folder = Folder::new();
    let own = Path::new(GROUPKEY).parent().expect("it is in a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new("timeout")
        .args(["120", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", format!("{own}:{path}:/usr/sbin"))
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let expected = blocks("text").pop().expect("the page says what appears");
    assert_eq!(said.trim_end(), expected, "{}", String::from_utf8_lossy(&ran.stderr));
    let heard = fs::read(folder.path().join("eavesdropper.txt")).expect("it listened");
    let has = |text: &str| heard.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("groupkey/1/talk") && !has("plant") && !has("celsius"));
}

/// The units name files and codes that the command has.
#[test]
fn the_units_of_systemd_start_what_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for command in ["bridge", "serve"] {
        let path = root.join(format!("docs/systemd/groupkey-{command}.service"));
        let unit = fs::read_to_string(path).expect("the unit is there");
        let start = format!("ExecStart=groupkey {command} --config /etc/groupkey/{command}.toml\n");
        assert!(
            unit.contains(&start) && unit.contains("\nRestartPreventExitStatus=2 3\n"),
            "{unit}"
        );
        let help = groupkey_in(&root, &[command, "--help"]).success();
        assert!(help.contains("--config <FILE>"), "{help}");
    }
}

/// Three brokers and the files of a group: a service, bridges `a` and `b`, and a member `c` that is
/// evicted.
struct House {
    folder: Folder,
    group: u16,
    a: u16,
    b: u16,
    rules: Rules,
    _brokers: [(u16, Mosquitto); 3],
}

/// What may leave either side, and come in.
struct Rules {
    out: &'static str,
    topics: &'static str,
    from: &'static str,
}

impl House {
    fn new(test: &str) -> Option<Self> {
        let brokers = three_mosquittos(test)?;
        let [group, a, b] = brokers.each_ref().map(|(port, _)| *port);
        let folder = Folder::new();
        let devices = ["a", "b", "c"].into_iter().enumerate().map(|(number, name)| {
            format!("[[device]]\nname = '{name}'\nkey = '{}'\n", key(number))
        });
        let service = format!(
            "store = 'group.redb'\n[group]\nfounders = 3\n[broker]\nport = {group}\n{}",
            devices.collect::<String>()
        );
        folder.file("serve.toml", &service);
        let rules = Rules { out: "plant/#", topics: "plant/+/temperature", from: "['other']" };
        Some(Self { folder, group, a, b, rules, _brokers: brokers })
    }

    /// Starts everything, and waits until both bridges have the group's key and their brokers.
    fn begin(&self) -> (Program, Program, Program, Program) {
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            let member = format!(
                "name = '{name}'\nidentity = '{name}.key'\nsecret = '{}'\n[broker]\nport = {}\n",
                key(number),
                self.group
            );
            self.folder.file(&format!("{name}.toml"), &member);
        }
        for (name, other, local) in [("a", "b", self.a), ("b", "a", self.b)] {
            let public =
                groupkey_in(self.folder.path(), &["member", "--public", &format!("{other}.key")]);
            let Rules { out, topics, from } = &self.rules;
            let bridge = format!(
                "[local]\nport = {local}\n[[group]]\nmember = '{name}.toml'\nout = ['{out}']\n\
                 to = ['other']\n[group.bridges]\nother = '{}'\n\
                 [[group.in]]\ntopics = ['{topics}']\nfrom = {from}\n",
                public.success().trim()
            );
            self.folder.file(&format!("{name}.bridge.toml"), &bridge);
        }
        let service = self.command(&["serve", "--config", "serve.toml"]);
        let member = self.command(&["member", "--config", "c.toml", "--json"]);
        let (a, b) = (self.bridge("a"), self.bridge("b"));
        for bridge in [&a, &b] {
            bridge.wait_for_all(&["epoch ", "local: connected"]);
        }
        (service, member, a, b)
    }

    fn bridge(&self, name: &str) -> Program {
        self.command(&["bridge", "--config", &format!("{name}.bridge.toml")])
    }

    fn command(&self, arguments: &[&str]) -> Program {
        let mut command = Command::new(GROUPKEY);
        command.args(arguments).current_dir(self.folder.path());
        Program::follow(command)
    }

    fn program(&self, name: &str, port: u16, arguments: &[&str]) -> Command {
        let mut command = Command::new(name);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string()]).args(arguments);
        command
    }

    fn publish(&self, port: u16, arguments: &[&str]) {
        let status = self.program("mosquitto_pub", port, arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
    }

    /// A program at a publishes 1,000 messages of 100 bytes a second, so many in all. One at b hears all
    /// of them, while both bridges are killed and a member is evicted.
    fn carries(&self, count: usize) {
        let (mut service, _member, mut a, mut b) = self.begin();
        let listen = |port: u16, client: &str| {
            let arguments = ["-t", "plant/#", "-q", "1", "-c", "-i", client];
            Listener::start(self.program("mosquitto_sub", port, &arguments))
        };
        let (clear, bridged) = (listen(self.a, "clear"), listen(self.b, "bridged"));
        let line = ["-t", "plant/7/temperature", "-q", "1", "-l"];
        let mut publisher = Program::start(self.program("mosquitto_pub", self.a, &line));
        let mut input: ChildStdin = publisher.child.stdin.take().expect("it is piped");
        let (mut said, mut text) = (Vec::with_capacity(count), String::new());
        let started = Instant::now();
        let mut down: Option<(&str, usize)> = None;
        let mut told = Vec::new();
        // The first quarter is quiet, for the latencies.
        let quiet = count / 4;
        for number in 0..count {
            let due = started + Duration::from_millis(number as u64);
            sleep(due.saturating_duration_since(Instant::now()));
            if number == quiet {
                told.extend(b.told());
                b.kill();
                down = Some(("b", number + 700));
            } else if number == count / 2 {
                service.says("evict c\n");
            } else if number == count * 3 / 4 {
                told.extend(a.told());
                a.kill();
                down = Some(("a", number + 700));
            }
            match down.filter(|(_, until)| *until == number) {
                Some(("a", _)) => a = self.bridge("a"),
                Some(_) => b = self.bridge("b"),
                None => {}
            }
            text.clear();
            let _ = writeln!(text, "{number:08}{:92}", "");
            said.push(Instant::now());
            input.write_all(text.as_bytes()).expect("it reads");
        }
        let took = started.elapsed();
        drop(input);
        let patience = Instant::now();
        while bridged.distinct() < count {
            if patience.elapsed() > PATIENCE {
                let (a, b) = (a.told(), b.told());
                panic!("{} of {count} came; a: {a:?}; b: {b:?}", bridged.distinct());
            }
            sleep(Duration::from_millis(20));
        }
        let late = patience.elapsed();
        let heard = bridged.heard();
        let (clear, through) = (clear.latencies(&said, quiet), bridged.latencies(&said, quiet));
        println!(
            "{count} messages of 100 bytes in {:.1} s; the last came {:.1} s later, {} came twice; \
             latency in ms, median and 99 %: in clear {:.1}, {:.1}; bridged {:.1}, {:.1}",
            took.as_secs_f64(),
            late.as_secs_f64(),
            heard.len() - count,
            clear.0,
            clear.1,
            through.0,
            through.1,
        );
        let mut seen = BTreeSet::new();
        let first: Vec<usize> =
            heard.iter().copied().filter(|number| seen.insert(*number)).collect();
        assert!(first.is_sorted() && first.len() == count, "each first came in its order");
        // A kill of either repeats what it had not confirmed, and so does a lost connection, which a busy
        // machine may take for one.
        told.extend([a.told(), b.told()].concat());
        let lost = told.iter().filter(|line| line.contains("local: not connected")).count();
        let twice = heard.len() - count;
        assert!(twice <= (2 + lost) * WINDOW, "{twice} came twice; {told:?}");
    }
}

/// What a subscriber hears, and when.
struct Listener {
    _program: Program,
    heard: Arc<Mutex<Vec<(usize, Instant)>>>,
}

impl Listener {
    fn start(command: Command) -> Self {
        let mut program = Program::start(command);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let output = BufReader::new(program.child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let (at, number) = (Instant::now(), line[..8].parse().expect("a number"));
                assert_eq!(line.len(), 100);
                kept.lock().expect("nobody panicked").push((number, at));
            }
        });
        program.settle();
        Self { _program: program, heard }
    }

    fn heard(&self) -> Vec<usize> {
        self.heard.lock().expect("nobody panicked").iter().map(|(number, _)| *number).collect()
    }

    fn distinct(&self) -> usize {
        self.heard().into_iter().collect::<BTreeSet<_>>().len()
    }

    /// The median and the 99th percentile of the first messages, in ms.
    fn latencies(&self, said: &[Instant], first: usize) -> (f64, f64) {
        let heard = self.heard.lock().expect("nobody panicked");
        let early = heard.iter().filter(|(number, _)| *number < first);
        let mut all: Vec<f64> =
            early.map(|(number, at)| (*at - said[*number]).as_secs_f64() * 1e3).collect();
        all.sort_by(f64::total_cmp);
        (all[all.len() / 2], all[all.len() * 99 / 100])
    }
}

pub(crate) struct Program {
    child: Child,
    lines: Mutex<Option<Receiver<String>>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Program {
    fn start(mut command: Command) -> Self {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self { child, lines: Mutex::new(None), told: Arc::default() }
    }

    pub(crate) fn follow(command: Command) -> Self {
        let mut program = Self::start(command);
        let output = program.child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        let told = Arc::clone(&program.told);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                told.lock().expect("nobody panicked").push(line.clone());
                let _ = sender.send(line);
            }
        });
        program.lines = Mutex::new(Some(lines));
        program
    }

    pub(crate) fn lines(&self) -> Receiver<String> {
        self.lines.lock().expect("nobody panicked").take().expect("they are taken once")
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody panicked").clone()
    }

    pub(crate) fn wait_for(&self, part: &str) {
        self.wait_for_all(&[part]);
    }

    pub(crate) fn wait_for_all(&self, parts: &[&str]) {
        let begin = Instant::now();
        let has = |part: &&str| self.told().iter().any(|line| line.contains(*part));
        while !parts.iter().all(&has) {
            assert!(begin.elapsed() < PATIENCE, "{parts:?}: {:?}", self.told());
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a subscriber has subscribed. It does not say when.
    pub(crate) fn settle(&self) {
        sleep(Duration::from_millis(700));
    }

    fn says(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        input.write_all(line.as_bytes()).expect("it reads");
    }

    /// Kills it as `kill -9` does.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn key(number: usize) -> String {
    format!("{:02x}", number + 1).repeat(32)
}

const WINDOW: usize = 512;

pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
