//! A broker and its clients' connections, in virtual time.
//!
//! Without faults it is what MQTT promises at QoS 1: each connection keeps its order, sessions
//! outlive connections, and a publish without acknowledgement is sent again over the next
//! connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupkey_mqtt::store::Publish;
use rand_chacha::ChaCha20Rng;

use crate::history::{BrokerMemory, MILLISECOND, SECOND, below};

/// The service is client 0, and device `n` is client `n + 1`.
pub(crate) type ClientNumber = u32;

/// What the world must do next.
#[derive(Debug)]
pub(crate) enum NetworkTask {
    /// The client's publish is acknowledged.
    Acknowledged(ClientNumber, u64),
    Arrived(ClientNumber, ExpiringMessage),
    Connected(ClientNumber),
    /// The operator looks after its commands.
    Operate,
    /// A process starts.
    Start(ClientNumber),
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) struct ExpiringMessage {
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
    expires: u64,
}

enum ScheduledEvent {
    Ack(ClientNumber, u64, u64),
    Connect(ClientNumber),
    Down(ClientNumber, u64),
    Late(ClientNumber, ExpiringMessage),
    Operate,
    Start(ClientNumber),
    Subscribe(ClientNumber, u64, String, bool),
    Up(ClientNumber, u64, Publish),
}

/// The broker and all connections.
pub(crate) struct VirtualNetwork {
    pub(crate) now: u64,
    rng: ChaCha20Rng,
    events: BTreeMap<(u64, u64), ScheduledEvent>,
    next_event: u64,
    links: BTreeMap<ClientNumber, ClientLink>,
    retained: BTreeMap<String, Vec<u8>>,
    /// All that was published, with the life of the group.
    pub(crate) recorded: VecDeque<(u32, Publish)>,
    pub(crate) life: u32,
    pub(crate) delivered: u64,
    down_until: u64,
    pub(crate) faults: NetworkFaults,
}

/// Until when the network fails, ns.
#[derive(Default)]
pub(crate) struct NetworkFaults {
    pub(crate) lose: (u64, u64),
    pub(crate) misroute: (u64, u64),
    pub(crate) late: (u64, u64),
    pub(crate) echo: (u64, u64),
    pub(crate) duplicate: u64,
}

#[derive(Default)]
struct ClientLink {
    topics: BTreeSet<String>,
    /// The topics of the session.
    subscribed: BTreeSet<String>,
    inbox: VecDeque<ExpiringMessage>,
    flight: Vec<Publish>,
    is_connected: bool,
    generation: u64,
    cut_until: u64,
    last_up: u64,
    last_down: u64,
}

impl VirtualNetwork {
    pub(crate) fn new(begin: u64, rng: ChaCha20Rng) -> Self {
        Self {
            now: begin,
            rng,
            events: BTreeMap::new(),
            next_event: 0,
            links: BTreeMap::new(),
            retained: BTreeMap::new(),
            recorded: VecDeque::new(),
            life: 0,
            delivered: 0,
            down_until: 0,
            faults: NetworkFaults::default(),
        }
    }

    /// A process of this client begins, without connection or subscriptions of its own.
    pub(crate) fn begin(&mut self, client: ClientNumber) {
        self.end(client);
        self.schedule(self.now + MILLISECOND, ScheduledEvent::Connect(client));
    }

    pub(crate) fn end(&mut self, client: ClientNumber) {
        self.disconnect(client);
        let link = self.links.entry(client).or_default();
        link.flight.clear();
        link.topics.clear();
    }

    pub(crate) fn start_at(&mut self, client: ClientNumber, at: u64) {
        self.schedule(at, ScheduledEvent::Start(client));
    }

    pub(crate) fn operate_at(&mut self, at: u64) {
        self.schedule(at, ScheduledEvent::Operate);
    }

    pub(crate) fn publish(&mut self, client: ClientNumber, publish: Publish) {
        let Some(link) = self.links.get_mut(&client) else { return };
        link.flight.push(publish.clone());
        if link.is_connected {
            self.up(client, publish);
        }
    }

    pub(crate) fn subscribe(&mut self, client: ClientNumber, topic: String, wanted: bool) {
        let at = self.after_up(client);
        let Some(link) = self.links.get_mut(&client) else { return };
        if wanted {
            link.topics.insert(topic.clone());
        } else {
            link.topics.remove(&topic);
        }
        let generation = link.generation;
        if link.is_connected {
            self.schedule(at, ScheduledEvent::Subscribe(client, generation, topic, wanted));
        }
    }

    /// Somebody else publishes a message.
    pub(crate) fn intrude(&mut self, topic: String, payload: Vec<u8>) {
        let publish = Publish { id: 0, topic, payload, retain: false, expiry: None };
        self.route(&publish);
    }

