//! The sessions of all clients: their subscriptions, their queued messages, and the messages in
//! flight.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use groupkey_mqtt::Version;

use crate::broker::Fault;
use crate::broker::connection::ClientSender;
use crate::broker::topics::{Subscriptions, matches};
use crate::packet::{Abilities, Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};

#[derive(Debug, Default)]
pub(super) struct Sessions {
    fault: Option<Fault>,
    /// What it announces.
    abilities: Abilities,
    sessions: HashMap<String, StoredSession>,
    subscriptions: Subscriptions,
    retained: BTreeMap<String, PublishPacket>,
    held_back: Option<PublishPacket>,
}

#[derive(Debug, Default)]
struct StoredSession {
    line: Option<ClientSender>,
    hello: Connect,
    left: Option<Instant>,
    filters: BTreeMap<String, Qos>,
    /// QoS 2 messages that the client has not released with PUBREL.
    received: HashMap<u16, Option<PublishPacket>>,
    queue: VecDeque<(PublishPacket, Instant)>,
    /// Messages that the client has not acknowledged with PUBACK or PUBCOMP, and whether it has
    /// sent PUBREC.
    under_way: Vec<(PublishPacket, bool)>,
    last_id: u16,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionEnd {
    Cut,
    Disconnect,
}

impl Sessions {
    /// Creates an empty set of sessions.
    pub(super) fn new(fault: Option<Fault>, abilities: Abilities) -> Self {
        Self { fault, abilities, ..Self::default() }
    }

    pub(super) const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Handles a CONNECT. Returns whether the connection may continue.
    pub(super) fn connect(&mut self, hello: Connect, line: ClientSender) -> bool {
        let client = hello.client.clone();
        if client.is_empty() {
            // 2: identifier rejected (3.1.1). 0x85: client identifier not valid (5).
            let code = if line.version == Version::V3 { 2 } else { 0x85 };
            let abilities = self.abilities;
            line.write(&Packet::Connack(Connack { code, session_present: false, abilities }));
            return false;
        }
        let expired = self.sessions.get(&client).is_some_and(|session| {
            let lasts = Duration::from_secs(session.hello.session_expiry.into());
            session.left.is_some_and(|left| left.elapsed() > lasts)
        });
        if expired && !self.is(Fault::SessionsNeverExpire) {
            self.end(&client);
        }
        if let Some(old) = self.sessions.get_mut(&client).and_then(|session| session.line.take())
            && self.fault != Some(Fault::BothConnectionsKept)
        {
            old.close();
        }
        if hello.clean && !self.is(Fault::OldSessionKept) {
            self.end(&client);
        }
        let present = self.sessions.contains_key(&client) && !self.is(Fault::ForgetsSessions);
        let fault = self.fault;
        let session = self.sessions.entry(client).or_default();
        session.hello = hello;
        session.left = None;
        if fault == Some(Fault::ForgetsReceived) {
            session.received.clear();
        }
        session.line = Some(line);
        let mut abilities = self.abilities;
        if fault == Some(Fault::AnnouncesNothingUnderWay) {
            abilities.receive_maximum = 0;
        }
        session.write(&Packet::Connack(Connack { code: 0, session_present: present, abilities }));
        session.repeat(fault);
        session.pump(fault);
        true
    }

    pub(super) fn disconnect(&mut self, client: &str, number: u64, end: &SessionEnd) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        if session.line.as_ref().is_none_or(|line| line.number != number) {
            return;
        }
        session.line = None;
        session.left = Some(Instant::now());
        let will = session.hello.will.take();
        if session.hello.session_expiry == 0 {
            self.end(client);
        }
        let due = match end {
            SessionEnd::Cut => !self.is(Fault::WillNever),
            SessionEnd::Disconnect => self.is(Fault::WillAfterDisconnect),
        };
        if let (Some((topic, text)), true) = (will, due) {
            self.forward(PublishPacket::new(&topic, Qos::Level1, 1, text));
        }
    }

