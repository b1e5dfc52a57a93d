//! `groupkey serve --scheme auto` changes the scheme of a group that lives, and
//! `groupkey choose --live` previews that.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use groupkey_mqtt::driver::{Connection, Running, run};
use groupkey_mqtt::keyring::{Secret, bytes_from_hex};
use groupkey_mqtt::{Member, member};
use groupkey_testbed::broker;
use serde_json::Value;

use crate::finished::{Finished, Folder, GROUPKEY, groupkey_in};

const MEMBERS: u32 = 6;

/// The members keep more keys than the requirements allow, so the change need not pay.
#[test]
fn a_scheme_that_breaks_a_limit_is_changed_unless_it_is_pinned() {
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let house = House::new(
        "[adapt]\nrequirements = 'requirements.toml'\nfloor_s = 0\nobserve_s = 1\npinned = true\n",
    );
    let service = house.serve();
    let _members = house.members(&service);
    service.await_line("epoch 1: ");
    // It is pinned, and looks every second.
    thread::sleep(Duration::from_secs(3));
    assert!(house.ctl(&service, "pin").starts_with("lkh-group"));
    while let Ok(line) = service.lines.try_recv() {
        assert!(!line.starts_with("adapt: "), "{line}");
    }
    let preview = house.choose(&service, &[]).success();
    let proposed = preview.lines().find_map(|line| line.strip_prefix("choice:  ")).unwrap();
    assert!(proposed.contains("instead of lkh-group"), "{proposed}");
    assert!(proposed.contains("no longer meets the requirements"), "{proposed}");
    assert!(house.ctl(&service, "unpin").ends_with("may change"));
    let (told, _) = service.await_line("adapt: ");
    assert_eq!(told, format!("adapt: {proposed}"));
    let (changed, _) = service.await_line("the scheme is ");
    assert!(changed.ends_with("with 6 members; 0 were left behind"), "{changed}");
    let refused = house.try_ctl(&service, "veto");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("there is nothing to veto"), "{refused:?}");
}

