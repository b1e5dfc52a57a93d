//! The interface of the clients of both versions of MQTT: requests, events and limits.

use std::time::Duration;

use crate::driver::connection::Quality;
use crate::join::MAX_PAYLOAD;
use crate::publish::Publish;

/// An event of a link. A link that has ended yields an error with the reason instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The broker has accepted the connection.
    Accepted(Limits),
    /// The broker has confirmed subscriptions.
    Subscribed,
    /// The broker has refused a subscription, for this reason.
    NotSubscribed(&'static str),
    /// A message came.
    Arrived { topic: String, payload: Vec<u8> },
    /// The client has sent the next publish, under this packet identifier; 0 at QoS 0.
    Sent(u16),
    /// The broker has taken responsibility for that publish.
    Acknowledged(u16),
    /// The broker has refused that publish.
    Refused(u16, Refusal),
}

/// Why a broker refuses a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: &'static str,
    /// Whether the broker would refuse it again.
    pub(crate) is_final: bool,
}

/// A broker's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most publishes in flight.
    pub(crate) publishes: usize,
    /// Most bytes of a packet.
    pub(crate) packet: usize,
}

/// The client of one version. Its methods return `false` if it has no room for the request.
pub(super) trait Client: Send {
    fn publish(&self, publish: &Publish, qos: Quality) -> bool;
    fn subscribe(&self, topics: &[String], qos: Quality) -> bool;
    fn unsubscribe(&self, topic: &str) -> bool;
}

impl Default for Limits {
    fn default() -> Self {
        Self { publishes: usize::from(WINDOW), packet: LONGEST_PACKET }
    }
}

/// Most requests that a client queues, and most events that wait.
pub(super) const QUEUE: usize = 256;

/// Packet identifiers that rumqttc uses.
pub(super) const PACKETS: u16 = 128;

/// Most publishes in flight. There are more packet identifiers, so that none is used twice at once.
pub(super) const WINDOW: u16 = PACKETS / 2;

/// The longest packet, bytes. A longer one ends the connection, also if a broker of MQTT 3.1.1
/// forwards it. A runtime counts and drops packets that are shorter than this and too long for it.
pub(super) const LONGEST_PACKET: usize = 16 * MAX_PAYLOAD;

/// The time between pings, unless the broker asks for a shorter one.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
