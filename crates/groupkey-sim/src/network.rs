//! The network: clients, one broker, and the connections between them, in virtual time.
//!
//! The caller publishes and sets wake-up calls, then polls: each [`Network::poll`] runs the network
//! up to the next thing the caller must know. Nothing happens between polls.

use std::collections::{BTreeSet, VecDeque};

use crate::config::{NetworkConfig, Processing};
use crate::events::EventQueue;
use crate::link::{Link, LinkProfile};
use crate::mqtt::{Packet, Publication, Rules, Session};
use crate::random::Stream;
use crate::slab::Slab;
use crate::tcp::{Context, End, Endpoint, Segment};
use crate::time::Time;
use crate::traffic::Traffic;

/// The caller's tag for a message; the network never holds a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u32);

/// A client of the broker, numbered from zero in the order of [`Network::add_client`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u32);

impl ClientId {
    /// The client that was added as number `index`, from zero.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// Its number, from zero.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A topic that any client may subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(u32);

/// Where a message is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A client's own topic; that client alone is subscribed.
    Client(ClientId),
    /// A topic with a set of subscribers.
    Shared(TopicId),
}

/// The direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Broker to client.
    Down,
    /// Client to broker.
    Up,
}

/// What the caller must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A subscriber's application has the message.
    Delivered {
        /// The subscriber.
        client: ClientId,
        /// The publisher.
        from: ClientId,
        /// The publisher's tag.
        message: MessageId,
    },
    /// TCP gave the client's connection up; it stays closed and what was under way is lost.
    Disconnected {
        /// The client.
        client: ClientId,
    },
    /// More than [`NetworkConfig::max_events`] passed; the network has stopped for good.
    Unsettled,
    /// A wake-up call.
    Wake {
        /// The caller's tag.
        token: u64,
    },
}

/// A star of clients around one MQTT broker.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    now: Time,
    events: EventQueue<Happening>,
    passed: u64,
    /// What the caller has not been told yet.
    ready: VecDeque<Event>,
    /// Both ends of each connection: client's at `2 i`, broker's at `2 i + 1`.
    ends: Vec<ConnectionEnd>,
    clients: Vec<Client>,
    topics: Vec<BTreeSet<ClientId>>,
    broker: Broker,
    on_the_way: Slab<Transit>,
    in_handling: Slab<Event>,
    wake_ups: Slab<u64>,
    traffic: Traffic,
    /// Segments that a TCP step sends, kept to reuse its memory.
    out: Vec<Segment>,
}

/// What the event queue holds; numbers refer to slabs, clients or connection ends.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Arrival(u32),
    BrokerServed,
    ClientServed(u32),
    HandOver(u32),
    Timer(u32),
    Wake(u32),
}

#[derive(Debug)]
struct ConnectionEnd {
    tcp: Endpoint,
    session: Session,
    /// The link to the other end.
    link: Link,
    /// Packets written and not yet served by the other end, each with its end in the stream.
    written: VecDeque<(u64, Packet)>,
    /// How many of the other end's packets wait in the broker's queue.
    queued: u32,
    /// When the earliest timer event in the event queue fires.
    armed: Time,
    closed: bool,
}

#[derive(Debug)]
struct Client {
    processing: Processing,
    busy: bool,
    /// Hand-overs do not overtake one another.
    last_hand_over: Time,
}

#[derive(Debug, Default)]
struct Broker {
    /// Connection ends with a packet to serve, one entry a packet.
    queue: VecDeque<u32>,
    busy: bool,
}

/// A segment on its way to a connection end.
#[derive(Clone, Copy, Debug)]
struct Transit {
    to: u32,
    segment: Segment,
}

impl Network {
    /// A network with a broker and no clients.
    pub const fn new(config: NetworkConfig) -> Self {
        Self {
            config,
            now: Time::ZERO,
            events: EventQueue::new(),
            passed: 0,
            ready: VecDeque::new(),
            ends: Vec::new(),
            clients: Vec::new(),
            topics: Vec::new(),
            broker: Broker { queue: VecDeque::new(), busy: false },
            on_the_way: Slab::new(),
            in_handling: Slab::new(),
            wake_ups: Slab::new(),
            traffic: Traffic::NONE,
            out: Vec::new(),
        }
    }