#[test]
fn a_preview_tells_what_the_service_sees_and_would_do() {
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let house =
        House::new("[adapt]\nrequirements = 'requirements.toml'\nfloor_s = 0\npinned = true\n");
    let service = house.serve();
    let _members = house.members(&service);
    service.await_line("epoch 1: ");
    let text = house.choose(&service, &[]).success();
    let line = |begin: &str| text.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
    assert!(
        line("scheme:  ").starts_with("lkh-group, standard, signature, QoS 1, with 6"),
        "{text}"
    );
    assert!(line("choice:  ").contains("instead of lkh-group"), "{text}");
    assert_eq!(line("policy:  "), "it stays: it is pinned");
    assert_eq!(line("said:    "), "pinned; vetoed: nothing");
    assert!(line("missed:  ").starts_with("limits.keys: at most 40"), "{text}");
    assert!(line("broker:  ").contains("a round trip takes"), "{text}");
    assert!(text.contains("member's keys"), "{text}");

    // The requirements with what was seen are a file for further questions.
    let saved = house.choose(&service, &["--save", "seen.toml", "--json"]).success();
    let told: Value = serde_json::from_str(&saved).expect("it is one object");
    assert_eq!((&told["stays"], &told["pinned"]), (&"pinned".into(), &true.into()));
    assert_eq!(told["seen"]["members"], MEMBERS);
    assert_eq!(told["requirements"]["limits"]["keys"], 40.0);
    assert!(told["best"]["cost"].is_number() && told["change"]["saves"].is_number(), "{told}");
    let seen = fs::read_to_string(house.folder.path().join("seen.toml")).expect("it is written");
    assert!(seen.contains("now = 6"), "{seen}");
    let asked = groupkey_in(house.folder.path(), &["choose", "--requirements", "seen.toml"]);
    assert!(asked.stdout.contains("Take "), "{asked:?}");
    let token = fs::read_to_string(house.folder.path().join("http.token")).expect("it is made");
    assert!(!text.contains(token.trim()) && !saved.contains(token.trim()));

    // By other requirements, nothing is missed.
    let other = house.choose(&service, &["--requirements", "city"]).success();
    assert!(!other.contains("missed:"), "{other}");

    house.folder.file("other.token", &"ab".repeat(32));
    let wrong = house.choose(&service, &["--token-file", "other.token"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("does not accept the token"), "{wrong:?}");
    let missing = house.choose(&service, &["--token-file", "no.token"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("no.token"), "{missing:?}");
    let broker = format!("http://127.0.0.1:{}", house.port);
    let nobody = groupkey_in(house.folder.path(), &["choose", "--live", &broker]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.stderr.contains("no service"), "{nobody:?}");
}

#[test]
fn nobody_answers_for_a_service_that_is_not_there_or_does_not_adapt() {
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let house = House::new("");
    let mut service = house.serve();
    let _members = house.members(&service);
    service.await_line("epoch 1: ");
    let refused = house.choose(&service, &[]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("has no [adapt]"), "{refused:?}");
    assert!(refused.stderr.contains("--requirements city"), "{refused:?}");
    let told = house.choose(&service, &["--requirements", "city"]).success();
    assert!(told.contains("said:    not pinned; vetoed: nothing"), "{told}");
    service.kill();
    let gone = house.choose(&service, &[]);
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("no service answers"), "{gone:?}");
    let wrong = groupkey_in(house.folder.path(), &["choose", "--live", "https://a"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("ssh -L"), "{wrong:?}");
}

#[test]
fn what_the_operator_said_holds_after_a_restart() {
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let house =
        House::new("[adapt]\nrequirements = 'requirements.toml'\nfloor_s = 0\npinned = true\n");
    let mut service = house.serve();
    let _members = house.members(&service);
    service.await_line("epoch 1: ");
    let vetoed = house.ctl(&service, "veto");
    assert!(vetoed.ends_with("is not proposed again until unveto"), "{vetoed}");
    let vetoed = vetoed.split(',').next().unwrap().to_owned();
    assert!(house.ctl(&service, "unpin").contains("may change"));
    service.kill();

    let mut service = house.serve();
    let told = house.told(&service);
    assert_eq!(told["pinned"], false, "the file's line is from before");
    let scheme = told["vetoed"][0]["scheme"].as_str().expect("there is one");
    assert!(vetoed.starts_with(scheme), "{told}");
    assert_eq!(told["stays"], "vetoed");
    assert!(house.ctl(&service, "pin").ends_with(" unpin"));
    assert_eq!(house.ctl(&service, "unveto"), "1 vetoes are lifted");
    service.kill();

    let service = house.serve();
    let told = house.told(&service);
    assert_eq!((&told["pinned"], &told["vetoed"]), (&true.into(), &Value::Array(Vec::new())));
    drop(service);

    // Damaged from outside, it is not taken for what was said.
    let path = house.folder.path().join("group.redb.adapt");
    let whole = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let refused = groupkey_in(house.folder.path(), &["serve", "--config", "serve.toml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("group.redb.adapt: it is damaged"), "{refused:?}");
    assert!(refused.stderr.contains("delete it"), "{refused:?}");
}

/// A folder with the files of a service, and a broker.
struct House {
    folder: Folder,
    port: u16,
}

/// A service that runs.
struct Serving {
    process: Child,
    lines: Receiver<String>,
    public: [u8; 32],
    address: String,
}

impl House {
    /// The file has these lines, too.
    fn new(lines: &str) -> Self {
        let port = broker::start().expect("the broker starts").port();
        let folder = Folder::new();
        folder.file("requirements.toml", "[limits]\nkeys = 40.0\n");
        let mut settings = format!(
            "store = 'group.redb'\n[broker]\nport = {port}\n[group]\nfounders = {MEMBERS}\n\
             [http]\nlisten = '127.0.0.1:0'\ntoken_file = 'http.token'\n{lines}"
        );
        for number in 0..MEMBERS {
            let key = key(number).to_hex();
            write!(settings, "[[device]]\nname = 'device-{number}'\nkey = '{}'\n", *key).unwrap();
        }
        folder.file("serve.toml", &settings);
        Self { folder, port }
    }

    fn serve(&self) -> Serving {
        let mut process = Command::new(GROUPKEY)
            .args(["serve", "--config", "serve.toml"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let (public, address) = ([0; 32], String::new());
        let mut service = Serving { process, lines, public, address };
        let (line, _) = service.await_line("service ");
        service.public = bytes_from_hex(&line["service ".len()..]).expect("it is a public key");
        (service.address, _) = service.await_line("http://");
        service
    }

    fn members(&self, service: &Serving) -> Vec<Running<Member>> {
        let member = |number| {
            let settings = member::MemberSettings {
                prefix: "groupkey/1".to_owned(),
                name: format!("device-{number}"),
                identity: Secret::from_bytes([number as u8 + 100; 32]),
                shared: Some(key(number)),
                service: Some(service.public),
                allowed: Default::default(),
                messages: Default::default(),
                freshness: Default::default(),
            };
            let connection = Connection::new("127.0.0.1", self.port, format!("device-{number}"));
            run(Member::new(settings).expect("the settings are good"), connection)
        };
        (0..MEMBERS).map(member).collect()
    }

    fn choose(&self, service: &Serving, arguments: &[&str]) -> Finished {
        let arguments = [&["choose", "--live", &service.address], arguments].concat();
        groupkey_in(self.folder.path(), &arguments)
    }

    /// What the operator's command answers.
    fn ctl(&self, service: &Serving, verb: &str) -> String {
        self.try_ctl(service, verb).success().trim_end().to_owned()
    }

    fn try_ctl(&self, service: &Serving, verb: &str) -> Finished {
        groupkey_in(self.folder.path(), &["ctl", "--service", &service.address, verb])
    }

    /// The preview, once the service has its group again.
    fn told(&self, service: &Serving) -> Value {
        let text = self.choose(service, &["--json"]).success();
        serde_json::from_str(&text).expect("it is one object")
    }
}

impl Serving {
    /// Returns the next line that begins like this, and those before it.
    fn await_line(&self, begin: &str) -> (String, Vec<String>) {
        let (mut before, started) = (Vec::new(), Instant::now());
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("no {begin:?} after {before:?}"));
            if line.starts_with(begin) {
                return (line, before);
            }
            before.push(line);
            assert!(started.elapsed() < Duration::from_secs(120), "no {begin:?}: {before:?}");
        }
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}
