//! The Mosquitto of a run.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use super::action::LiveBrokerMemory;
use super::files::RunFolder;
use super::process::{Guardian, Process, ProcessOutput, ProcessOwner};
use super::report::LiveError;

/// A Mosquitto that keeps its sessions and retained messages in a file.
pub(super) struct MosquittoBroker {
    pub(super) port: u16,
    pub(super) process: Option<Process>,
    lives: u64,
}

impl MosquittoBroker {
    /// Chooses a free port on the loopback interface, and writes the settings.
    pub(super) fn new(folder: &RunFolder) -> Result<Self, LiveError> {
        let found = command().arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(LiveError::Missing(NAME));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let place = folder.path().join("broker");
        let mut settings = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n\
             max_inflight_messages 100\nmax_queued_messages 0\npersistence true\n\
             persistence_location {}/\nautosave_interval 20\n",
            place.display()
        );
        // Otherwise it changes to a user who may not write there.
        if folder.is_of_root()? {
            settings += "user root\n";
        }
        folder.write("mosquitto.conf", &settings)?;
        Ok(Self { port, process: None, lives: 0 })
    }

    /// Starts it, and waits until it answers.
    pub(super) fn start(
        &mut self,
        folder: &RunFolder,
        guardian: &Guardian,
        said: Sender<ProcessOutput>,
    ) -> Result<(), LiveError> {
        self.lives += 1;
        let mut command = command();
        command.args(["-c", "mosquitto.conf"]).current_dir(folder.path());
        let who = (ProcessOwner::Broker, self.lives);
        let started = Process::start(command, who, guardian, &folder.log("broker"), said)?;
        self.process = Some(started);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let begin = Instant::now();
        while TcpStream::connect_timeout(&address, READY_WITHIN).is_err() {
            if begin.elapsed() > READY_WITHIN {
                return Err(LiveError::Failed(format!("no broker answers at {address}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Ends it.
    pub(super) fn stop(&mut self, memory: LiveBrokerMemory, folder: &RunFolder) {
        let Some(mut process) = self.process.take() else { return };
        match memory {
            LiveBrokerMemory::All => process.terminate(),
            LiveBrokerMemory::LastSave | LiveBrokerMemory::Nothing => process.kill(),
        }
        let _ = process.wait();
        if memory == LiveBrokerMemory::Nothing {
            let _ = fs::remove_file(folder.path().join("broker").join("mosquitto.db"));
        }
    }
}

/// Distributions install Mosquitto in a folder that only root's search path has.
fn command() -> Command {
    let mut command = Command::new(NAME);
    let path = env::var("PATH").unwrap_or_default();
    command.env("PATH", path + ":/usr/sbin:/usr/local/sbin");
    command
}

const NAME: &str = "mosquitto";
const READY_WITHIN: Duration = Duration::from_secs(20);
