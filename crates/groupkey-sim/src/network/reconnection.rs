//! Connections that end, and clients that come back.
//!
//! A link that fails says nothing: packets vanish. So keep-alives, TCP, or the other end must find
//! out. They matter only then: a client whose link works and whose connection is whole pings
//! unseen. It is watched from the beginning of an outage, from a retransmission timeout, or from the
//! moment at which the broker closed its end. That ends when a ping is answered over a whole
//! connection, or with a new one.
//!
//! A client that closes its end takes the broker's with it: nothing can reach it there any more.

use super::{Happening, Network, NetworkEvent, is_client, side};
use crate::mqtt::{MqttPacket, Publication};
use crate::name::ClientId;
use crate::network::ConnectionQueue;
use crate::outage::{LatestOutage, OutageProcess, Outages, Reconnection, SessionState};
use crate::random::RandomStream;
use crate::tcp::SetUp;
use crate::time::{Duration, Time};

/// How a client is connected, in a network whose connections end.
#[derive(Debug)]
pub(super) struct ClientAccess {
    outages: Option<OutageProcess>,
    link_failed: bool,
    random: RandomStream,
    phase: Phase,
    /// Whether the broker has taken CONNECT on the present connection, and the subscriptions.
    attached: bool,
    subscribed: bool,
    /// Number of the present attempt or connection.
    generation: u32,
    /// Attempts and connections in a row that failed or did not last.
    failures: u32,
    connected_at: Time,
    watched: bool,
    /// Whether a PINGREQ is not answered, and whether one was since the client is watched.
    unanswered: bool,
    answered: bool,
    /// When the broker last received a packet of the client.
    heard: Time,
    owes: bool,
}

/// What a client does about its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connected,
    /// It waits for CONNACK, once its SYN was accepted.
    Asking {
        since: Time,
        accepted: bool,
    },
    /// It waits before the next attempt.
    Waiting,
}

/// An event of a connection's set-up and end.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConnectionEvent {
    /// The broker fails, or works again.
    Broker,
    /// A client begins an attempt, repeats its SYN, or gives the attempt up.
    Dial {
        client: u32,
        generation: u32,
    },
    /// The broker looks whether it has heard a client lately.
    Hear {
        client: u32,
        generation: u32,
    },
    /// A link fails, or works again.
    Link {
        client: u32,
    },
    Ping {
        client: u32,
        generation: u32,
    },
    /// A RST arrives at the client.
    Reset {
        client: u32,
        generation: u32,
    },
    /// A SYN arrives at the broker.
    Syn {
        client: u32,
        generation: u32,
        sent: Time,
    },
    SynAnswer {
        client: u32,
        generation: u32,
        sent: Time,
        accepted: bool,
    },
}

impl Network {
    /// Lets a client's link fail from now on as often as this. Both directions fail at once, and
    /// silently: all packets are lost.
    ///
    /// # Panics
    /// If the network has no [`Reconnection`](crate::Reconnection).
    pub fn set_outages(&mut self, client: ClientId, outages: Outages) {
        let number = client.0;
        let process = OutageProcess::new(outages, self.luck_of_outages(number));
        let access = self.access(number).expect("its connections can end");
        let until = access.outages.insert(process).until_change();
        self.schedule(self.now + until, ConnectionEvent::Link { client: number });
    }

    /// Begins or ends an outage of a client's link now. Outages that were drawn go on.
    pub fn set_outage(&mut self, client: ClientId, failed: bool) {
        self.fail_link(client.0, failed);
    }

    /// Stops the broker now, or starts it again. It closes all connections when it stops, and keeps
    /// its sessions as far as they are kept at all.
    pub fn set_broker_outage(&mut self, failed: bool) {
        self.fail_broker(failed);
    }

    /// Advances virtual time to the next event that the caller must know, although nothing is under
    /// way. Returns `None` if nothing is left, or if the last message was published a month ago.
    pub fn wait(&mut self) -> Option<NetworkEvent> {
        self.advance_to_event(Self::is_overdue)
    }

