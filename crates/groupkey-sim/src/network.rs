//! The network: clients, one broker, and the connections between them, in virtual time.
//!
//! The caller publishes and sets wake-up calls, then polls. Each [`Network::poll`] runs the network
//! up to the next event that the caller must know. Nothing happens between polls.

mod reconnection;

use std::collections::{BTreeSet, VecDeque};

use slab::Slab;

use crate::config::{NetworkConfig, Processing};
use crate::connection::{Coming, KEEP_ALIVES, Schedule};
use crate::connection::{ConnectionEnd, ConnectionPair, StepContext};
use crate::events::EventQueue;
use crate::link::{Link, LinkProfile, PacketLoad};
use crate::mqtt::{MqttPacket, Publication, SessionRules};
use crate::name::{ClientId, MessageId, Topic, TopicId};
use crate::outage::OutageProcess;
use crate::random::RandomStream;
use crate::run_ahead;
use crate::run_ahead::{Lead, RunAheadResult, RunAheadStop};
use crate::tcp::{GaveUp, SetUp};
use crate::time::{Duration, EventKey, Time};
use crate::traffic::Traffic;

use self::reconnection::{ClientAccess, ConnectionEvent};

/// The direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Broker to client.
    Down,
    /// Client to broker.
    Up,
}

/// An event that the caller must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A subscriber's application has the message.
    Delivered {
        /// The subscriber.
        client: ClientId,
        /// The publisher.
        from: ClientId,
        /// The publisher's tag.
        message: MessageId,
    },
    /// The client has a connection again.
    Connected {
        /// The client.
        client: ClientId,
        /// Whether the broker has kept the session.
        session_present: bool,
    },
    /// The client's connection has ended. Without [`NetworkConfig::reconnection`] TCP gave it up: it
    /// stays closed, and messages under way are lost.
    Disconnected {
        /// The client.
        client: ClientId,
    },
    /// More than [`NetworkConfig::max_events`] events passed. The network has stopped for good.
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
    /// Events that were not reported to the caller yet.
    ready: VecDeque<NetworkEvent>,
    /// By client. Where an end of a connection needs a number, the end of client `i` has `2 i`, and
    /// the broker's end has `2 i + 1`.
    connections: Vec<ConnectionPair>,
    /// Connections that begin to run ahead at the present time.
    setting_off: Vec<u32>,
    clients: Vec<ClientState>,
    /// The number by which each client's links draw.
    drawn_as: Vec<u32>,
    topics: Vec<BTreeSet<ClientId>>,
    broker: BrokerState,
    in_handling: Slab<NetworkEvent>,
    wake_ups: Slab<u64>,
    connection_events: Slab<ConnectionEvent>,
    /// Number of connections with messages under way, if connections end.
    owing: usize,
    /// When the last message was published.
    published: Time,
    traffic: Traffic,
}

/// An entry of the event queue. Numbers refer to slabs, clients or connection ends.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Arrival(u32),
    BrokerServed,
    ClientServed(u32),
    Connection(u32),
    HandOver(u32),
    /// The others catch up with a connection that was ahead.
    Meeting(u32),
    Timer(u32),
    Wake(u32),
}

#[derive(Debug)]
struct ClientState {
    processing: Processing,
    busy: bool,
    /// The time of the latest hand-over: hand-overs do not overtake one another.
    last_hand_over: Time,
    /// Set if connections end.
    access: Option<Box<ClientAccess>>,
}

#[derive(Debug, Default)]
struct BrokerState {
    /// Connection ends with a packet to serve, one entry per packet.
    queue: VecDeque<u32>,
    busy: bool,
    outages: Option<OutageProcess>,
    has_failed: bool,
    /// It looks for silent clients at times that do not depend on how long a group rested before.
    settled: Time,
    /// When it passed on the first and the last message since then.
    passed_on: Option<(Time, Time)>,
}

impl Network {
    /// Makes a network with a broker and no clients.
    pub fn new(config: NetworkConfig) -> Self {
        let mut network = Self {
            config,
            now: Time::ZERO,
            events: EventQueue::new(),
            passed: 0,
            ready: VecDeque::new(),
            connections: Vec::new(),
            setting_off: Vec::new(),
            clients: Vec::new(),
            drawn_as: Vec::new(),
            topics: Vec::new(),
            broker: BrokerState::default(),
            in_handling: Slab::new(),
            wake_ups: Slab::new(),
            connection_events: Slab::new(),
            owing: 0,
            published: Time::ZERO,
            traffic: Traffic::NONE,
        };
        network.begin_broker_outages();
        network
    }

