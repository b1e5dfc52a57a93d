//! The brokers that tests run against.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{Connection, Quality};
use tempfile::TempDir;

use crate::live::authority::Authority;

/// A broker on the loopback interface.
pub(crate) struct Broker {
    access: Access,
    mosquitto: Option<Mosquitto>,
}

/// How to reach it.
#[derive(Clone)]
pub(crate) struct Access {
    port: u16,
    version: Version,
    /// With TLS.
    pub(crate) authority: Option<Arc<Authority>>,
}

/// What the access list of a broker with TLS allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// The access list of `docs/mosquitto`.
    OfDevices,
    /// Its lines for groups without a controller.
    OfPeers,
}

struct Mosquitto {
    program: PathBuf,
    folder: TempDir,
    process: Option<Child>,
}

pub(crate) fn all() -> Vec<Broker> {
    let port = groupkey_testbed::broker::start().expect("the embedded broker starts").port();
    let access = Access::at(port, None);
    let embedded = Broker { access, mosquitto: None };
    let guarded = guarded_mosquitto(Rights::OfDevices);
    std::iter::once(embedded).chain(mosquitto()).chain(guarded).collect()
}

pub(crate) fn mosquitto() -> Option<Broker> {
    let program = program()?;
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let settings = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 10000\n\
         max_inflight_messages 100\npersistence false\n"
    );
    fs::write(folder.path().join(SETTINGS), settings).unwrap();
    Some(Broker::start(program, folder, Access::at(port, None)))
}

/// Mosquitto, if it is installed, with the files of `docs/mosquitto`, and TLS.
pub(crate) fn guarded_mosquitto(rights: Rights) -> Option<Broker> {
    let program = program()?;
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let documented = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mosquitto");
    let settings = fs::read_to_string(documented.join(SETTINGS)).unwrap();
    assert_eq!(settings.matches("listener 8883\n").count(), 1);
    let settings = settings.replace("listener 8883\n", &format!("listener {port} 127.0.0.1\n"));
    let mut rights_list = fs::read_to_string(documented.join("acl")).unwrap();
    if rights == Rights::OfPeers {
        rights_list = rights_list.replace("# pattern", "pattern");
    }
    fs::write(folder.path().join(SETTINGS), settings).unwrap();
    fs::write(folder.path().join("acl"), rights_list).unwrap();
    let authority = Authority::new();
    authority.equip_broker(folder.path());
    Some(Broker::start(program, folder, Access::at(port, Some(Arc::new(authority)))))
}

/// Mosquitto, if it is installed, with TLS: this chain and key, and the authorities of its clients if
/// it requires certificates of them.
pub(crate) fn mosquitto_with_tls(chain: &str, key: &str, clients: Option<&str>) -> Option<Broker> {
    let program = program()?;
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let mut settings = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n\
         certfile broker.pem\nkeyfile broker.key\n"
    );
    if let Some(authorities) = clients {
        settings += "cafile clients.pem\nrequire_certificate true\n";
        fs::write(folder.path().join("clients.pem"), authorities).unwrap();
    }
    fs::write(folder.path().join("broker.pem"), chain).unwrap();
    fs::write(folder.path().join("broker.key"), key).unwrap();
    fs::write(folder.path().join(SETTINGS), settings).unwrap();
    Some(Broker::start(program, folder, Access::at(port, None)))
}

/// Mosquitto, if it is installed, with a WebSocket, and TLS if it has a chain and a key. Returns the
/// WebSocket's port. Debian's listens for WebSockets only beside a listener for TCP, and takes an
/// interface for them, but no address.
#[cfg(feature = "websocket")]
pub(crate) fn mosquitto_with_websocket(tls: Option<(&str, &str)>) -> Option<(Broker, u16)> {
    let program = program()?;
    let (port, socket, folder) = (free_port(), free_port(), tempfile::tempdir().unwrap());
    let mut settings = format!(
        "listener {port} 127.0.0.1\nlistener {socket} lo\nprotocol websockets\n\
         allow_anonymous true\npersistence false\n"
    );
    if let Some((chain, key)) = tls {
        settings += "certfile broker.pem\nkeyfile broker.key\n";
        fs::write(folder.path().join("broker.pem"), chain).unwrap();
        fs::write(folder.path().join("broker.key"), key).unwrap();
    }
    fs::write(folder.path().join(SETTINGS), settings).unwrap();
    let broker = Broker::start(program, folder, Access::at(port, None));
    // It listens for WebSockets a little later.
    await_port(socket);
    Some((broker, socket))
}

impl Broker {
    pub(crate) fn access(&self) -> Access {
        self.access.clone()
    }

    pub(crate) const fn mixes_versions(&self) -> bool {
        self.mosquitto.is_some()
    }

    /// Kills it.
    pub(crate) fn stop(&mut self) {
        let process = self.mosquitto.as_mut().and_then(|mosquitto| mosquitto.process.take());
        if let Some(mut process) = process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it on the same port, without any memory, and waits until it answers.
    pub(crate) fn restart(&mut self) {
        let mosquitto = self.mosquitto.as_mut().expect("the embedded broker cannot be restarted");
        let process = Command::new(&mosquitto.program)
            .args(["-c", SETTINGS])
            .current_dir(mosquitto.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mosquitto starts");
        mosquitto.process = Some(process);
        await_port(self.access.port());
    }

    /// Makes room for another group, where all groups have the same prefix.
    pub(crate) fn forget(&mut self) {
        if self.access.authority.is_some() {
            self.stop();
            self.restart();
        }
    }

    fn start(program: PathBuf, folder: TempDir, access: Access) -> Self {
        let mosquitto = Mosquitto { program, folder, process: None };
        let mut broker = Self { access, mosquitto: Some(mosquitto) };
        broker.restart();
        broker
    }
}

impl Access {
    fn at(port: u16, authority: Option<Arc<Authority>>) -> Self {
        Self { port, version: Version::default(), authority }
    }

    pub(crate) fn in_version(&self, version: Version) -> Self {
        Self { version, ..self.clone() }
    }

    pub(crate) fn through(&self, port: u16) -> Self {
        Self { port, ..self.clone() }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The prefix to use: the access list knows one.
    pub(crate) fn prefix(&self, wanted: &str) -> String {
        match self.authority {
            Some(_) => "groupkey/1".to_owned(),
            None => format!("{wanted}-{}", self.version),
        }
    }

    pub(crate) fn connection(&self, prefix: &str, name: &str, qos: Quality) -> Connection {
        let client = format!("{}-{name}", prefix.replace('/', "-"));
        let tls = self.authority.as_ref().map(|authority| authority.client(name));
        let connection = Connection::new("127.0.0.1", self.port(), client);
        Connection { tls, version: self.version, qos, ..connection }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn program() -> Option<PathBuf> {
    let candidates = ["/usr/sbin/mosquitto", "/usr/bin/mosquitto", "/usr/local/sbin/mosquitto"];
    let program = candidates.iter().map(PathBuf::from).find(|path| path.is_file());
    if program.is_none() {
        assert!(
            env::var_os("GROUPKEY_REQUIRE_ALL").is_none(),
            "mosquitto is not installed, and GROUPKEY_REQUIRE_ALL is set"
        );
        eprintln!("NOT TESTED against Mosquitto: it is not installed (apt-get install mosquitto)");
    }
    program
}

fn await_port(port: u16) {
    let begin = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20), "mosquitto does not answer");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

const SETTINGS: &str = "mosquitto.conf";