    /// Returns whether a client's link works and both ends of its connection are open, so that it
    /// will learn nothing from a reconnection.
    pub fn is_connected(&self, client: ClientId) -> bool {
        let Some(access) = &self.clients[client.index()].access else {
            return self.connections[client.index()].open[0];
        };
        access.phase == Phase::Connected && access.attached && !access.link_failed
    }

    /// Returns whether no message is under way, in a network whose connections end: links and
    /// keep-alives go on for ever. Otherwise a network is quiet when nothing is left.
    pub(super) fn is_quiet(&self) -> bool {
        let Self { owing, in_handling, wake_ups, config, .. } = self;
        config.reconnection.is_some()
            && (*owing == 0 && in_handling.is_empty() && wake_ups.is_empty() || self.is_overdue())
    }

    /// Returns whether the last message was published so long ago that nothing more is awaited.
    fn is_overdue(&self) -> bool {
        self.config.reconnection.is_some() && self.now.since(self.published) > LONGEST_WAIT
    }

    pub(super) fn new_access(&self, client: u32) -> Option<Box<ClientAccess>> {
        self.config.reconnection.as_ref()?;
        Some(Box::new(ClientAccess {
            outages: None,
            link_failed: false,
            random: self.luck_of_access(client),
            phase: Phase::Connected,
            attached: true,
            subscribed: true,
            generation: 0,
            failures: 0,
            connected_at: self.now,
            watched: false,
            unanswered: false,
            answered: false,
            heard: self.now,
            owes: false,
        }))
    }

    pub(super) fn begin_broker_outages(&mut self) {
        let outages = self.config.reconnection.and_then(|reconnection| reconnection.broker);
        let Some(outages) = outages else { return };
        let random = RandomStream::new(self.config.seed, OUTAGES_OF_BROKER);
        let until = self.broker.outages.insert(OutageProcess::new(outages, random)).until_change();
        self.schedule(self.now + until, ConnectionEvent::Broker);
    }

    /// Lets all connections be whole and all outages begin anew in their steady state. Returns the
    /// latest outages that are still felt.
    pub(super) fn begin_anew(&mut self) -> Vec<(ConnectionEvent, LatestOutage)> {
        let Some(reconnection) = self.config.reconnection else { return Vec::new() };
        let memory = reconnection.memory();
        self.events.clear();
        self.connection_events.clear();
        self.in_handling.clear();
        self.setting_off.clear();
        self.broker.queue.clear();
        (self.broker.busy, self.owing) = (false, 0);
        let mut latest = Vec::new();
        for client in 0..self.clients.len() as u32 {
            let random = self.luck_of_outages(client);
            let access = self.new_access(client);
            self.clients[client as usize].busy = false;
            let old = core::mem::replace(&mut self.clients[client as usize].access, access);
            let connection = &mut self.connections[client as usize];
            connection.lead = None;
            connection.ends.iter_mut().for_each(|end| end.session = Default::default());
            connection.set_outage(false);
            connection.reopen(&SetUp::at_once(&self.config.tcp));
            if let Some(mut process) = old.and_then(|old| old.outages) {
                let began = process.begin_anew(random, memory);
                latest.push((ConnectionEvent::Link { client }, began));
                if let Some(access) = self.access(client) {
                    access.outages = Some(process);
                }
            }
        }
        if let Some(process) = &mut self.broker.outages {
            let random = RandomStream::new(self.config.seed, OUTAGES_OF_BROKER);
            latest.push((ConnectionEvent::Broker, process.begin_anew(random, memory)));
        }
        latest
    }

