//! The brokers that tests run against.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A broker on the loopback interface.
pub(crate) struct Broker {
    port: u16,
    mosquitto: Option<Mosquitto>,
}

struct Mosquitto {
    program: PathBuf,
    configuration: PathBuf,
    process: Option<Child>,
}

/// All that are there.
pub(crate) fn all() -> Vec<Broker> {
    let embedded = groupkey_mqtt::broker::start().expect("the embedded broker starts");
    let embedded = Broker { port: embedded.port(), mosquitto: None };
    std::iter::once(embedded).chain(mosquitto()).collect()
}

/// Mosquitto, if it is installed.
pub(crate) fn mosquitto() -> Option<Broker> {
    let candidates = ["/usr/sbin/mosquitto", "/usr/bin/mosquitto", "/usr/local/sbin/mosquitto"];
    let Some(program) = candidates.iter().map(PathBuf::from).find(|path| path.is_file()) else {
        assert!(
            std::env::var_os("GROUPKEY_REQUIRE_ALL").is_none(),
            "mosquitto is not installed, and GROUPKEY_REQUIRE_ALL is set"
        );
        eprintln!("NOT TESTED against Mosquitto: it is not installed (apt-get install mosquitto)");
        return None;
    };
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let file = format!("groupkey-mosquitto-{}-{number}.conf", std::process::id());
    let configuration = std::env::temp_dir().join(file);
    let lines = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 10000\n\
         max_inflight_messages 100\npersistence false\n"
    );
    std::fs::write(&configuration, lines).unwrap();
    let mosquitto = Mosquitto { program, configuration, process: None };
    let mut broker = Broker { port, mosquitto: Some(mosquitto) };
    broker.restart();
    Some(broker)
}

impl Broker {
    pub(crate) const fn port(&self) -> u16 {
        self.port
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
            .arg("-c")
            .arg(&mosquitto.configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mosquitto starts");
        mosquitto.process = Some(process);
        let begin = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "mosquitto does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
        if let Some(mosquitto) = &self.mosquitto {
            let _ = std::fs::remove_file(&mosquitto.configuration);
        }
    }
}
