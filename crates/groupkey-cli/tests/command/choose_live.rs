//! `groupkey choose --live`: a choice for the group that a service has.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use groupkey_mqtt::driver::{Connection, run};
use groupkey_mqtt::keyring::{Secret, bytes_from_hex};
use groupkey_mqtt::{Member, member};
use groupkey_testbed::broker;

use crate::finished::{Folder, GROUPKEY, groupkey_in};

const MEMBERS: u32 = 6;

#[test]
fn what_a_service_has_counted_is_chosen_for() {
    let tokio = tokio::runtime::Runtime::new().expect("tokio starts");
    let _guard = tokio.enter();
    let port = broker::start().expect("the broker starts").port();
    let folder = Folder::new();
    let mut service = Service::start(&folder, port);
    let address = service.address.clone();
    let choose = |arguments: &[&str]| {
        let live = ["choose", "--fitted", "--live", &address];
        groupkey_in(folder.path(), &[&live, arguments].concat())
    };
    let few = choose(&[]);
    assert!(few.code == 1 && few.stderr.contains("the group has 0 members"), "{few:?}");

    let _members: Vec<_> = (0..MEMBERS)
        .map(|number| {
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
            let connection = Connection::new("127.0.0.1", port, format!("device-{number}"));
            run(Member::new(settings).expect("the settings are good"), connection)
        })
        .collect();
    service.await_line("epoch 1: ");
    let told = choose(&["--requirements", "city", "--save", "seen.toml"]);
    let form = "scheme lkh-group degree=4 derived=0 (sound, standard, signature), with 6 members.";
    assert!(told.code == 0 && told.stderr.contains(form), "{told:?}");
    assert!(told.stderr.contains(": 0 joins, 0 leaves, 0 other changes"), "{told:?}");
    assert!(told.stdout.contains("Take "), "{told:?}");
    let seen = fs::read_to_string(folder.path().join("seen.toml")).expect("it is written");
    assert!(seen.contains("now = 6") && seen.contains("qos = 1"), "{seen}");
    let token = fs::read_to_string(folder.path().join("http.token")).expect("it is made");
    assert!(!told.stdout.contains(token.trim()) && !told.stderr.contains(token.trim()));
    // What is said here counts more.
    choose(&["--set", "members.now=9", "--save", "seen.toml"]).success();
    let seen = fs::read_to_string(folder.path().join("seen.toml")).expect("it is written");
    assert!(seen.contains("now = 9"), "{seen}");

    folder.file("other.token", &"ab".repeat(32));
    let wrong = choose(&["--token-file", "other.token"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("does not accept the token"), "{wrong:?}");
    let missing = choose(&["--token-file", "no.token"]);
    assert!(missing.code == 2 && missing.stderr.contains("no.token"), "{missing:?}");
    let broker = format!("http://127.0.0.1:{port}");
    let nobody = groupkey_in(folder.path(), &["choose", "--live", &broker]);
    assert!(nobody.code == 1 && nobody.stderr.contains("no service"), "{nobody:?}");
    let wrong = groupkey_in(folder.path(), &["choose", "--live", "https://a"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("ssh -L"), "{wrong:?}");
    service.kill();
    let gone = groupkey_in(folder.path(), &["choose", "--live", &address]);
    assert!(gone.code == 1 && gone.stderr.contains("no service answers"), "{gone:?}");
}

struct Service {
    process: Child,
    lines: Box<dyn Iterator<Item = String>>,
    public: [u8; 32],
    address: String,
}

impl Service {
    fn start(folder: &Folder, port: u16) -> Self {
        let mut settings = format!(
            "store = 'group.redb'\n[broker]\nport = {port}\n[group]\nfounders = {MEMBERS}\n\
             [http]\nlisten = '127.0.0.1:0'\ntoken_file = 'http.token'\n"
        );
        for number in 0..MEMBERS {
            let key = key(number).to_hex();
            write!(settings, "[[device]]\nname = 'device-{number}'\nkey = '{}'\n", *key).unwrap();
        }
        folder.file("serve.toml", &settings);
        let mut process = Command::new(GROUPKEY)
            .args(["serve", "--config", "serve.toml"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let lines = Box::new(output.lines().map_while(Result::ok));
        let (public, address) = ([0; 32], String::new());
        let mut service = Self { process, lines, public, address };
        let line = service.await_line("service ");
        service.public = bytes_from_hex(&line["service ".len()..]).expect("it is a public key");
        service.address = service.await_line("http://");
        service
    }

    fn await_line(&mut self, begin: &str) -> String {
        self.lines.find(|line| line.starts_with(begin)).expect("the service says it")
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}