    /// Lets the latest outages happen, up to this time.
    pub(super) fn catch_up_with(
        &mut self,
        latest: Vec<(ConnectionEvent, LatestOutage)>,
        settled: Time,
    ) {
        for (event, LatestOutage { began }) in latest {
            let at = if began > Duration::ZERO {
                Time::from_nanos(settled.as_nanos() - began.as_nanos())
            } else {
                let process = match event {
                    ConnectionEvent::Link { client } => {
                        self.access(client).and_then(|access| access.outages.as_mut())
                    }
                    _ => self.broker.outages.as_mut(),
                };
                settled + process.map_or(LONGEST_WAIT, OutageProcess::until_change)
            };
            self.schedule(at, event);
        }
        (self.published, self.broker.settled) = (settled, settled);
        self.wake_at(settled, SETTLED);
        let is_over = |event| {
            matches!(event, NetworkEvent::Wake { token: SETTLED } | NetworkEvent::Unsettled)
        };
        while self.wait().is_some_and(|event| !is_over(event)) {}
        self.passed = 0;
    }

    /// Returns whether an end may write to its connection: a session holds there.
    pub(super) fn may_write(&self, number: u32) -> bool {
        let client = number / 2;
        let Some(access) = &self.clients[client as usize].access else {
            return self.connections[client as usize].open[side(number)];
        };
        match is_client(number) {
            true => access.phase == Phase::Connected,
            false => access.attached && access.subscribed,
        }
    }

    /// Keeps a message for later at an end that may not write, if that end keeps it. A client keeps
    /// its own, whatever the QoS, as `groupkey-mqtt`'s driver does.
    pub(super) fn put_off(&mut self, number: u32, publication: Publication) {
        let Some(reconnection) = self.config.reconnection else { return };
        if is_client(number) || reconnection.keeps(self.config.qos) {
            self.end(number).session.hold(publication);
            self.note_debt(number / 2);
        }
    }

    /// Notes whether a message is under way on a connection.
    pub(super) fn note_debt(&mut self, client: u32) {
        let Some(access) = &mut self.clients[client as usize].access else { return };
        let owes = self.connections[client as usize].owes();
        match (core::mem::replace(&mut access.owes, owes), owes) {
            (false, true) => self.owing += 1,
            (true, false) => self.owing -= 1,
            _ => {}
        }
    }

    pub(super) fn note_heard(&mut self, client: u32) {
        let now = self.now;
        if let Some(access) = self.access(client) {
            access.heard = now;
        }
    }

    /// Handles a segment that has arrived at a closed end: it is answered with RST (RFC 9293, section
    /// 3.10.7.1). Only the broker's end is ever closed alone.
    pub(super) fn refuse_segment(&mut self, number: u32) {
        let client = number / 2;
        if self.config.reconnection.is_some() && self.connections[client as usize].open[0] {
            self.send_reset(client);
        }
    }

    /// Ends a connection of which TCP at this end gave up.
    pub(super) fn lose(&mut self, number: u32) {
        match is_client(number) {
            true => self.lose_at_client(number / 2),
            false => self.lose_at_broker(number / 2),
        }
    }

    pub(super) fn take_connection_packet(&mut self, number: u32, packet: MqttPacket) -> bool {
        let client = number / 2;
        match packet {
            MqttPacket::Connect => {
                let kept = self.keeps_sessions();
                if let Some(access) = self.access(client) {
                    (access.attached, access.subscribed) = (true, kept);
                }
                self.write(number, MqttPacket::ConnAck { session_present: kept });
                self.resume(number);
            }
            MqttPacket::ConnAck { session_present: true } => self.connected(client, true),
            MqttPacket::ConnAck { .. } => self.write(number, MqttPacket::Subscribe),
            MqttPacket::Subscribe => {
                if let Some(access) = self.access(client) {
                    access.subscribed = true;
                }
                self.write(number, MqttPacket::SubAck);
            }
            MqttPacket::SubAck => self.connected(client, false),
            MqttPacket::PingReq => self.write(number, MqttPacket::PingResp),
            MqttPacket::PingResp => {
                if let Some(access) = self.access(client) {
                    (access.unanswered, access.answered) = (false, true);
                }
            }
            _ => return false,
        }
        true
    }

