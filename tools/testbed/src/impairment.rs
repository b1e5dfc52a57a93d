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
//! The kernel's netem does the same where it is available. This module needs only the TUN device,
//! and the right to create it (CAP_NET_ADMIN). On a busy machine packets leave late. The emulator
//! records by how much ([`Lateness`]): report the lateness with every live result.

mod device;
mod latency;
mod lateness;
mod mosquitto;
mod queue;
mod relay;

pub use device::{Addresses, Emulator, Error};
pub use latency::{LatencySettings, MeasuredLatencies, measure};
pub use lateness::Lateness;
pub use mosquitto::Mosquitto;
pub use queue::{Arrival, ImpairedLink, Impairment, PacketCounts, PacketQueue};
pub use relay::Relay;
