//! The TUN device and its two threads. All decisions are made in the queue.
//!
//! The device has an address A and a neighbour B that does not exist. Mosquitto listens on A, and
//! clients connect to B. The kernel sends packets for B to the device. The emulator swaps source and
//! destination, holds or drops the packet, and gives it back to the kernel. So the broker sees clients
//! at B, and clients see a broker at B. Each packet passes the device once in either direction.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tun_rs::{DeviceBuilder, InterruptEvent, SyncDevice};

use crate::queue::{Impairment, PacketCounts, PacketQueue};

/// An emulator that impairs packets through its device until it is dropped.
pub(crate) struct Emulator {
    /// The device's own address, where the broker listens.
    pub(crate) broker: SocketAddrV4,
    /// The neighbour that does not exist, to which clients connect.
    pub(crate) clients: SocketAddrV4,
    works: Arc<Works>,
    threads: Vec<JoinHandle<()>>,
}

impl Emulator {
    /// Creates a device with addresses from 198.18.0.0/15, the range for measurements of networks (RFC
    /// 2544), and begins to pass packets on. Connections through it use TCP's congestion control cubic.
    /// The same seed loses the same packets of each connection, in the order in which they appear.
    pub(crate) fn start(seed: u64) -> Result<Self, String> {
        // The process's number separates emulators that run at the same time in one namespace.
        let process = std::process::id();
        let network = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + process % (1 << 15) * 4;
        let host = |number| SocketAddrV4::new(Ipv4Addr::from(network + number), PORT);
        let (broker, clients) = (host(1), host(2));
        let name = format!("groupkey{process}");
        let device = DeviceBuilder::new()
            .name(&name)
            .ipv4(*broker.ip(), 30_u8, None::<Ipv4Addr>)
            .mtu(MTU)
            .offload(false)
            .tx_queue_len(BURST)
            .build_sync()
            .map_err(no_device)?;
        let (network, own) = (format!("{}/30", Ipv4Addr::from(network)), broker.ip().to_string());
        run(
            "ip",
            &[
                "route", "replace", &network, "dev", &name, "proto", "kernel", "scope", "link",
                "src", &own, "congctl", "cubic",
            ],
            "install iproute2; the kernel needs the congestion control cubic",
        )?;
        let works = Arc::new(Works {
            device,
            begin: Instant::now(),
            stop: InterruptEvent::new().map_err(no_device)?,
            state: Mutex::new(State {
                queue: PacketQueue::new(PORT, seed),
                late_us: Vec::new(),
                stopped: false,
            }),
            sooner: Condvar::new(),
        });
        let [reader, writer] = [Arc::clone(&works), Arc::clone(&works)];
        let threads =
            vec![thread::spawn(move || reader.read()), thread::spawn(move || writer.write())];
        Ok(Self { broker, clients, works, threads })
    }

    pub(crate) fn impair(&self, impairment: Impairment) {
        self.works.state().queue.impairment = impairment;
    }

    pub(crate) fn counts(&self) -> PacketCounts {
        self.works.state().queue.counts
    }

    /// Returns by how many µs each packet since the last call was late, in ascending order.
    pub(crate) fn take_lateness(&self) -> Vec<u32> {
        let mut late_us = std::mem::take(&mut self.works.state().late_us);
        late_us.sort_unstable();
        late_us
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

/// The state that both threads share.
struct Works {
    device: SyncDevice,
    begin: Instant,
    stop: InterruptEvent,
    state: Mutex<State>,
    /// Notified when a packet arrives that is due before all others, and on stopping.
    sooner: Condvar,
}

struct State {
    queue: PacketQueue,
    late_us: Vec<u32>,
    stopped: bool,
}

impl Works {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads packets from the kernel. Gives packets without delay back at once, without the other thread.
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
            match state.queue.arrive(now, buffer[..length].to_vec()) {
                Some(due) if due <= now => self.put_back(&mut state),
                Some(due) if earliest.is_none_or(|earliest| due < earliest) => {
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
            let wait = state.queue.next_due().map_or(IDLE, |due| due.saturating_sub(now));
            let waited = self.sooner.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn put_back(&self, state: &mut State) {
        while let Some((packet, late)) = state.queue.leave(self.begin.elapsed()) {
            state.late_us.push(late.as_micros() as u32);
            // A packet that the kernel refuses is lost, as on a real link.
            let _ = self.device.send(&packet);
        }
    }
}

fn no_device(error: io::Error) -> String {
    format!(
        "cannot create a TUN device: {error}: it needs /dev/net/tun (load the kernel's module tun, or give \
         the container the device) and CAP_NET_ADMIN (run it as root, or give the container NET_ADMIN)"
    )
}

fn run(program: &str, arguments: &[&str], needed: &str) -> Result<(), String> {
    let said = match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("{program} fails: {said}: {needed}"))
}

/// This port is free on the device's own address.
const PORT: u16 = 1883;

const MTU: u16 = 1_500;

/// How many packets the kernel may hand over at once. The kernel drops further packets, and the
/// emulator does not see them. The usual 500 are fewer than a broadcast to a few hundred members.
const BURST: u32 = 100_000;

const IDLE: Duration = Duration::from_secs(1);