    /// Handles a packet of a connected client. Returns whether the connection may continue.
    pub(super) fn handle(&mut self, client: &str, number: u64, packet: Packet) -> bool {
        let fault = self.fault;
        let Some(session) = self.sessions.get_mut(client) else { return false };
        if session.line.as_ref().is_none_or(|line| line.number != number) {
            return fault == Some(Fault::BothConnectionsKept);
        }
        match packet {
            Packet::Pingreq => session.write(&Packet::Pingresp),
            Packet::Subscribe(id, topics) => {
                let granted = topics.iter().map(|&(_, qos)| Some(qos)).collect();
                session.write(&Packet::Suback(id, granted));
                for (filter, qos) in topics {
                    self.subscribe(client, filter, qos);
                }
            }
            Packet::Unsubscribe(id, filter) => {
                session.filters.remove(&filter);
                session.write(&Packet::Unsuback(id));
                self.subscriptions.remove(client, &filter);
            }
            Packet::Publish(message) => {
                let Abilities { maximum_qos, retains, .. } = self.abilities;
                if message.qos > maximum_qos || message.retain && !retains {
                    return false;
                }
                self.receive(client, message);
            }
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                let held = session.received.remove(&id);
                if held.is_none() && fault == Some(Fault::ClosesOnUnknownPubrel) {
                    return false;
                }
                session.write(&Packet::Acknowledge(Acknowledgement::Pubcomp, id));
                if fault == Some(Fault::IdentifierKept) {
                    session.received.insert(id, None);
                }
                if let Some(Some(message)) = held {
                    self.forward(message.clone());
                    if fault == Some(Fault::DeliversTwice) {
                        self.forward(message);
                    }
                }
            }
            Packet::Acknowledge(Acknowledgement::Pubrec, id) => {
                for (message, released) in &mut session.under_way {
                    *released |= message.id == id;
                }
                session.write(&Packet::Acknowledge(Acknowledgement::Pubrel, id));
            }
            Packet::Acknowledge(Acknowledgement::Puback | Acknowledgement::Pubcomp, id) => {
                session.under_way.retain(|(message, _)| message.id != id);
                session.pump(fault);
            }
            _ => {}
        }
        true
    }

    /// Subscribes a client, and queues the matching retained messages for it.
    fn subscribe(&mut self, client: &str, filter: String, qos: Qos) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        for (_, retained) in self.retained.iter().filter(|(topic, _)| matches(&filter, topic)) {
            let qos = retained.qos.min(qos);
            session.queue.push_back((PublishPacket { qos, ..retained.clone() }, Instant::now()));
        }
        session.pump(self.fault);
        self.subscriptions.insert(client, &filter, qos);
        session.filters.insert(filter, qos);
    }

    /// Deletes a session and its subscriptions.
    fn end(&mut self, client: &str) {
        if let Some(session) = self.sessions.remove(client) {
            for filter in session.filters.keys() {
                self.subscriptions.remove(client, filter);
            }
        }
    }

    fn receive(&mut self, client: &str, message: PublishPacket) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        let id = message.id;
        match message.qos {
            Qos::Level0 => self.forward(message),
            Qos::Level1 => {
                session.write(&Packet::Acknowledge(Acknowledgement::Puback, id));
                self.forward(message);
            }
            Qos::Level2 => {
                session.write(&Packet::Acknowledge(Acknowledgement::Pubrec, id));
                let known = session.received.contains_key(&id);
                if !known {
                    session.received.insert(id, Some(message));
                } else if message.dup && self.is(Fault::ForwardsRepeats) {
                    self.forward(message);
                }
            }
        }
    }

    fn forward(&mut self, mut message: PublishPacket) {
        if self.is(Fault::LargeCutShort) {
            message.payload.truncate(100_000);
        }
        if message.retain {
            let empty = message.payload.is_empty() && !self.is(Fault::EmptyRetained);
            if empty {
                self.retained.remove(&message.topic);
            } else {
                self.retained.insert(message.topic.clone(), message.clone());
            }
        }
        if self.is(Fault::Reorders) && message.payload == b"7" && self.held_back.is_none() {
            self.held_back = Some(message);
            return;
        }
        let held_back = self.held_back.take();
        for message in [Some(message), held_back].into_iter().flatten() {
            for (client, granted) in self.subscriptions.of(&message.topic) {
                let Some(session) = self.sessions.get_mut(&client) else { continue };
                let qos = match self.fault {
                    Some(Fault::SubscriptionsQos) => granted,
                    _ => message.qos.min(granted),
                };
                let waits = session.queue.len() < MOST_QUEUED && qos != Qos::Level0;
                if session.line.is_none() && (!waits || self.fault == Some(Fault::DropsQueued)) {
                    continue;
                }
                let copy = PublishPacket { qos, dup: false, retain: false, ..message.clone() };
                session.queue.push_back((copy, Instant::now()));
                session.pump(self.fault);
            }
        }
    }
}

impl StoredSession {
    fn write(&self, packet: &Packet) {
        if let Some(line) = &self.line {
            line.write(packet);
        }
    }

    /// Repeats the packets that were not acknowledged before a reconnection.
    fn repeat(&mut self, fault: Option<Fault>) {
        for (message, released) in self.under_way.clone() {
            if released && fault != Some(Fault::PublishAfterPubrec) {
                self.write(&Packet::Acknowledge(Acknowledgement::Pubrel, message.id));
            } else {
                let dup = fault != Some(Fault::RepeatsUnmarked);
                self.write(&Packet::Publish(PublishPacket { dup, ..message }));
            }
        }
    }

    /// Sends queued messages as far as the client's limits allow.
    fn pump(&mut self, fault: Option<Fault>) {
        let most = self.hello.receive_maximum.unwrap_or(u16::MAX);
        let ignored = fault == Some(Fault::ReceiveMaximumIgnored);
        while let Some(version) = self.line.as_ref().map(|line| line.version)
            && (ignored || self.under_way.len() < usize::from(most))
            && let Some((mut message, since)) = self.queue.pop_front()
        {
            let waited = since.elapsed().as_secs();
            let stale = message.expiry.is_some_and(|seconds| waited >= seconds.into());
            if let Some(expiry) = &mut message.expiry {
                // The client gets the remaining expiry (MQTT 5, section 3.3.2.3.3).
                *expiry = expiry.saturating_sub(u32::try_from(waited).unwrap_or(u32::MAX));
            }
            if stale && fault != Some(Fault::MessagesNeverExpire) {
                continue;
            }
            if message.qos != Qos::Level0 {
                self.last_id = self.last_id % u16::MAX + 1;
                message.id = self.last_id;
            }
            let packet = Packet::Publish(message.clone());
            let Ok(length) = packet.encode(version).map(|bytes| bytes.len()) else { continue };
            let too_large = self.hello.maximum_packet.is_some_and(|most| length > most as usize);
            if too_large && fault != Some(Fault::PacketMaximumIgnored) {
                continue;
            }
            if message.qos != Qos::Level0 {
                self.under_way.push((message, false));
            }
            self.write(&packet);
        }
    }
}

/// The maximum number of messages that wait for one offline client. Later messages are dropped.
const MOST_QUEUED: usize = 100_000;
