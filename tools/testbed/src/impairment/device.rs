//! The TUN device and its two threads. All decisions are made in the queue.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tun_rs::{DeviceBuilder, InterruptEvent, SyncDevice};

use super::lateness::Lateness;
use super::queue::{Arrival, ImpairedLink, PacketCounts, PacketQueue};

/// An emulator that impairs packets through its device until it is dropped.
#[derive(Debug)]
pub struct Emulator {
    addresses: Addresses,
    works: Arc<Works>,
    threads: Vec<JoinHandle<()>>,
}

/// The two addresses of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The device's own address, where the broker listens.
    pub broker: SocketAddrV4,
    /// The neighbour that does not exist, to which clients connect.
    pub clients: SocketAddrV4,
}

/// The reason why the network cannot be impaired. Each message says what is missing.
#[derive(Debug)]
pub enum Error {
    /// A required program does not start, or fails: its name and its error message.
    Command(&'static str, String),
    /// The device cannot be created for another reason.
    Device(io::Error),
    /// The kernel has no TUN device, or the container does not have it.
    NoDevice,
    /// The right CAP_NET_ADMIN is missing.
    NoRights,
}

impl Emulator {
    /// Creates a device with addresses from 198.18.0.0/15, the range for measurements of networks
    /// (RFC 2544). Starts to impair packets to and from the broker's port.
    ///
    /// Connections through the device use the congestion control `congestion`, such as `cubic`. It
    /// is a property of the route, so it holds for the broker's side, too. The same seed loses the
    /// same packets of each connection, in the order in which connections appear.
    pub fn start(
        broker_port: u16,
        link: ImpairedLink,
        seed: u64,
        congestion: &str,
    ) -> Result<Self, Error> {
        // The process's number separates emulators that run at the same time in one namespace.
        let process = std::process::id();
        let network = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + process % (1 << 15) * 4;
        let host = |number| SocketAddrV4::new(Ipv4Addr::from(network + number), broker_port);
        let addresses = Addresses { broker: host(1), clients: host(2) };
        let name = format!("groupkey{process}");
        let device = DeviceBuilder::new()
            .name(&name)
            .ipv4(*addresses.broker.ip(), 30_u8, None::<Ipv4Addr>)
            .mtu(MTU)
            .offload(false)
            .tx_queue_len(BURST)
            .build_sync()
            .map_err(Error::of_device)?;
        let own = addresses.broker.ip().to_string();
        let network = format!("{}/30", Ipv4Addr::from(network));
        let route =
            ["route", "replace", &network, "dev", &name, "proto", "kernel", "scope", "link"];
        ip(&[&route[..], &["src", &own, "congctl", congestion]].concat())?;

        let works = Arc::new(Works {
            device,
            begin: Instant::now(),
            stop: InterruptEvent::new().map_err(Error::Device)?,
            state: Mutex::new(DeviceQueue {
                queue: PacketQueue::new(broker_port, link, seed),
                lateness: Lateness::default(),
                stopped: false,
            }),
            sooner: Condvar::new(),
        });
        let [reader, writer] = [Arc::clone(&works), Arc::clone(&works)];
        let threads =
            vec![thread::spawn(move || reader.read()), thread::spawn(move || writer.write())];
        Ok(Self { addresses, works, threads })
    }

    /// Returns the addresses to listen on and to connect to.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Changes all links without settings of their own, for packets from now on.
    pub fn set_all(&self, link: ImpairedLink) {
        self.works.state().queue.set_all(link);
    }

    /// Gives one client, identified by address and port, a link of its own.
    pub fn set(&self, client: SocketAddrV4, link: ImpairedLink) {
        self.works.state().queue.set(client, link);
    }

    /// Returns the counts of packets so far.
    pub fn counts(&self) -> PacketCounts {
        self.works.state().queue.counts()
    }

    /// Returns the lateness of packets since the last call, and resets it.
    pub fn take_lateness(&self) -> Lateness {
        std::mem::take(&mut self.works.state().lateness)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.works.state().stopped = true;
        self.works.sooner.notify_all();
        // If this fails, the reader ends with the next packet.
        let _ = self.works.stop.trigger();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed its message.
            let _ = thread.join();
        }
    }
}

impl Error {
    fn of_device(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::NoDevice,
            ErrorKind::PermissionDenied => Self::NoRights,
            _ => Self::Device(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(name, said) => write!(f, "{name} fails: {said}"),
            Self::Device(error) => write!(f, "cannot create a TUN device: {error}"),
            Self::NoDevice => f.write_str("/dev/net/tun is missing"),
            Self::NoRights => f.write_str("creating a TUN device needs CAP_NET_ADMIN"),
        }
    }
}

impl std::error::Error for Error {}

/// The state that both threads share.
struct Works {
    device: SyncDevice,
    begin: Instant,
    stop: InterruptEvent,
    state: Mutex<DeviceQueue>,
    /// Notified when a packet arrives that is due before all others, and on stopping.
    sooner: Condvar,
}

#[derive(Debug)]
struct DeviceQueue {
    queue: PacketQueue,
    lateness: Lateness,
    stopped: bool,
}

impl Works {
    fn state(&self) -> MutexGuard<'_, DeviceQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads packets from the kernel. Gives packets without delay back at once, without the other
    /// thread.
    fn read(&self) {
        let mut buffer = [0; MTU as usize + 100];
        loop {
            let length = match self.device.recv_intr(&mut buffer, &self.stop) {
                Ok(length) => length,
                Err(_) if self.state().stopped => return,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                // The device is gone. The measurement shows that nothing arrives.
                Err(_) => return,
            };
            let now = self.begin.elapsed();
            let mut state = self.state();
            let earliest = state.queue.next_due();
            let arrival = state.queue.arrive(now, buffer[..length].to_vec());
            match arrival {
                Arrival::Held(due) if due <= now => self.put_back(&mut state),
                Arrival::Held(due) if earliest.is_none_or(|earliest| due < earliest) => {
                    self.sooner.notify_one();
                }
                _ => {}
            }
        }
    }

    /// Gives packets back to the kernel when they are due.
    fn write(&self) {
        let mut state = self.state();
        while !state.stopped {
            self.put_back(&mut state);
            let now = self.begin.elapsed();
            let wait = match state.queue.next_due() {
                Some(due) => due.saturating_sub(now),
                None => IDLE,
            };
            let waited = self.sooner.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn put_back(&self, state: &mut DeviceQueue) {
        while let Some((packet, late)) = state.queue.leave(self.begin.elapsed()) {
            state.lateness.record(late);
            // A packet that the kernel refuses is lost, as on a real link.
            let _ = self.device.send(&packet);
        }
    }
}

impl fmt::Debug for Works {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Works").field("state", &self.state).finish_non_exhaustive()
    }
}

fn ip(arguments: &[&str]) -> Result<(), Error> {
    let output = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::Command("ip", error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Command("ip", said))
}

const MTU: u16 = 1_500;

/// How many packets the kernel may hand over at once. The kernel drops further packets, and the
/// emulator does not see them. The usual 500 are fewer than a broadcast to a few hundred members.
const BURST: u32 = 100_000;

const IDLE: Duration = Duration::from_secs(1);
