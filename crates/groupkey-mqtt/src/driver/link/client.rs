//! What the clients of both versions of MQTT have in common: what is asked of them, what they report, and
//! their limits.

use std::time::Duration;

use crate::driver::connection::Quality;
use crate::join::MAX_PAYLOAD;
use crate::publish::Publish;

/// What happens to a link. That it has ended is an error in its place, which says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The broker has taken the connection.
    Accepted(Limits),
    /// It has confirmed subscriptions.
    Subscribed,
    /// It has refused one: why.
    NotSubscribed(&'static str),
    /// A message came.
    Arrived { topic: String, payload: Vec<u8> },
    /// The client has sent the next publish, under this packet identifier; 0 at QoS 0.
    Sent(u16),
    /// The broker has taken responsibility for that publish.
    Acknowledged(u16),
    /// It does not take it.
    Refused(u16, Refusal),
}

/// Why a broker does not take a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: &'static str,
    /// Whether it would be refused again.
    pub(crate) is_final: bool,
}

/// What a broker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Publishes that it has not acknowledged.
    pub(crate) publishes: usize,
    /// Bytes of a packet.
    pub(crate) packet: usize,
}

/// What a version's client is asked for. It takes nothing while it has no room: `false`.
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

/// Requests that a client takes before it has sent them, and events that wait.
pub(super) const QUEUE: usize = 256;

/// Packet identifiers that rumqttc uses.
pub(super) const PACKETS: u16 = 128;

/// Publishes that are not acknowledged, at most; fewer than there are packet identifiers, so that none is
/// used twice at once.
pub(super) const WINDOW: u16 = PACKETS / 2;

/// Longer ones end the connection; so does a broker of MQTT 3.1.1 that lets longer ones through. Those
/// between this and what a runtime takes are counted and dropped.
pub(super) const LONGEST_PACKET: usize = 16 * MAX_PAYLOAD;

/// How often a ping is sent, unless the broker wants to hear more often.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
