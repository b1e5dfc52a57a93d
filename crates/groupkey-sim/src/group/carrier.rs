//! What carries a group's messages: who hears what, and what a message costs on the way.

use std::collections::HashMap;

use groupkey::{PartyId, Recipient};

use crate::config::NetworkConfig;
use crate::group::station::Station;
use crate::name::{ClientId, MessageId, Topic};
use crate::network::{Event, Network};
use crate::time::{Duration, Time};
use crate::traffic::Traffic;

/// Carries messages between the parties of a group, through a broker. Every recipient is a topic;
/// each party is a client of its own.
pub trait Carrier {
    /// Whether what arrives is known to be what was sent, so that it need not be checked each time.
    const ALTERS_NOTHING: bool;

    /// Gives a party the next client, which hears what is addressed to that party alone.
    fn seat(&mut self, party: PartyId, station: Station) -> ClientId;

    /// Has a client hear what is sent to a recipient.
    fn subscribe(&mut self, client: ClientId, to: Recipient);

    /// Has it hear that no longer.
    fn unsubscribe(&mut self, client: ClientId, to: Recipient);

    /// Sends a message; [`Event::Delivered`] brings its tag back.
    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]);

    /// Sets a wake-up call; a time that has passed means now.
    fn wake_at(&mut self, time: Time, token: u64);

    /// The next thing that the group must know; `None` once nothing is under way. Fails with what
    /// broke.
    fn poll(&mut self) -> Result<Option<Event>, String>;

    /// Lets the network come to rest before an operation, when all parties are done at `done`: for so
    /// long from then on, or until it makes no difference any more. Tags of messages may come again
    /// after that. Fails with what broke.
    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String>;

    /// The time on the network's clock.
    fn now(&self) -> Time;

    /// The counters so far.
    fn traffic(&self) -> Traffic;
}

/// The network in virtual time, and the topics of a group on it.
#[derive(Debug)]
pub struct SimulatedNetwork {
    network: Network,
    topics: HashMap<Recipient, Topic>,
}

impl SimulatedNetwork {
    /// A network at rest with nobody on it.
    pub fn new(config: NetworkConfig) -> Self {
        Self { network: Network::new(config), topics: HashMap::new() }
    }
}

impl Carrier for SimulatedNetwork {
    const ALTERS_NOTHING: bool = true;

    fn seat(&mut self, party: PartyId, station: Station) -> ClientId {
        let Station { up, down, processing, .. } = station;
        let client = self.network.add_client(up, down);
        self.network.set_processing(client, processing);
        self.topics.insert(party.into(), Topic::Client(client));
        client
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        let Self { network, topics } = self;
        let topic = topics.entry(to).or_insert_with(|| Topic::Shared(network.add_topic()));
        if let Topic::Shared(topic) = *topic {
            network.subscribe(topic, client);
        }
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        if let Some(&Topic::Shared(topic)) = self.topics.get(&to) {
            self.network.unsubscribe(topic, client);
        }
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        // What nobody ever listened to has no topic.
        if let Some(&topic) = self.topics.get(&to) {
            self.network.publish(from, topic, message, bytes.len() as u32, topic_bytes(to));
        }
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.network.wake_at(time, token);
    }

    fn poll(&mut self) -> Result<Option<Event>, String> {
        Ok(self.network.poll())
    }

    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String> {
        let until = done.max(self.network.now()) + time;
        if until > self.network.now() {
            self.network.wake_at(until, REST);
            let event = self.network.poll();
            debug_assert_eq!(event, Some(Event::Wake { token: REST }), "nothing was under way");
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.network.now()
    }

    fn traffic(&self) -> Traffic {
        self.network.traffic()
    }
}

/// How long the name of a recipient's topic is, as in `g/1/to/m000042`.
const fn topic_bytes(to: Recipient) -> u16 {
    match to {
        Recipient::Controller => 12,
        Recipient::Group => 7,
        Recipient::Member(_) | Recipient::SubgroupController(_) => 14,
        Recipient::Subset(_) => 18,
    }
}

/// The wake-up call at the end of a rest.
const REST: u64 = u64::MAX;
