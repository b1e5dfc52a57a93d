//! One connection's client. It hides the differences between the versions of MQTT: the driver sees
//! one kind of event.

pub(crate) mod client;
mod v3;
pub(crate) mod v5;

use std::error::Error;
use std::io::{self, ErrorKind};

use rumqttc::{TlsConfiguration, Transport};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::client::{BrokerLimits, Client, LinkEvent, QUEUE};
use super::connection::{Connection, Quality};
use crate::driver::Version;
use crate::store::Publish;
use crate::tls::{cause, explained};

/// A client for the lifetime of one connection.
pub(super) struct BrokerLink {
    client: Box<dyn Client>,
    events: mpsc::Receiver<Result<LinkEvent, String>>,
    /// The task that polls the client. It is separate: an attempt to connect must not be cancelled.
    poller: JoinHandle<()>,
    qos: Quality,
    limits: BrokerLimits,
    /// Subscriptions that the broker has not confirmed.
    unconfirmed: usize,
    /// Whether the broker has confirmed all first subscriptions.
    pub(super) ready: bool,
}

impl BrokerLink {
    pub(super) fn open(connection: &Connection) -> Self {
        let (sender, events) = mpsc::channel(QUEUE);
        let (client, poller) = match connection.version {
            Version::V3 => v3::open(connection, sender),
            Version::V5 => v5::open(connection, sender),
        };
        let (qos, limits) = (connection.qos, BrokerLimits::default());
        Self { client, events, poller, qos, limits, unconfirmed: 0, ready: false }
    }

    /// Returns the next event of a link. Without a link, it never returns.
    pub(super) async fn next(link: &mut Option<Self>) -> Result<LinkEvent, String> {
        match link {
            Some(link) => {
                link.events.recv().await.unwrap_or_else(|| Err("the client has ended".to_owned()))
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn accepted(&mut self, limits: BrokerLimits, topics: &[String]) {
        self.limits = limits;
        for topics in topics.chunks(FILTERS) {
            if self.client.subscribe(topics, self.qos) {
                self.unconfirmed += 1;
            }
        }
        self.ready = self.unconfirmed == 0;
    }

    pub(super) fn subscribed(&mut self) -> bool {
        self.unconfirmed = self.unconfirmed.saturating_sub(1);
        !std::mem::replace(&mut self.ready, self.unconfirmed == 0) && self.ready
    }

    /// Returns whether one more publish may be in flight.
    pub(super) const fn has_room(&self, under_way: usize) -> bool {
        self.ready && under_way < self.limits.publishes
    }

    pub(super) const fn fits(&self, publish: &Publish) -> bool {
        publish.topic.len() + publish.payload.len() + FRAMING <= self.limits.packet
    }

    /// Returns the length of the longest packet that the broker accepts, in bytes.
    pub(super) const fn longest_packet(&self) -> usize {
        self.limits.packet
    }

    /// Publishes a message. Returns `false` if the client has no room.
    pub(super) fn publish(&self, publish: &Publish) -> bool {
        self.client.publish(publish, self.qos)
    }

    /// Subscribes to a topic. Returns `false` if the client has no room.
    pub(super) fn subscribe(&self, topic: &str) -> bool {
        self.client.subscribe(&[topic.to_owned()], self.qos)
    }

    /// Unsubscribes from a topic. Returns `false` if the client has no room.
    pub(super) fn unsubscribe(&self, topic: &str) -> bool {
        self.client.unsubscribe(topic)
    }
}

impl Drop for BrokerLink {
    fn drop(&mut self) {
        self.poller.abort();
    }
}

/// The maximum number of filters in one SUBSCRIBE.
const FILTERS: usize = 100;

/// The maximum number of bytes of a PUBLISH besides topic and payload: header 5, topic length 2,
/// identifier 2, properties length 1, expiry 5.
const FRAMING: usize = 15;

/// Returns the broker's host, or the URL of its WebSocket, as rumqttc wants it.
pub(crate) fn address(connection: &Connection) -> String {
    #[cfg(feature = "websocket")]
    if let Some(path) = &connection.websocket {
        let Connection { host, port, .. } = connection;
        let scheme = if connection.tls.is_some() { "wss" } else { "ws" };
        return match host.contains(':') {
            true => format!("{scheme}://[{host}]:{port}{path}"),
            false => format!("{scheme}://{host}:{port}{path}"),
        };
    }
    connection.host.clone()
}

/// Returns what carries the packets: TCP or a WebSocket, with TLS or without.
pub(crate) fn transport(connection: &Connection) -> Transport {
    let tls = connection.tls.as_ref();
    let tls = tls.map(|tls| TlsConfiguration::Rustls(tls.configuration()));
    #[cfg(feature = "websocket")]
    if connection.websocket.is_some() {
        return tls.map_or(Transport::Ws, Transport::Wss);
    }
    tls.map_or(Transport::Tcp, Transport::Tls)
}

/// Returns what an error says of a connection, and what to do. Before the broker has accepted it, a
/// broker that wants TLS just cuts it.
fn of_a_connection(error: &(dyn Error + 'static), has_tls: bool, is_accepted: bool) -> String {
    if let Some(explained) = explained(error) {
        return explained;
    }
    let is_cut = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
    };
    match cause(error).is_some_and(is_cut) && !is_accepted && !has_tls {
        true => reasons::NO_ANSWER.to_owned(),
        false => error.to_string(),
    }
}

/// Reasons for which both versions of MQTT have codes, in words.
mod reasons {
    pub(super) const ACCESS: &str = "this client is not authorised; check the broker's access list";
    pub(super) const BUSY: &str = "it is not available now";
    pub(super) const CLIENT: &str = "it refuses the client identifier";
    pub(super) const NO_ANSWER: &str =
        "the broker ends the connection without an answer: it may require TLS (broker.tls)";
    pub(super) const CUT: &str =
        "the broker ended the connection without a reason; its log may have one";
    pub(super) const LOGIN: &str = "user or password is wrong";
    pub(super) const STRANGER: &str =
        "this client is not authorised; check user and password, and the broker's access list";
    #[cfg(feature = "websocket")]
    pub(super) const NO_MQTT: &str = "what answers at broker.websocket speaks WebSocket, but not MQTT: check host, port and path";
    #[cfg(feature = "websocket")]
    pub(super) const NO_WEBSOCKET: &str =
        "there is no WebSocket at broker.websocket: check host, port and path";
    pub(super) const UNSPECIFIED: &str = "it gives no reason; check its access list and its log";
}