    /// Adds a client whose session is connected and subscribed to its own topic. Its round-trip
    /// estimate stands as the set-up exchange leaves it at the links' nominal delay.
    pub fn add_client(&mut self, up: LinkProfile, down: LinkProfile) -> ClientId {
        let number = self.clients.len() as u32;
        let round_trip = up.initial_delay() + down.initial_delay();
        for (end, profile) in [(End::Client, up), (End::Broker, down)] {
            let stream = Stream::new(self.config.seed, self.ends.len() as u64);
            self.ends.push(ConnectionEnd {
                tcp: Endpoint::new(self.now, end, round_trip, &self.config.tcp),
                session: Session::default(),
                link: Link::new(profile, stream),
                written: VecDeque::new(),
                queued: 0,
                armed: Time::NEVER,
                closed: false,
            });
        }
        let processing = self.config.client;
        self.clients.push(Client { processing, busy: false, last_hand_over: Time::ZERO });
        ClientId(number)
    }

    /// Adds a topic without subscribers.
    pub fn add_topic(&mut self) -> TopicId {
        self.topics.push(BTreeSet::new());
        TopicId((self.topics.len() - 1) as u32)
    }

    /// Subscribes a client to a topic. The subscription holds at once and costs no traffic.
    pub fn subscribe(&mut self, topic: TopicId, client: ClientId) {
        self.topics[topic.0 as usize].insert(client);
    }

    /// Ends a subscription at once and without traffic.
    pub fn unsubscribe(&mut self, topic: TopicId, client: ClientId) {
        self.topics[topic.0 as usize].remove(&client);
    }

    /// Replaces a direction of a client's link from now on.
    pub fn set_link(&mut self, client: ClientId, direction: Direction, profile: LinkProfile) {
        let broker = usize::from(direction == Direction::Down);
        self.ends[client.index() * 2 + broker].link.change(profile);
    }

    /// Replaces a client's processing times from now on.
    pub fn set_processing(&mut self, client: ClientId, processing: Processing) {
        self.clients[client.index()].processing = processing;
    }

    /// Publishes a message of `payload_bytes` under a topic name of `topic_bytes`. Subscribers get
    /// it, the publisher too if it is one (MQTT 3.1.1 knows no exception). On a closed connection
    /// nothing happens.
    pub fn publish(
        &mut self,
        from: ClientId,
        topic: Topic,
        message: MessageId,
        payload_bytes: u32,
        topic_bytes: u16,
    ) {
        let publication = Publication { message, from, topic, payload_bytes, topic_bytes };
        self.begin_exchange(from.0 * 2, publication);
    }

    /// Sets a wake-up call; a time that has passed means now.
    pub fn wake_at(&mut self, time: Time, token: u64) {
        let number = self.wake_ups.insert(token);
        self.events.push(time.max(self.now), Happening::Wake(number));
    }

