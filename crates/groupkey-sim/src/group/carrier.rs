//! The carrier of a group's messages: which client hears which topic, and the cost of a message.

use std::collections::{HashMap, VecDeque};

use groupkey::crypto::meter::Meter;
use groupkey::{PartyId, Recipient};

use crate::config::NetworkConfig;
use crate::group::Station;
use crate::group::direct::DirectWay;
use crate::link::PacketLoad;
use crate::name::{ClientId, MessageId, Topic};
use crate::network::{Network, NetworkEvent};
use crate::time::{Duration, Time};
use crate::traffic::Traffic;

/// Carries messages between the parties of a group through a broker. Every recipient is a topic,
/// and each party has a client of its own.
pub trait Carrier {
    /// Whether every message arrives as it was sent, so that it need not be checked each time.
    const ALTERS_NOTHING: bool;

    /// Gives a party the next client, which hears the messages addressed to that party alone.
    fn seat(&mut self, party: PartyId, station: Station) -> ClientId;

    /// Subscribes a client to the messages for a recipient.
    fn subscribe(&mut self, client: ClientId, to: Recipient);

    /// Ends a client's subscription to the messages for a recipient.
    fn unsubscribe(&mut self, client: ClientId, to: Recipient);

    /// Sends a message. [`NetworkEvent::Delivered`] brings its tag back.
    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]);

    /// Sets a wake-up call; a time that has passed means now.
    fn wake_at(&mut self, time: Time, token: u64);

    /// Returns the next event that the group must know, or `None` once nothing is under way. Fails
    /// with the reason if the carrier broke.
    fn poll(&mut self) -> Result<Option<NetworkEvent>, String>;

    /// Returns the next event that the group must know although nothing is under way: a client's
    /// connection ends, or is made again. `None` if no such thing can happen.
    fn wait(&mut self) -> Result<Option<NetworkEvent>, String> {
        Ok(None)
    }

    /// Returns whether a client has a whole connection, so that no reconnection will bring it news.
    fn is_connected(&self, _client: ClientId) -> bool {
        true
    }

    /// Lets the network rest before an operation. All parties are done at `done`; the rest takes
    /// `time` from then on, or ends when more rest makes no difference. Afterwards, tags of
    /// messages may come again. Fails with the reason if the carrier broke.
    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String>;

    /// Lets the network rest before an operation until it has settled: what went before is not felt
    /// any more. A simulated network takes its randomness from `seed` afterwards.
    fn settle(&mut self, done: Time, _seed: u64) -> Result<(), String> {
        self.rest(done, Duration::from_secs(60))
    }

    /// Sets whether messages reach their recipients at once, without the network, until this is set
    /// otherwise. It is set between operations, and the network settles before messages go over it
    /// again. A carrier that has no such way goes on as before.
    fn carry_directly(&mut self, _directly: bool) {}

    /// Is told what a client's step counted and whether its party now has the operation's key. The
    /// messages of the step follow.
    fn note(&mut self, _client: ClientId, _meter: &Meter, _has_key: bool) {}

    /// Returns the time on the network's clock.
    fn now(&self) -> Time;

    /// Returns the counters so far.
    fn traffic(&self) -> Traffic;

    /// Returns the packets that a client has sent so far, and those that reached it. `None` if the
    /// carrier does not count by clients.
    fn packets(&self, _client: ClientId) -> Option<[PacketLoad; 2]> {
        None
    }
}

/// The network in virtual time, and the topics of a group on it.
#[derive(Debug)]
pub struct SimulatedNetwork {
    network: Network,
    topics: HashMap<Recipient, Topic>,
    /// Connections that were made again while the network rested.
    connected: VecDeque<NetworkEvent>,
    /// The way of messages, if they do not go over the network.
    direct: Option<DirectWay>,
}

impl SimulatedNetwork {
    /// Makes a network at rest, without clients.
    pub fn new(config: NetworkConfig) -> Self {
        Self {
            network: Network::new(config),
            topics: HashMap::new(),
            connected: VecDeque::new(),
            direct: None,
        }
    }
}

impl Carrier for SimulatedNetwork {
    const ALTERS_NOTHING: bool = true;

    fn seat(&mut self, party: PartyId, station: Station) -> ClientId {
        let Station { up, down, outages, processing, .. } = station;
        let client = self.network.add_client(up, down);
        if let Some(outages) = outages {
            self.network.set_outages(client, outages);
        }
        self.network.set_processing(client, processing);
        self.topics.insert(party.into(), Topic::Client(client));
        client
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        let Self { network, topics, .. } = self;
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
        // A recipient that never had a subscriber has no topic.
        let Some(&topic) = self.topics.get(&to) else { return };
        match &mut self.direct {
            Some(way) => way.publish(from, message, self.network.subscribers(topic)),
            None => self.network.publish(from, topic, message, bytes.len() as u32, topic_bytes(to)),
        }
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        match &mut self.direct {
            Some(way) => way.wake_at(time, token),
            None => self.network.wake_at(time, token),
        }
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        if let Some(way) = &mut self.direct {
            return Ok(way.poll());
        }
        Ok(self.connected.pop_front().or_else(|| self.network.poll()))
    }

    fn wait(&mut self) -> Result<Option<NetworkEvent>, String> {
        Ok(self.network.wait())
    }

    fn is_connected(&self, client: ClientId) -> bool {
        self.network.is_connected(client)
    }

    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String> {
        if let Some(way) = &mut self.direct {
            way.rest(done + time);
            return Ok(());
        }
        let until = done.max(self.network.now()) + time;
        if until > self.network.now() {
            self.network.wake_at(until, REST);
            loop {
                match self.network.poll() {
                    Some(NetworkEvent::Wake { token: REST }) => break,
                    Some(event @ NetworkEvent::Connected { .. }) => self.connected.push_back(event),
                    Some(NetworkEvent::Disconnected { .. }) => {}
                    event => {
                        debug_assert!(false, "nothing was under way, but {event:?}");
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, done: Time, seed: u64) -> Result<(), String> {
        match &mut self.direct {
            Some(way) => way.rest(done),
            None => self.network.settle(done, seed),
        }
        Ok(())
    }

    fn carry_directly(&mut self, directly: bool) {
        match directly {
            true => drop(self.direct.get_or_insert_with(|| DirectWay::new(self.network.now()))),
            false => self.direct = None,
        }
    }

    fn now(&self) -> Time {
        self.direct.as_ref().map_or_else(|| self.network.now(), DirectWay::now)
    }

    fn traffic(&self) -> Traffic {
        self.network.traffic()
    }

    fn packets(&self, client: ClientId) -> Option<[PacketLoad; 2]> {
        Some(self.network.packets(client))
    }
}

/// Returns the length of a recipient's topic name, such as `g/1/to/m000042`.
pub const fn topic_bytes(to: Recipient) -> u16 {
    match to {
        Recipient::Controller => 12,
        Recipient::Group => 7,
        Recipient::Member(_) | Recipient::SubgroupController(_) => 14,
        Recipient::Subset(_) => 18,
    }
}

/// The token of the wake-up call at the end of a rest.
const REST: u64 = u64::MAX;
