//! A bad network on a good one: every connection through a TUN device has delay and loss of its
//! own.
//!
//! The device has an address A and a neighbour B that nobody is. A broker listens on A and a
//! client connects to B. What the kernel sends to B comes out of the device; [`Emulator`] swaps
//! source and destination (which leaves the checksums as they are), holds the packet for its
//! delay, or drops it, and puts it back: the broker sees a client at B, and the client a broker at
//! B. So each packet passes the device once, whichever way it goes, and a connection's ports tell
//! whose link it is on.
//!
//! A broker that is elsewhere comes behind the device by a [`Relay`], which listens in its place.
//!
//! The kernel's netem does the same where it is there; this needs the TUN device alone, and the
//! right to make one (CAP_NET_ADMIN). It works late when the machine is busy, so it records by how
//! much ([`Lateness`]); a live result without that says little.

mod device;
mod latency;
mod lateness;
mod mosquitto;
mod queue;
mod relay;

pub use device::{Addresses, Emulator, Error};
pub use latency::{HandOver, LatencySettings, Measured, measure};
pub use lateness::Lateness;
pub use mosquitto::Mosquitto;
pub use queue::{Arrival, Counts, Impairment, Link, Queue};
pub use relay::Relay;