    /// Advances virtual time to the next thing the caller must know; `None` when nothing is left.
    pub fn poll(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.passed > self.config.max_events {
                return None;
            }
            let (time, happening) = self.events.pop()?;
            if let Happening::Timer(end) = happening
                && !self.timer_is_due(end, time)
            {
                continue;
            }
            debug_assert!(time >= self.now, "time goes forward");
            self.now = time;
            self.passed += 1;
            if self.passed > self.config.max_events {
                return Some(Event::Unsettled);
            }
            self.advance(happening);
        }
    }

    /// The present virtual time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The counters so far.
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn advance(&mut self, happening: Happening) {
        match happening {
            Happening::Arrival(number) => {
                let Transit { to, segment } = self.on_the_way.take(number);
                self.arrive(to, &segment);
            }
            Happening::BrokerServed => self.serve_at_broker(),
            Happening::ClientServed(client) => self.serve_at_client(client),
            Happening::HandOver(number) => {
                let event = self.in_handling.take(number);
                self.ready.push_back(event);
            }
            Happening::Timer(end) => self.expire(end),
            Happening::Wake(number) => {
                let token = self.wake_ups.take(number);
                self.ready.push_back(Event::Wake { token });
            }
        }
    }

    /// Timer events stay in the queue when their timer moves: one that comes early is put off, one
    /// that was superseded is dropped, and neither moves the clock.
    fn timer_is_due(&mut self, number: u32, time: Time) -> bool {
        let end = &mut self.ends[number as usize];
        if end.armed != time {
            return false;
        }
        end.armed = Time::NEVER;
        if end.closed {
            return false;
        }
        if end.tcp.deadline() <= time {
            return true;
        }
        self.arm(number);
        false
    }

    fn arm(&mut self, number: u32) {
        let end = &mut self.ends[number as usize];
        let deadline = end.tcp.deadline();
        if deadline < end.armed {
            end.armed = deadline;
            self.events.push(deadline, Happening::Timer(number));
        }
    }

    fn expire(&mut self, number: u32) {
        let mut cx = Context { now: self.now, profile: &self.config.tcp, out: &mut self.out };
        if self.ends[number as usize].tcp.expire(&mut cx).is_err() {
            self.close(number);
            return;
        }
        self.transmit(number);
    }

    fn close(&mut self, number: u32) {
        self.out.clear();
        for number in [number, number ^ 1] {
            let end = &mut self.ends[number as usize];
            end.closed = true;
            end.written = VecDeque::new();
            end.session = Session::default();
        }
        self.ready.push_back(Event::Disconnected { client: ClientId(number / 2) });
    }

    fn arrive(&mut self, number: u32, segment: &Segment) {
        let end = &mut self.ends[number as usize];
        if end.closed {
            return;
        }
        let before = end.tcp.received();
        let mut cx = Context { now: self.now, profile: &self.config.tcp, out: &mut self.out };
        end.tcp.receive(&mut cx, segment);
        let news = end.tcp.received() > before;
        self.transmit(number);
        if !news {
            return;
        }
        if is_client(number) {
            self.begin_client_service(number / 2);
        } else {
            self.queue_at_broker(number);
        }
    }

    /// Puts on the link what TCP sends, and sees to its timer.
    fn transmit(&mut self, number: u32) {
        let end = &mut self.ends[number as usize];
        for segment in self.out.drain(..) {
            let bytes = segment.wire_bytes();
            self.traffic.segments += 1;
            self.traffic.wire_bytes += u64::from(bytes);
            self.traffic.retransmissions += u64::from(segment.retransmission);
            let Some(arrival) = end.link.carry(self.now, bytes) else {
                self.traffic.lost += 1;
                continue;
            };
            let transit = self.on_the_way.insert(Transit { to: number ^ 1, segment });
            self.events.push(arrival, Happening::Arrival(transit));
        }
        self.arm(number);
    }

    fn begin_exchange(&mut self, number: u32, publication: Publication) {
        let rules = self.rules(number);
        let end = &mut self.ends[number as usize];
        if end.closed {
            return;
        }
        if let Some(packet) = end.session.publish(publication, &rules) {
            self.write(number, packet);
        }
    }

    fn write(&mut self, number: u32, packet: Packet) {
        let bytes = packet.bytes(self.config.qos);
        self.traffic.mqtt_packets += 1;
        let end = &mut self.ends[number as usize];
        end.written.push_back((end.tcp.written() + u64::from(bytes), packet));
        let mut cx = Context { now: self.now, profile: &self.config.tcp, out: &mut self.out };
        end.tcp.write(&mut cx, bytes);
        self.transmit(number);
    }

    const fn rules(&self, number: u32) -> Rules {
        Rules {
            qos: self.config.qos,
            hand_over: if is_client(number) {
                self.config.hand_over
            } else {
                self.config.broker_forwards_on
            },
            max_in_flight: self.config.max_in_flight,
        }
    }

    /// The packet at `place` in the stream to a connection end, if it has arrived in full.
    fn arrived(&self, number: u32, place: u32) -> Option<Packet> {
        let received = self.ends[number as usize].tcp.received();
        let peer = &self.ends[(number ^ 1) as usize];
        peer.written
            .get(place as usize)
            .filter(|(end, _)| *end <= received)
            .map(|(_, packet)| *packet)
    }

    fn begin_client_service(&mut self, client: u32) {
        let Client { busy, processing, .. } = self.clients[client as usize];
        if busy {
            return;
        }
        let Some(packet) = self.arrived(client * 2, 0) else {
            return;
        };
        self.clients[client as usize].busy = true;
        self.events.push(self.now + processing.cost(&packet), Happening::ClientServed(client));
    }

    fn serve_at_client(&mut self, client: u32) {
        self.clients[client as usize].busy = false;
        let end = client * 2;
        let Some((_, packet)) = self.ends[(end ^ 1) as usize].written.pop_front() else {
            // The connection was closed meanwhile.
            return;
        };
        if let Some((publication, received)) = self.react(end, packet) {
            self.hand_over(client, publication, received);
        }
        self.begin_client_service(client);
    }

    fn queue_at_broker(&mut self, number: u32) {
        while self.arrived(number, self.ends[number as usize].queued).is_some() {
            self.ends[number as usize].queued += 1;
            self.broker.queue.push_back(number);
        }
        self.begin_broker_service();
    }

    fn begin_broker_service(&mut self) {
        if self.broker.busy {
            return;
        }
        while let Some(&number) = self.broker.queue.front() {
            let Some(packet) = self.arrived(number, 0) else {
                // The connection was closed meanwhile.
                self.broker.queue.pop_front();
                continue;
            };
            self.broker.busy = true;
            let served = self.now + self.config.broker.cost(&packet);
            self.events.push(served, Happening::BrokerServed);
            return;
        }
    }

    fn serve_at_broker(&mut self) {
        self.broker.busy = false;
        let Some(number) = self.broker.queue.pop_front() else {
            return;
        };
        if let Some((_, packet)) = self.ends[(number ^ 1) as usize].written.pop_front() {
            self.ends[number as usize].queued -= 1;
            if let Some((publication, _)) = self.react(number, packet) {
                self.forward(publication);
            }
        }
        self.begin_broker_service();
    }

    /// Runs a packet through a session; gives a message to pass on.
    fn react(&mut self, number: u32, packet: Packet) -> Option<(Publication, Time)> {
        let rules = self.rules(number);
        let reaction = self.ends[number as usize].session.receive(self.now, packet, &rules);
        for packet in [reaction.answer, reaction.follow_up].into_iter().flatten() {
            self.write(number, packet);
        }
        reaction.passed_on
    }

    fn forward(&mut self, publication: Publication) {
        match publication.topic {
            Topic::Client(client) => self.begin_exchange(client.0 * 2 + 1, publication),
            Topic::Shared(topic) => {
                let subscribers = core::mem::take(&mut self.topics[topic.0 as usize]);
                for client in &subscribers {
                    self.begin_exchange(client.0 * 2 + 1, publication);
                }
                self.topics[topic.0 as usize] = subscribers;
            }
        }
    }

    fn hand_over(&mut self, number: u32, publication: Publication, received: Time) {
        let client = &mut self.clients[number as usize];
        let read = received + client.processing.payload_handling;
        let at = self.now.max(read).max(client.last_hand_over);
        client.last_hand_over = at;
        self.traffic.deliveries += 1;
        let Publication { message, from, .. } = publication;
        let event = Event::Delivered { client: ClientId(number), message, from };
        if at == self.now {
            self.ready.push_back(event);
        } else {
            let number = self.in_handling.insert(event);
            self.events.push(at, Happening::HandOver(number));
        }
    }
}

/// Whether a connection end is a client's; the others are the broker's.
const fn is_client(number: u32) -> bool {
    number.is_multiple_of(2)
}