    pub(crate) fn cut(&mut self, client: ClientNumber, until: u64) {
        self.disconnect(client);
        let at = until + below(&mut self.rng, SECOND);
        if let Some(link) = self.links.get_mut(&client) {
            link.cut_until = until;
        }
        self.schedule(at, ScheduledEvent::Connect(client));
    }

    pub(crate) fn restart(&mut self, memory: BrokerMemory, until: u64) {
        self.down_until = until;
        let keeps_sessions = matches!(memory, BrokerMemory::All | BrokerMemory::Sessions);
        if !matches!(memory, BrokerMemory::All | BrokerMemory::Retained) {
            self.retained.clear();
        }
        let clients: Vec<_> = self.links.keys().copied().collect();
        for client in clients {
            self.disconnect(client);
            if !keeps_sessions && let Some(link) = self.links.get_mut(&client) {
                link.inbox.clear();
                link.subscribed.clear();
            }
            let at = until + below(&mut self.rng, SECOND);
            self.schedule(at, ScheduledEvent::Connect(client));
        }
    }

    /// All faults end, and all clients connect again soon.
    pub(crate) fn heal(&mut self) {
        self.faults = NetworkFaults::default();
        for link in self.links.values_mut() {
            link.cut_until = 0;
        }
        self.restart(BrokerMemory::All, self.now);
    }

    /// Returns when the next event is due.
    pub(crate) fn next(&self) -> Option<u64> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// Handles the next event.
    pub(crate) fn pop(&mut self) -> NetworkTask {
        let Some(((at, _), event)) = self.events.pop_first() else { return NetworkTask::Nothing };
        self.now = self.now.max(at);
        match event {
            ScheduledEvent::Ack(client, generation, id) => {
                let Some(link) = self.link(client, generation) else { return NetworkTask::Nothing };
                let before = link.flight.len();
                link.flight.retain(|publish| publish.id != id);
                if link.flight.len() < before {
                    return NetworkTask::Acknowledged(client, id);
                }
            }
            ScheduledEvent::Connect(client) => return self.connect(client),
            ScheduledEvent::Down(client, generation) => return self.arrive(client, generation),
            ScheduledEvent::Late(client, message) => self.enqueue(client, message),
            ScheduledEvent::Operate => return NetworkTask::Operate,
            ScheduledEvent::Start(client) => return NetworkTask::Start(client),
            ScheduledEvent::Subscribe(client, generation, topic, wanted) => {
                let retained = self.retained.get(&topic).cloned();
                let Some(link) = self.link(client, generation) else { return NetworkTask::Nothing };
                if !wanted {
                    link.subscribed.remove(&topic);
                } else if link.subscribed.insert(topic.clone())
                    && let Some(payload) = retained
                {
                    self.enqueue(client, ExpiringMessage { topic, payload, expires: u64::MAX });
                }
            }
            ScheduledEvent::Up(client, generation, publish) => {
                if self.link(client, generation).is_none() {
                    return NetworkTask::Nothing;
                }
                self.route(&publish);
                if self.happens(self.faults.echo) {
                    self.echo();
                }
                let at = self.now + self.delay();
                self.schedule(at, ScheduledEvent::Ack(client, generation, publish.id));
            }
        }
        NetworkTask::Nothing
    }

    pub(crate) fn publish_again(&mut self, client: ClientNumber) {
        let flight = self.links.get(&client).map(|link| link.flight.clone()).unwrap_or_default();
        flight.into_iter().for_each(|publish| self.up(client, publish));
    }

    pub(crate) fn is_connected(&self, client: ClientNumber) -> bool {
        self.links.get(&client).is_some_and(|link| link.is_connected)
    }

    fn connect(&mut self, client: ClientNumber) -> NetworkTask {
        let (now, down_until) = (self.now, self.down_until);
        let Some(link) = self.links.get_mut(&client).filter(|link| !link.is_connected) else {
            return NetworkTask::Nothing;
        };
        let from = link.cut_until.max(down_until);
        if now < from {
            self.schedule(from + MILLISECOND, ScheduledEvent::Connect(client));
            return NetworkTask::Nothing;
        }
        link.is_connected = true;
        link.generation += 1;
        (link.last_up, link.last_down) = (now, now);
        link.subscribed.extend(link.topics.iter().cloned());
        let waiting = link.inbox.len();
        let retained: Vec<_> = (self.retained.iter())
            .filter(|(topic, _)| link.subscribed.contains(*topic))
            .map(|(topic, payload)| (topic.clone(), payload.clone()))
            .collect();
        (0..waiting).for_each(|_| self.down(client));
        for (topic, payload) in retained {
            self.enqueue(client, ExpiringMessage { topic, payload, expires: u64::MAX });
        }
        NetworkTask::Connected(client)
    }

