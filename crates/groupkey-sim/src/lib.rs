//! A deterministic network in virtual time: links, an explicit Linux-like TCP, and MQTT 3.1.1
//! sessions around one broker.
//!
//! [`Network`] is the network; [`group`] runs a whole group of parties on top, and [`probe()`]
//! measures single messages. Time is integer nanoseconds, and a run is a function of its
//! parameters and its seed. `docs/network.md` explains what is modelled, what is left out, and how
//! it compares with a real kernel and a real broker.

mod config;
mod connection;
mod events;
mod fifo;
pub mod group;
mod link;
mod mqtt;
mod name;
mod network;
mod outage;
mod probe;
mod random;
mod run_ahead;
mod tcp;
mod time;
mod traffic;

pub use config::{NetworkConfig, Processing};
pub use link::{LinkProfile, LinkSettings, Loss, PacketLoad};
pub use mqtt::{HandOver, Qos};
pub use name::{ClientId, MessageId, Topic, TopicId};
pub use network::{Direction, Network, NetworkEvent};
pub use outage::{Outages, Reconnection, SessionState};
pub use probe::{ProbeResult, ProbeSettings, probe};
pub use tcp::TcpProfile;
pub use time::{Duration, Time};
pub use traffic::Traffic;