    pub(super) fn handle_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Broker => {
                let Some(process) = &mut self.broker.outages else { return };
                process.failed = !process.failed;
                let (failed, until) = (process.failed, process.until_change());
                self.schedule(self.now + until, event);
                self.fail_broker(failed);
            }
            ConnectionEvent::Link { client } => {
                let Some(process) = self.access(client).and_then(|it| it.outages.as_mut()) else {
                    return;
                };
                process.failed = !process.failed;
                let (failed, until) = (process.failed, process.until_change());
                self.schedule(self.now + until, event);
                self.fail_link(client, failed);
            }
            ConnectionEvent::Dial { client, generation } if self.is_at(client, generation) => {
                self.dial(client);
            }
            ConnectionEvent::Hear { client, generation } if self.is_at(client, generation) => {
                self.look_whether_heard(client);
            }
            ConnectionEvent::Ping { client, generation } if self.is_at(client, generation) => {
                self.ping(client);
            }
            ConnectionEvent::Reset { client, generation } if self.is_at(client, generation) => {
                self.lose_at_client(client);
            }
            ConnectionEvent::Syn { client, generation, sent } => {
                let accepted = !self.broker.has_failed;
                if let Some(at) = self.carry_alone(client * 2 + 1, SYN_BYTES) {
                    let answer = ConnectionEvent::SynAnswer { client, generation, sent, accepted };
                    self.schedule(at, answer);
                }
            }
            ConnectionEvent::SynAnswer { client, generation, sent, accepted }
                if self.is_at(client, generation) =>
            {
                self.take_syn_answer(client, sent, accepted);
            }
            // It belongs to a connection that is over.
            _ => {}
        }
    }

    fn fail_link(&mut self, client: u32, failed: bool) {
        self.set_back(client);
        self.connections[client as usize].set_outage(failed);
        let Some(access) = self.access(client) else { return };
        access.link_failed = failed;
        if failed {
            self.watch(client);
        }
    }

    fn fail_broker(&mut self, failed: bool) {
        self.broker.has_failed = failed;
        if !failed {
            return;
        }
        for client in 0..self.clients.len() as u32 {
            if self.connections[client as usize].open[1] {
                self.lose_at_broker(client);
            }
        }
    }

    /// Watches a client's connection: pings matter. The next one is due at any time within a
    /// keep-alive, and the last one was answered.
    pub(super) fn watch(&mut self, client: u32) {
        let (now, keep_alive) = (self.now, self.keep_alive());
        let Some(access) = self.access(client) else { return };
        if access.watched || access.phase != Phase::Connected {
            return;
        }
        access.watched = true;
        (access.unanswered, access.answered) = (false, false);
        let until = (access.random.uniform() * keep_alive.as_nanos() as f64) as u64;
        let due = now + Duration::from_nanos(until);
        let last = Time::from_nanos(due.as_nanos().saturating_sub(keep_alive.as_nanos()));
        access.heard = access.heard.max(last);
        let (generation, silent) = (access.generation, access.heard + broker_patience(keep_alive));
        self.schedule(due, ConnectionEvent::Ping { client, generation });
        let look = self.next_check(silent.max(now));
        self.schedule(look, ConnectionEvent::Hear { client, generation });
    }

    fn ping(&mut self, client: u32) {
        let (now, keep_alive) = (self.now, self.keep_alive());
        let Some(access) = self.access(client) else { return };
        if !access.watched || access.phase != Phase::Connected {
            return;
        }
        if access.unanswered {
            self.lose_at_client(client);
            return;
        }
        if access.answered && access.attached && !access.link_failed {
            access.watched = false;
            return;
        }
        access.unanswered = true;
        let generation = access.generation;
        self.write(client * 2, MqttPacket::PingReq);
        self.schedule(now + keep_alive, ConnectionEvent::Ping { client, generation });
    }

    fn look_whether_heard(&mut self, client: u32) {
        let (now, patience) = (self.now, broker_patience(self.keep_alive()));
        let Some(access) = self.access(client) else { return };
        if !access.watched || !access.attached {
            return;
        }
        let (due, generation) = (access.heard + patience, access.generation);
        if due <= now {
            self.lose_at_broker(client);
        } else {
            let look = self.next_check(due);
            self.schedule(look, ConnectionEvent::Hear { client, generation });
        }
    }

    /// Returns when the broker looks for silent clients next, from this time on.
    fn next_check(&self, from: Time) -> Time {
        let checks = self.config.reconnection.unwrap_or_default().checks.as_nanos();
        if checks == 0 {
            return from;
        }
        let phase = RandomStream::new(self.config.seed, CHECKS).uniform() * checks as f64;
        let first = (self.broker.settled.as_nanos() + phase as u64) % checks;
        let since = from.as_nanos().saturating_sub(first);
        Time::from_nanos(since.div_ceil(checks) * checks + first)
    }

    fn lose_at_broker(&mut self, client: u32) {
        self.detach(client);
        self.send_reset(client);
        self.watch(client);
    }

    /// Closes the client's end, which connects again after a pause.
    fn lose_at_client(&mut self, client: u32) {
        self.detach(client);
        self.connections[client as usize].close_end(0);
        if !self.keeps_sessions() {
            self.connections[client as usize].ends[0].session.begin_anew();
        }
        self.note_debt(client);
        let now = self.now;
        let Some(access) = self.access(client) else { return };
        let was_connected = access.phase == Phase::Connected;
        if was_connected && now.since(access.connected_at) >= LASTING {
            access.failures = 0;
        }
        if was_connected {
            self.ready.push_back(NetworkEvent::Disconnected { client: ClientId(client) });
        }
        self.pause(client);
    }

    /// Closes the broker's end. What it does not keep of the session is lost.
    fn detach(&mut self, client: u32) {
        self.end_lead(client);
        let kept = self.keeps_sessions();
        let connection = &mut self.connections[client as usize];
        connection.close_end(1);
        if !kept {
            connection.ends[1].session = Default::default();
        }
        if let Some(access) = self.access(client) {
            (access.attached, access.subscribed) = (false, kept);
        }
        self.note_debt(client);
    }

    /// Lets a connection that is ahead of the others be among them again.
    fn end_lead(&mut self, client: u32) {
        self.set_back(client);
        let connection = &mut self.connections[client as usize];
        if connection.lead.take().is_some() {
            let mut queue = ConnectionQueue { events: &mut self.events, connection: client };
            connection.reschedule(&mut queue);
            self.setting_off.retain(|other| *other != client);
        }
    }

    fn pause(&mut self, client: u32) {
        let Some(Reconnection { first_pause, longest_pause, .. }) = self.config.reconnection else {
            return;
        };
        let now = self.now;
        let Some(access) = self.access(client) else { return };
        let bound = (first_pause * 2_u64.saturating_pow(access.failures)).min(longest_pause);
        let pause = (access.random.uniform() * bound.as_nanos() as f64) as u64;
        access.failures = access.failures.saturating_add(1);
        access.generation += 1;
        (access.phase, access.watched) = (Phase::Waiting, false);
        let generation = access.generation;
        let at = now + Duration::from_nanos(pause);
        self.schedule(at, ConnectionEvent::Dial { client, generation });
    }

    fn dial(&mut self, client: u32) {
        let Some(Reconnection { patience, .. }) = self.config.reconnection else { return };
        let now = self.now;
        let Some(access) = self.access(client) else { return };
        let generation = access.generation;
        match access.phase {
            Phase::Connected => return,
            Phase::Asking { since, .. } if now.since(since) >= patience => {
                self.lose_at_client(client);
                return;
            }
            Phase::Asking { accepted: true, .. } => {}
            Phase::Waiting | Phase::Asking { accepted: false, .. } => {
                if access.phase == Phase::Waiting {
                    access.phase = Phase::Asking { since: now, accepted: false };
                }
                if let Some(at) = self.carry_alone(client * 2, SYN_BYTES) {
                    self.schedule(at, ConnectionEvent::Syn { client, generation, sent: now });
                }
            }
        }
        self.schedule(now + SYN_TIMEOUT, ConnectionEvent::Dial { client, generation });
    }

    fn take_syn_answer(&mut self, client: u32, sent: Time, accepted: bool) {
        let now = self.now;
        let Some(access) = self.access(client) else { return };
        let Phase::Asking { since, accepted: false } = access.phase else { return };
        if !accepted {
            self.lose_at_client(client);
            return;
        }
        access.phase = Phase::Asking { since, accepted: true };
        access.heard = now;
        let set_up = SetUp {
            now,
            round_trip: now.since(sent),
            round_trips: 1,
            ..SetUp::at_once(&self.config.tcp)
        };
        self.connections[client as usize].reopen(&set_up);
        self.write(client * 2, MqttPacket::Connect);
    }

    fn connected(&mut self, client: u32, session_present: bool) {
        let now = self.now;
        let Some(access) = self.access(client) else { return };
        (access.phase, access.connected_at) = (Phase::Connected, now);
        let is_in_doubt = access.link_failed || !access.attached;
        self.resume(client * 2);
        let client_id = ClientId(client);
        self.ready.push_back(NetworkEvent::Connected { client: client_id, session_present });
        if is_in_doubt {
            self.watch(client);
        }
    }

    /// Sends what an end's session has to send over a new connection.
    fn resume(&mut self, number: u32) {
        let rules = self.rules(number);
        for packet in self.end(number).session.resume(&rules) {
            self.write(number, packet);
        }
        self.note_debt(number / 2);
    }

    fn send_reset(&mut self, client: u32) {
        let generation = self.access(client).map_or(0, |access| access.generation);
        if let Some(at) = self.carry_alone(client * 2 + 1, RESET_BYTES) {
            self.schedule(at, ConnectionEvent::Reset { client, generation });
        }
    }

    /// Carries a packet that belongs to no stream. Returns when it arrives, unless it is lost.
    fn carry_alone(&mut self, number: u32, bytes: u32) -> Option<Time> {
        let now = self.now;
        let arrival = self.end(number).path.link.carry(now, bytes);
        self.traffic.segments += 1;
        self.traffic.wire_bytes += u64::from(bytes);
        self.traffic.lost += u64::from(arrival.is_none());
        arrival
    }

    fn schedule(&mut self, at: Time, event: ConnectionEvent) {
        let number = self.connection_events.insert(event) as u32;
        self.events.push(at, Happening::Connection(number));
    }

    fn access(&mut self, client: u32) -> Option<&mut ClientAccess> {
        self.clients[client as usize].access.as_deref_mut()
    }

    fn is_at(&self, client: u32, generation: u32) -> bool {
        let access = &self.clients[client as usize].access;
        access.as_ref().is_some_and(|access| access.generation == generation)
    }

    fn keep_alive(&self) -> Duration {
        self.config.reconnection.unwrap_or_default().keep_alive
    }

    fn keeps_sessions(&self) -> bool {
        let session = self.config.reconnection.map(|reconnection| reconnection.session);
        session == Some(SessionState::Kept)
    }

    fn luck_of_access(&self, client: u32) -> RandomStream {
        RandomStream::new(self.config.seed, ACCESS + u64::from(client))
    }

    fn luck_of_outages(&self, client: u32) -> RandomStream {
        RandomStream::new(self.config.seed, OUTAGES + u64::from(client))
    }
}