    fn arrive(&mut self, client: ClientNumber, generation: u64) -> NetworkTask {
        let now = self.now;
        let Some(link) = self.link(client, generation) else { return NetworkTask::Nothing };
        let Some(message) = link.inbox.pop_front() else { return NetworkTask::Nothing };
        if message.expires < now {
            return NetworkTask::Nothing;
        }
        self.delivered += 1;
        NetworkTask::Arrived(client, message)
    }

    /// The broker forwards a message.
    fn route(&mut self, publish: &Publish) {
        if self.recorded.len() == RECORDED {
            self.recorded.pop_front();
        }
        self.recorded.push_back((self.life, publish.clone()));
        let Publish { topic, payload, retain, expiry, .. } = publish;
        if *retain {
            self.retained.insert(topic.clone(), payload.clone());
        }
        let expires = expiry.map_or(u64::MAX, |expiry| self.now + u64::from(expiry) * SECOND);
        let message = ExpiringMessage { topic: topic.clone(), payload: payload.clone(), expires };
        let receivers: Vec<_> = (self.links.iter())
            .filter(|(_, link)| link.subscribed.contains(topic))
            .map(|(client, _)| *client)
            .collect();
        for client in receivers {
            if !self.happens(self.faults.lose) {
                self.forward(client, message.clone());
            }
            if self.now < self.faults.duplicate && below(&mut self.rng, 2) == 0 {
                self.forward(client, message.clone());
            }
        }
        if self.happens(self.faults.misroute) {
            self.misroute(message);
        }
    }

    /// Publishes a recorded message of a former life.
    fn echo(&mut self) {
        let life = self.life;
        let former = self.recorded.partition_point(|(of, _)| *of < life);
        let which = below(&mut self.rng, former as u64) as usize;
        if let Some((_, Publish { topic, payload, .. })) =
            self.recorded.get(which).filter(|_| former > 0)
        {
            let (topic, payload) = (topic.clone(), payload.clone());
            // Recordings of recordings would be of this life.
            self.intrude(topic, payload);
        }
    }

    fn misroute(&mut self, mut message: ExpiringMessage) {
        let place = below(&mut self.rng, self.links.len() as u64) as usize;
        let Some((&client, link)) = self.links.iter().nth(place) else { return };
        let topic = below(&mut self.rng, link.topics.len() as u64) as usize;
        let Some(topic) = link.topics.iter().nth(topic) else { return };
        message.topic.clone_from(topic);
        self.forward(client, message);
    }

    fn forward(&mut self, client: ClientNumber, message: ExpiringMessage) {
        let (late, until) = self.faults.late;
        if self.now < until && below(&mut self.rng, 2) == 0 {
            let at = self.now + below(&mut self.rng, late);
            self.schedule(at, ScheduledEvent::Late(client, message));
        } else {
            self.enqueue(client, message);
        }
    }

    fn enqueue(&mut self, client: ClientNumber, message: ExpiringMessage) {
        let Some(link) = self.links.get_mut(&client) else { return };
        link.inbox.push_back(message);
        if link.is_connected {
            self.down(client);
        }
    }

    fn happens(&mut self, (percent, until): (u64, u64)) -> bool {
        self.now < until && below(&mut self.rng, 100) < percent
    }

    fn up(&mut self, client: ClientNumber, publish: Publish) {
        let at = self.after_up(client);
        let generation = self.links.get(&client).map_or(0, |link| link.generation);
        self.schedule(at, ScheduledEvent::Up(client, generation, publish));
    }

    fn down(&mut self, client: ClientNumber) {
        let at = self.now + self.delay();
        let Some(link) = self.links.get_mut(&client) else { return };
        link.last_down = link.last_down.max(at);
        let (at, generation) = (link.last_down, link.generation);
        self.schedule(at, ScheduledEvent::Down(client, generation));
    }

    fn after_up(&mut self, client: ClientNumber) -> u64 {
        let at = self.now + self.delay();
        let Some(link) = self.links.get_mut(&client) else { return at };
        link.last_up = link.last_up.max(at);
        link.last_up
    }

    fn delay(&mut self) -> u64 {
        MILLISECOND + below(&mut self.rng, 20 * MILLISECOND)
    }

    fn disconnect(&mut self, client: ClientNumber) {
        let link = self.links.entry(client).or_default();
        link.is_connected = false;
        link.generation += 1;
    }

    fn link(&mut self, client: ClientNumber, generation: u64) -> Option<&mut ClientLink> {
        let link = self.links.get_mut(&client)?;
        (link.is_connected && link.generation == generation).then_some(link)
    }

    fn schedule(&mut self, at: u64, event: ScheduledEvent) {
        self.next_event += 1;
        self.events.insert((at, self.next_event), event);
    }
}

/// The maximum number of recorded messages.
const RECORDED: usize = 4_000;
