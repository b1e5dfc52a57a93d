//! A Mosquitto for one test or one measurement.

use std::env;
use std::io::Write;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
    /// Fails if Mosquitto is not installed, does not start, or does not listen within five seconds.
    pub fn start(address: SocketAddrV4, reach: SocketAddrV4) -> Result<Self, String> {
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
    ) -> Result<Self, String> {
        let mut child = Command::new("mosquitto")
            // Distributions install it where only root's search path leads.
            .args(["-c", "/dev/stdin"])
            .env("PATH", env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/sbin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("mosquitto does not start: {error}; apt install mosquitto"))?;
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
            return Err("mosquitto does not read its settings".to_owned());
        }
        mosquitto.await_readiness(reach)?;
        Ok(mosquitto)
    }

    fn await_readiness(&mut self, address: SocketAddrV4) -> Result<(), String> {
        let deadline = Instant::now() + READY_WITHIN;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("mosquitto ended at once, with {status}"));
            }
            if TcpStream::connect_timeout(&SocketAddr::V4(address), READY_WITHIN).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(format!("mosquitto does not listen at {address}"))
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // If Mosquitto has ended by itself, there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const READY_WITHIN: Duration = Duration::from_secs(5);
