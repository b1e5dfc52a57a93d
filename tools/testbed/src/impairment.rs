//! Delay and loss on a real network: a TUN device impairs each connection on its own.
//!
//! The device has an address A and a neighbour B that does not exist. A broker listens on A, and a
//! client connects to B. The kernel sends packets for B to the device. [`Emulator`] swaps source
//! and destination, which keeps the checksums valid. It then drops the packet, or holds it for its
//! delay and gives it back to the kernel. The broker sees a client at B, and the client sees a
//! broker at B. Each packet passes the device once in either direction, and a connection's ports
//! identify its link.
//!
//! For a broker on another host, a [`Relay`] listens behind the device.
//!
//! The kernel's netem does the same where it is available. The emulator needs only the TUN device,
//! and the right to create it (CAP_NET_ADMIN). A [`Firewall`] drops packets in the kernel's packet
//! filter instead, as another laboratory did. On a busy machine packets leave late. The emulator
//! records by how much ([`Lateness`]): report the lateness with every live result.

mod device;
mod firewall;
mod latency;
mod lateness;
mod mosquitto;
mod queue;
mod relay;

use std::{env, fmt};

pub use device::{Addresses, Emulator, Error};
pub use firewall::Firewall;
pub use latency::{LatencySettings, MeasuredLatencies, measure};
pub use lateness::Lateness;
pub use mosquitto::Mosquitto;
pub use queue::{Arrival, ImpairedLink, Impairment, PacketCounts, PacketQueue};
pub use relay::Relay;

/// What impairs the packets between clients and a broker.
pub trait Impairer: fmt::Debug {
    /// Changes all links without settings of their own, for packets from now on.
    fn impair(&self, link: ImpairedLink) -> Result<(), Error>;

    /// Returns the counts of packets so far, if they are counted.
    fn counts(&self) -> Option<PacketCounts>;
}

impl Impairer for Emulator {
    fn impair(&self, link: ImpairedLink) -> Result<(), Error> {
        self.set_all(link);
        Ok(())
    }

    fn counts(&self) -> Option<PacketCounts> {
        Some(Self::counts(self))
    }
}

/// Returns where programs are: distributions install some in folders that only root's search path has.
fn search_path() -> String {
    env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin:/usr/local/sbin"
}
