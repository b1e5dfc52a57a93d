//! The interface of the clients of both versions of MQTT: requests, events and limits.

use std::time::Duration;

use crate::driver::connection::Quality;
use crate::driver::properties::BrokerProperties;
use crate::join::MAX_PAYLOAD;
use crate::store::Publish;

/// An event of a link. A link that has ended yields an error with the reason instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// The broker has accepted the connection, with these properties in MQTT 5.
    Accepted(BrokerLimits, Option<Box<BrokerProperties>>),
    /// The broker has confirmed subscriptions.
    Subscribed,
    /// The broker has refused a subscription, for this reason.
    NotSubscribed(&'static str),
    Arrived {
        topic: String,
        payload: Vec<u8>,
    },
    /// The client has sent the next publish. Its packet identifier is this one, or 0 at QoS 0.
    Sent(u16),
    /// The broker has taken responsibility for the publish with this packet identifier.
    Acknowledged(u16),
    /// The broker has refused the publish with this packet identifier.
    Refused(u16, PublishRefusal),
    /// The broker allows this QoS at most, which is lower than that of the connection. The
    /// connection has ended.
    LowerQuality(Quality),
    /// The broker has refused to retain a message. The connection has ended.
    RetainsNothing,
}

/// Why a broker refuses a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishRefusal {
    pub(crate) why: &'static str,
    /// Whether the broker would refuse the publish again.
    pub(crate) is_final: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokerLimits {
    /// The maximum number of publishes in flight.
    pub(crate) publishes: usize,
    /// The maximum length of a packet, in bytes.
    pub(crate) packet: usize,
    /// Whether the broker retains messages for later subscribers.
    pub(crate) retains: bool,
}

/// A client for one version of MQTT. Its methods return `false` if it has no room for the request.
pub(super) trait Client: Send {
    fn publish(&self, publish: &Publish, qos: Quality) -> bool;
    fn subscribe(&self, topics: &[String], qos: Quality) -> bool;
    fn unsubscribe(&self, topic: &str) -> bool;
}

impl Default for BrokerLimits {
    fn default() -> Self {
        Self { publishes: usize::from(WINDOW), packet: LONGEST_PACKET, retains: true }
    }
}

/// The maximum number of requests that a client queues, and of events that wait.
pub(super) const QUEUE: usize = 256;

/// The number of packet identifiers that rumqttc uses.
pub(crate) const PACKETS: u16 = 128;

/// The maximum number of publishes in flight. There are more packet identifiers, so that no
/// identifier is used twice at once.
pub(super) const WINDOW: u16 = PACKETS / 2;

/// The maximum length of a packet, in bytes. A longer packet ends the connection, also if a broker
/// of MQTT 3.1.1 forwards it. A runtime counts and drops shorter packets that are too long for it.
pub(crate) const LONGEST_PACKET: usize = 16 * MAX_PAYLOAD;

/// The time between pings, unless the broker asks for a shorter time.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
