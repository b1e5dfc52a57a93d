//! One connection's client. It hides the differences between the versions of MQTT: the driver sees
//! one kind of event.

pub(super) mod client;
mod reasons;
mod v3;
mod v5;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::client::{Client, Event, Limits, QUEUE};
use super::connection::{Connection, Quality};
use crate::publish::Publish;
use crate::version::Version;

/// A client, from the begin of its connection to the end.
pub(super) struct Link {
    client: Box<dyn Client>,
    events: mpsc::Receiver<Result<Event, String>>,
    /// Polls the client, in a task of its own: an attempt to connect must not be cancelled.
    poller: JoinHandle<()>,
    qos: Quality,
    limits: Limits,
    /// Subscriptions that the broker has not confirmed.
    unconfirmed: usize,
    /// Whether the broker has confirmed all first subscriptions.
    pub(super) ready: bool,
}

impl Link {
    /// Begins to connect.
    pub(super) fn open(connection: &Connection) -> Self {
        let (sender, events) = mpsc::channel(QUEUE);
        let (client, poller) = match connection.version {
            Version::V3 => v3::open(connection, sender),
            Version::V5 => v5::open(connection, sender),
        };
        let (qos, limits) = (connection.qos, Limits::default());
        Self { client, events, poller, qos, limits, unconfirmed: 0, ready: false }
    }

    /// The next event of a link. Without a link, it never returns.
    pub(super) async fn next(link: &mut Option<Self>) -> Result<Event, String> {
        match link {
            Some(link) => {
                link.events.recv().await.unwrap_or_else(|| Err("the client has ended".to_owned()))
            }
            None => std::future::pending().await,
        }
    }

    /// The broker has accepted the connection. Subscribes to all topics.
    pub(super) fn accepted(&mut self, limits: Limits, topics: &[String]) {
        self.limits = limits;
        for topics in topics.chunks(FILTERS) {
            if self.client.subscribe(topics, self.qos) {
                self.unconfirmed += 1;
            }
        }
        self.ready = self.unconfirmed == 0;
    }

    /// The broker confirmed a subscription. Returns whether the link became ready by that.
    pub(super) fn subscribed(&mut self) -> bool {
        self.unconfirmed = self.unconfirmed.saturating_sub(1);
        !std::mem::replace(&mut self.ready, self.unconfirmed == 0) && self.ready
    }

    /// Whether one more publish may be in flight.
    pub(super) const fn has_room(&self, under_way: usize) -> bool {
        self.ready && under_way < self.limits.publishes
    }

    /// Whether the broker accepts a publish of this length.
    pub(super) const fn fits(&self, publish: &Publish) -> bool {
        publish.topic.len() + publish.payload.len() + FRAMING <= self.limits.packet
    }

    /// The longest packet that the broker accepts, bytes.
    pub(super) const fn longest_packet(&self) -> usize {
        self.limits.packet
    }

    /// Publishes, unless the client has no room.
    pub(super) fn publish(&self, publish: &Publish) -> bool {
        self.client.publish(publish, self.qos)
    }

    /// Subscribes, unless the client has no room.
    pub(super) fn subscribe(&self, topic: &str) -> bool {
        self.client.subscribe(&[topic.to_owned()], self.qos)
    }

    /// Unsubscribes, unless the client has no room.
    pub(super) fn unsubscribe(&self, topic: &str) -> bool {
        self.client.unsubscribe(topic)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.poller.abort();
    }
}

/// Most filters in one SUBSCRIBE.
const FILTERS: usize = 100;

/// Most bytes of a PUBLISH beside topic and payload: header 5, topic length 2, identifier 2,
/// properties length 1, expiry 5.
const FRAMING: usize = 15;
