//! A Mosquitto for one run. The simulator's timing is compared with the timing of this broker.

use std::io::Write;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::device::Error;
use super::search_path;

/// A Mosquitto that runs until it is dropped.
#[derive(Debug)]
pub struct Mosquitto(Child);

impl Mosquitto {
    /// Starts a Mosquitto that listens on `address` and accepts any client. It sends small packets
    /// at once (TCP_NODELAY), and keeps nothing on disk. It allows as many messages in flight to a
    /// client as the simulator's broker. Returns when Mosquitto can be reached at `reach`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Command`] if Mosquitto does not start, or does not listen within five
    /// seconds.
    pub fn start(address: SocketAddrV4, reach: SocketAddrV4) -> Result<Self, Error> {
        Self::start_with(address, reach, "")
    }

    /// Does the same, with these further lines of Mosquitto's configuration.
    ///
    /// # Errors
    ///
    /// As [`Mosquitto::start`].
    pub fn start_with(
        address: SocketAddrV4,
        reach: SocketAddrV4,
        further: &str,
    ) -> Result<Self, Error> {
        let mut child = Command::new(NAME)
            .args(["-c", "/dev/stdin"])
            .env("PATH", search_path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::Command(NAME, error.to_string()))?;
        let settings = format!(
            "listener {} {}\nallow_anonymous true\npersistence false\nset_tcp_nodelay true\n\
             max_inflight_messages {}\nmax_queued_messages 0\n{further}\n",
            address.port(),
            address.ip(),
            u16::MAX,
        );
        let stdin = child.stdin.take();
        let mut mosquitto = Self(child);
        let given = stdin.is_some_and(|mut stdin| stdin.write_all(settings.as_bytes()).is_ok());
        if !given {
            return Err(Error::Command(NAME, "it does not read its settings".to_owned()));
        }
        mosquitto.await_readiness(reach)?;
        Ok(mosquitto)
    }

    fn await_readiness(&mut self, address: SocketAddrV4) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Error::Command(NAME, format!("it ended at once, with {status}")));
            }
            if TcpStream::connect_timeout(&SocketAddr::V4(address), READY_WITHIN).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(Error::Command(NAME, format!("nothing listens at {address}")))
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // If Mosquitto has ended by itself, there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const NAME: &str = "mosquitto";
const READY_WITHIN: Duration = Duration::from_secs(5);