/// The broker's patience with a silent client \[MQTT-3.1.2-24\].
fn broker_patience(keep_alive: Duration) -> Duration {
    Duration::from_nanos(keep_alive.as_nanos() / 2 * 3)
}

/// A connection that lasts at least this long was successful, as `groupkey-mqtt`'s driver has it.
const LASTING: Duration = Duration::from_secs(5);
/// The time between SYNs. Linux repeats the first four after a second each, since version 6.5
/// (`tcp_syn_linear_timeouts`).
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// A SYN with Linux's options, and a RST (IPv4 and TCP headers).
const SYN_BYTES: u32 = 60;
const RESET_BYTES: u32 = 40;
/// How long after the last message the caller stops waiting.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The token of the wake-up call at which the network has settled.
const SETTLED: u64 = u64::MAX - 1;
/// Random streams: of clients' pings and pauses, of their links' outages, and of the broker's.
const ACCESS: u64 = 1 << 41;
const OUTAGES: u64 = 1 << 42;
const OUTAGES_OF_BROKER: u64 = 1 << 43;
/// The random stream of when the broker looks for silent clients.
const CHECKS: u64 = 1 << 44;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NetworkConfig;
    use crate::link::LinkProfile;

    #[test]
    fn a_broker_closes_one_and_a_half_keep_alives_after_the_last_packet() {
        for seed in 0..20 {
            let checks = Duration::ZERO;
            let reconnection = Some(Reconnection { checks, ..Reconnection::default() });
            let mut network =
                Network::new(NetworkConfig { seed, reconnection, ..NetworkConfig::default() });
            let link = LinkProfile::delay_and_loss(Duration::from_millis(10), 0.0);
            let client = network.add_client(link.clone(), link).0;
            network.now = Time::ZERO + Duration::from_secs(600);
            network.fail_link(client, true);
            let heard = network.access(client).unwrap().heard;
            let closes = heard + Duration::from_secs(90);
            network.wake_at(Time::from_nanos(closes.as_nanos() - 1), 0);
            network.wake_at(closes + Duration::from_nanos(1), 1);
            assert_eq!(network.wait(), Some(NetworkEvent::Wake { token: 0 }));
            assert!(network.access(client).unwrap().attached);
            assert_eq!(network.wait(), Some(NetworkEvent::Wake { token: 1 }));
            assert!(!network.access(client).unwrap().attached);
        }
    }

    #[test]
    fn a_broker_that_looks_every_six_seconds_closes_up_to_six_seconds_later() {
        let mut late = Vec::new();
        for seed in 0..100 {
            let reconnection = Some(Reconnection::default());
            let mut network =
                Network::new(NetworkConfig { seed, reconnection, ..NetworkConfig::default() });
            let link = LinkProfile::delay_and_loss(Duration::from_millis(10), 0.0);
            let client = network.add_client(link.clone(), link).0;
            network.now = Time::ZERO + Duration::from_secs(600);
            network.fail_link(client, true);
            let closes = network.access(client).unwrap().heard + Duration::from_secs(90);
            while network.access(client).unwrap().attached {
                let at = network.now + Duration::from_millis(10);
                network.wake_at(at, 0);
                network.wait();
            }
            late.push(network.now.since(closes).as_millis_f64());
        }
        assert!(late.iter().all(|late| (0.0..6_010.0).contains(late)), "{late:?}");
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((2_500.0..3_500.0).contains(&mean), "{mean}");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_connection_that_lasted() {
        let reconnection = Some(Reconnection::default());
        let mut network = Network::new(NetworkConfig { reconnection, ..NetworkConfig::default() });
        let link = LinkProfile::delay_and_loss(Duration::from_millis(10), 0.0);
        let client = network.add_client(link.clone(), link).0;
        network.fail_link(client, true);
        network.wake_at(Time::ZERO + Duration::from_secs(1_800), 0);
        while network.wait() != Some(NetworkEvent::Wake { token: 0 }) {}
        let failures = network.access(client).unwrap().failures;
        // An attempt takes 5 s, and the longest pauses 15 s in the mean.
        assert!((75..110).contains(&failures), "{failures}");
        network.fail_link(client, false);
        let client_id = ClientId(client);
        let connected = NetworkEvent::Connected { client: client_id, session_present: true };
        assert_eq!(network.wait(), Some(connected));
        network.wake_at(network.now + Duration::from_secs(10), 1);
        assert_eq!(network.wait(), Some(NetworkEvent::Wake { token: 1 }));
        network.lose_at_client(client);
        assert_eq!(network.access(client).unwrap().failures, 1);
    }
}