    /// Adds a client whose session is connected and subscribed to its own topic. Its round-trip
    /// estimate is that of a set-up exchange at the links' nominal delay.
    pub fn add_client(&mut self, up: LinkProfile, down: LinkProfile) -> ClientId {
        self.add_client_drawn_as(self.clients.len() as u32, up, down)
    }

    /// Does the same for a client whose links draw what those of the client with this number draw in
    /// a network of all clients. So a network of some of them can stand for it.
    pub fn add_client_drawn_as(
        &mut self,
        drawn_as: u32,
        up: LinkProfile,
        down: LinkProfile,
    ) -> ClientId {
        let number = self.clients.len() as u32;
        self.drawn_as.push(drawn_as);
        let round_trip = up.delay_at(self.now) + down.delay_at(self.now);
        let set_up = SetUp { now: self.now, round_trip, ..SetUp::at_once(&self.config.tcp) };
        self.connections.push(ConnectionPair::new(
            [up, down],
            luck(&self.config, drawn_as),
            &set_up,
        ));
        let processing = self.config.client;
        let access = self.new_access(number);
        let last_hand_over = Time::ZERO;
        self.clients.push(ClientState { processing, busy: false, last_hand_over, access });
        ClientId(number)
    }

    /// Lets hours pass after `done`, in which only keep-alives go over the connections. Nothing that
    /// was before is felt after that: not in TCP's estimates and windows, not in the states of
    /// links, and all randomness comes from `seed`. Nothing may be under way. A connection that
    /// was closed stays closed. If connections end, outages are in their steady state: links and the
    /// broker have failed, and clients are away, as often as at any other time.
    pub fn settle(&mut self, done: Time, seed: u64) {
        debug_assert!(self.ready.is_empty() && self.wake_ups.is_empty(), "nothing is under way");
        self.config.seed = seed;
        self.broker.passed_on = None;
        let latest = self.begin_anew();
        let felt = latest.iter().map(|(_, outage)| outage.began).max().unwrap_or(Duration::ZERO);
        let phase = RandomStream::new(seed, REST_PHASE).uniform() * HOURS.as_nanos() as f64;
        let whole = (self.now.max(done) + felt).as_nanos() / HOURS.as_nanos() + 1;
        let settled = whole * HOURS.as_nanos() + phase as u64;
        self.now = Time::from_nanos(settled - felt.as_nanos());
        self.passed = 0;
        let Self { now, config, connections, drawn_as, .. } = self;
        for (&number, connection) in drawn_as.iter().zip(connections).filter(|(_, one)| one.open[0])
        {
            let keep_alives = connection.keep_alives(*now, luck(config, number));
            let round_trip = connection.round_trip_at(*now);
            let keep_alives = &keep_alives;
            let set_up =
                SetUp { now: *now, round_trip, keep_alives, ..SetUp::at_once(&config.tcp) };
            connection.settle(&set_up);
        }
        if self.config.reconnection.is_some() {
            self.catch_up_with(latest, Time::from_nanos(settled));
        }
    }

    /// Returns whether the link to the client of this number loses one of the first packets that it
    /// carries after the network has [settled](Self::settle) with this seed. `None` if that depends on
    /// more than random numbers: losses in bursts, a queue that overflows, settings that change.
    pub fn loses_one_of(down: &LinkProfile, seed: u64, client: u32, packets: u32) -> Option<bool> {
        let random = RandomStream::new(seed, u64::from(client) * 2 + 1);
        Link::loses_one_of(down, &random, KEEP_ALIVES, packets)
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

    pub(crate) fn subscribers(&self, topic: Topic) -> impl Iterator<Item = ClientId> {
        let (alone, several) = match topic {
            Topic::Client(client) => (Some(client), None),
            Topic::Shared(topic) => (None, self.topics.get(topic.0 as usize)),
        };
        alone.into_iter().chain(several.into_iter().flatten().copied())
    }

    /// Replaces one direction of a client's link from now on.
    pub fn set_link(&mut self, client: ClientId, direction: Direction, profile: LinkProfile) {
        self.set_back(client.0);
        let side = usize::from(direction == Direction::Down);
        self.connections[client.index()].ends[side].path.link.change(profile);
    }

    /// Replaces a client's processing times from now on.
    pub fn set_processing(&mut self, client: ClientId, processing: Processing) {
        self.clients[client.index()].processing = processing;
    }

    /// Publishes a message of `payload_bytes` under a topic name of `topic_bytes`. All subscribers
    /// get it, including the publisher if it subscribes (MQTT 3.1.1 knows no exception). On a
    /// connection that stays closed nothing happens.
    pub fn publish(
        &mut self,
        from: ClientId,
        topic: Topic,
        message: MessageId,
        payload_bytes: u32,
        topic_bytes: u16,
    ) {
        let publication = Publication { message, from, topic, payload_bytes, topic_bytes };
        self.published = self.now;
        self.begin_exchange(from.0 * 2, publication);
    }

    /// Sets a wake-up call; a time that has passed means now.
    pub fn wake_at(&mut self, time: Time, token: u64) {
        let number = self.wake_ups.insert(token) as u32;
        self.events.push(time.max(self.now), Happening::Wake(number));
    }

    /// Advances virtual time to the next event that the caller must know. Returns `None` when
    /// nothing is left; if connections end, when no message is under way.
    pub fn poll(&mut self) -> Option<NetworkEvent> {
        self.advance_to_event(Self::is_quiet)
    }

    fn advance_to_event(&mut self, is_over: fn(&Self) -> bool) -> Option<NetworkEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if is_over(self) {
                return None;
            }
            if self.passed > self.config.max_events {
                return None;
            }
            self.send_ahead();
            let (due, happening) = self.events.pop()?;
            if !self.is_valid(due, happening) {
                continue;
            }
            debug_assert!(due.time() >= self.now, "time goes forward");
            self.now = due.time();
            self.passed += match happening {
                Happening::Meeting(number) => self.meet(number),
                _ => 1,
            };
            if self.passed > self.config.max_events {
                return Some(NetworkEvent::Unsettled);
            }
            self.advance(happening);
        }
    }

    /// Returns the present virtual time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns the packets that a client has sent so far, lost or not, and those that reached it.
    /// They are complete when nothing is under way.
    pub fn packets(&self, client: ClientId) -> [PacketLoad; 2] {
        let [up, down] =
            [0, 1].map(|side| self.connections[client.index()].ends[side].path.link.load());
        [up.sent, down.arrived]
    }

    /// Returns when the broker passed on the first and the last message since the network
    /// [settled](Self::settle).
    pub const fn passed_on(&self) -> Option<(Time, Time)> {
        self.broker.passed_on
    }

    /// Returns the counters so far.
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn advance(&mut self, happening: Happening) {
        match happening {
            Happening::Arrival(number) => self.arrive(number),
            Happening::BrokerServed => self.serve_at_broker(),
            Happening::ClientServed(client) => self.serve_at_client(client),
            Happening::Connection(number) => {
                let event = self.connection_events.remove(number as usize);
                self.handle_connection_event(event);
            }
            Happening::HandOver(number) => {
                let event = self.in_handling.remove(number as usize);
                self.ready.push_back(event);
            }
            Happening::Meeting(number) => self.go_on_after(number),
            Happening::Timer(end) => self.expire(end),
            Happening::Wake(number) => {
                let token = self.wake_ups.remove(number as usize);
                self.ready.push_back(NetworkEvent::Wake { token });
            }
        }
    }

    /// Returns whether a queued event is still to come. Events of a connection that is ahead are
    /// not: they have happened, or will be queued again. Neither moves the clock.
    fn is_valid(&mut self, due: EventKey, happening: Happening) -> bool {
        match happening {
            Happening::Arrival(number) => {
                let connection = &self.connections[number as usize / 2];
                connection.lead.is_none() && connection.next_arrival(side(number)) == due
            }
            Happening::Meeting(number) => {
                let lead = &self.connections[number as usize].lead;
                lead.as_ref().is_some_and(|lead| lead.meeting == Some(due.number()))
            }
            Happening::Timer(number) => {
                let connection = &mut self.connections[number as usize / 2];
                if connection.lead.is_some() {
                    return false;
                }
                if connection.timer(side(number)) != due {
                    connection.drop_superseded(side(number), due);
                    return false;
                }
                let (connection, mut step) = self.step(number / 2);
                step.now = due.time();
                connection.timer_is_due(side(number), &mut step)
            }
            _ => true,
        }
    }

    fn step(&mut self, number: u32) -> (&mut ConnectionPair, StepContext<'_, ConnectionQueue<'_>>) {
        let step = StepContext {
            now: self.now,
            profile: &self.config.tcp,
            traffic: &mut self.traffic,
            schedule: ConnectionQueue { events: &mut self.events, connection: number },
        };
        (&mut self.connections[number as usize], step)
    }

    fn expire(&mut self, number: u32) {
        let (connection, mut step) = self.step(number / 2);
        let result = connection.expire(side(number), &mut step);
        let times_out = connection.ends[side(number)].path.tcp.times_out();
        match result {
            Ok(()) if times_out => self.watch(number / 2),
            Ok(()) => {}
            Err(GaveUp) => self.close(number),
        }
    }

    /// Ends a connection that TCP at this end gave up.
    fn close(&mut self, number: u32) {
        if self.config.reconnection.is_some() {
            self.lose(number);
            return;
        }
        self.connections[number as usize / 2].close();
        self.ready.push_back(NetworkEvent::Disconnected { client: ClientId(number / 2) });
    }

    fn arrive(&mut self, number: u32) {
        let (connection, mut step) = self.step(number / 2);
        let is_open = connection.open[side(number)];
        if connection.arrive(side(number), &mut step) {
            self.take_in(number);
        }
        if !is_open {
            self.refuse_segment(number);
        }
        self.consider_lead(number / 2);
    }

    /// Handles new data that has arrived at an end.
    fn take_in(&mut self, number: u32) {
        if is_client(number) {
            self.begin_client_service(number / 2);
        } else {
            self.note_heard(number / 2);
            self.queue_at_broker(number);
        }
    }

    /// Lets a connection go ahead if a long packet is under way and nothing else is.
    fn consider_lead(&mut self, number: u32) {
        let connection = &self.connections[number as usize];
        let long = connection.lacking() >= u64::from(self.config.ahead_bytes);
        if !long || connection.lead.is_some() || connection.open != [true; 2] {
            return;
        }
        let served = !self.clients[number as usize].busy && connection.is_served();
        if served {
            let lead = Lead::begin(connection, self.events.numbered(), &self.config.tcp);
            self.connections[number as usize].lead = Some(Box::new(lead));
            self.setting_off.push(number);
        }
    }

    /// Runs the connections that begin to run ahead, up to the event that the others must know of.
    fn send_ahead(&mut self) {
        if self.setting_off.is_empty() {
            return;
        }
        let mut numbers = core::mem::take(&mut self.setting_off);
        numbers.sort_unstable();
        numbers.dedup();
        let NetworkConfig { tcp, threads, max_events, .. } = &self.config;
        let most = max_events.saturating_sub(self.passed) + 1;
        run_ahead::run_all(&mut self.connections, &numbers, *threads, tcp, self.now, most);
        let meeting = |&number: &u32| {
            let lead = self.connections[number as usize].lead.as_ref();
            (lead.map_or(self.now, |lead| lead.course().at), Happening::Meeting(number))
        };
        let first = self.events.push_all(numbers.iter().map(meeting).collect());
        for (meeting, &number) in (first..).zip(&numbers) {
            if let Some(lead) = &mut self.connections[number as usize].lead {
                lead.meeting = Some(meeting);
            }
        }
        numbers.clear();
        self.setting_off = numbers;
    }

    /// Sets a connection back to the present time before it is changed.
    fn set_back(&mut self, number: u32) {
        let Some(mut lead) = self.connections[number as usize].lead.take() else {
            return;
        };
        if lead.meeting.is_some() {
            let connection = &mut self.connections[number as usize];
            let course = lead.set_back(connection, self.now, &self.config.tcp);
            self.traffic = self.traffic + course.traffic;
            self.passed += course.events;
            self.setting_off.push(number);
        }
        self.connections[number as usize].lead = Some(lead);
    }

    /// Adds the traffic of a connection that was ahead. Returns its number of events.
    fn meet(&mut self, number: u32) -> u64 {
        let lead = self.connections[number as usize].lead.as_ref();
        let Some(&RunAheadResult { events, traffic, .. }) = lead.map(|lead| lead.course()) else {
            return 0;
        };
        self.traffic = self.traffic + traffic;
        events
    }

    /// Handles the event that ended a connection's lead.
    fn go_on_after(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        let Some(mut lead) = connection.lead.take() else {
            return;
        };
        match lead.course().stop {
            RunAheadStop::Arrived(side) => {
                connection.reschedule(&mut ConnectionQueue {
                    events: &mut self.events,
                    connection: number,
                });
                self.take_in(number * 2 + side as u32);
            }
            RunAheadStop::GaveUp(side) => self.close(number * 2 + side as u32),
            RunAheadStop::Limit => {
                lead.go_on();
                connection.lead = Some(lead);
                self.setting_off.push(number);
            }
        }
    }

    fn begin_exchange(&mut self, number: u32, publication: Publication) {
        if !self.may_write(number) {
            self.put_off(number, publication);
            return;
        }
        let rules = self.rules(number);
        if let Some(packet) = self.end(number).session.publish(publication, &rules) {
            self.write(number, packet);
        }
        self.note_debt(number / 2);
    }

    fn write(&mut self, number: u32, packet: MqttPacket) {
        self.set_back(number / 2);
        let bytes = packet.bytes(self.config.qos);
        self.traffic.mqtt_packets += 1;
        let (connection, mut step) = self.step(number / 2);
        match connection.lead.take() {
            None => connection.write(side(number), packet, bytes, &mut step),
            Some(mut lead) => {
                let mut step = step.scheduled_by(&mut lead.numbers);
                connection.write(side(number), packet, bytes, &mut step);
                connection.lead = Some(lead);
            }
        }
        self.consider_lead(number / 2);
    }

    const fn rules(&self, number: u32) -> SessionRules {
        SessionRules {
            qos: self.config.qos,
            hand_over: if is_client(number) {
                self.config.hand_over
            } else {
                self.config.broker_forwards_on
            },
            max_in_flight: self.config.max_in_flight,
        }
    }

    /// Returns the packet at `place` in the stream to a connection end, if it has arrived in full.
    fn arrived(&self, number: u32, place: u32) -> Option<MqttPacket> {
        self.connections[number as usize / 2].arrived(side(number), place)
    }

    fn end(&mut self, number: u32) -> &mut ConnectionEnd {
        &mut self.connections[number as usize / 2].ends[side(number)]
    }

    fn begin_client_service(&mut self, client: u32) {
        let ClientState { busy, processing, .. } = self.clients[client as usize];
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
        let Some((_, packet)) = self.end(end ^ 1).written.pop_front() else {
            // The connection was closed meanwhile.
            return;
        };
        if let Some((publication, received)) = self.react(end, packet) {
            self.hand_over(client, publication, received);
        }
        self.note_debt(client);
        self.begin_client_service(client);
    }

    fn queue_at_broker(&mut self, number: u32) {
        let (connection, end) = (&mut self.connections[number as usize / 2], side(number));
        while connection.arrived(end, connection.ends[end].queued).is_some() {
            connection.ends[end].queued += 1;
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
        if let Some((_, packet)) = self.end(number ^ 1).written.pop_front() {
            self.end(number).queued -= 1;
            if let Some((publication, _)) = self.react(number, packet) {
                self.forward(publication);
            }
            self.note_debt(number / 2);
        }
        self.begin_broker_service();
    }

    /// Runs a packet through a session. Returns a message to pass on.
    fn react(&mut self, number: u32, packet: MqttPacket) -> Option<(Publication, Time)> {
        if self.take_connection_packet(number, packet) {
            return None;
        }
        let rules = self.rules(number);
        let now = self.now;
        let reaction = self.end(number).session.receive(now, packet, &rules);
        for packet in [reaction.answer, reaction.follow_up].into_iter().flatten() {
            self.write(number, packet);
        }
        reaction.passed_on
    }

    fn forward(&mut self, publication: Publication) {
        let first = self.broker.passed_on.map_or(self.now, |(first, _)| first);
        self.broker.passed_on = Some((first, self.now));
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
        let event = NetworkEvent::Delivered { client: ClientId(number), message, from };
        if at == self.now {
            self.ready.push_back(event);
        } else {
            let number = self.in_handling.insert(event) as u32;
            self.events.push(at, Happening::HandOver(number));
        }
    }
}

/// The random stream of when a rest ends. Links have the numbers below.
const REST_PHASE: u64 = (1 << 40) - 2;
/// A rest ends this long after a multiple of itself, at most. All ticks of timers divide it: so it
/// does not matter which multiple.
const HOURS: Duration = Duration::from_secs(8_192);

fn luck(config: &NetworkConfig, client: u32) -> [RandomStream; 2] {
    [0, 1].map(|side| RandomStream::new(config.seed, u64::from(client) * 2 + side))
}

/// Returns whether a connection end is a client's. The others are the broker's.
const fn is_client(number: u32) -> bool {
    number.is_multiple_of(2)
}

const fn side(number: u32) -> usize {
    (number % 2) as usize
}

/// The queue of all events, for one connection.
struct ConnectionQueue<'a> {
    events: &'a mut EventQueue<Happening>,
    connection: u32,
}

impl Schedule for ConnectionQueue<'_> {
    fn schedule(&mut self, time: Time, coming: Coming) -> u64 {
        let number = |side: usize| self.connection * 2 + side as u32;
        let happening = match coming {
            Coming::Segment(side) => Happening::Arrival(number(side)),
            Coming::Timer(side) => Happening::Timer(number(side)),
        };
        self.events.push(time, happening)
    }
}
