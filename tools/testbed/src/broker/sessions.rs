//! The sessions of all clients: their subscriptions, their queued messages, and the messages in
//! flight.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use groupkey_mqtt::Version;

use crate::broker::connection::ClientSender;
use crate::broker::topics::{Subscriptions, matches};
use crate::packet::{Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};

#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: HashMap<String, StoredSession>,
    subscriptions: Subscriptions,
    retained: BTreeMap<String, PublishPacket>,
}

#[derive(Debug, Default)]
struct StoredSession {
    line: Option<ClientSender>,
    hello: Connect,
    left: Option<Instant>,
    filters: BTreeMap<String, Qos>,
    /// QoS 2 messages that the client has not released with PUBREL.
    received: HashMap<u16, PublishPacket>,
    queue: VecDeque<(PublishPacket, Instant)>,
    /// Messages that the client has not acknowledged with PUBACK or PUBCOMP, and whether it has
    /// sent PUBREC.
    under_way: Vec<(PublishPacket, bool)>,
    last_id: u16,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionEnd {
    Cut,
    Disconnect,
}

impl Sessions {
    pub(super) fn connect(&mut self, hello: Connect, line: ClientSender) -> bool {
        let client = hello.client.clone();
        if client.is_empty() {
            // 2: identifier rejected (3.1.1). 0x85: client identifier not valid (5).
            let code = if line.version == Version::V3 { 2 } else { 0x85 };
            line.write(&Packet::Connack(Connack { code, session_present: false }));
            return false;
        }
        let expired = self.sessions.get(&client).is_some_and(|session| {
            let lasts = Duration::from_secs(session.hello.session_expiry.into());
            session.left.is_some_and(|left| left.elapsed() > lasts)
        });
        if expired {
            self.end(&client);
        }
        if let Some(old) = self.sessions.get_mut(&client).and_then(|session| session.line.take()) {
            old.close();
        }
        if hello.clean {
            self.end(&client);
        }
        let present = self.sessions.contains_key(&client);
        let session = self.sessions.entry(client).or_default();
        session.hello = hello;
        session.left = None;
        session.line = Some(line);
        session.write(&Packet::Connack(Connack { code: 0, session_present: present }));
        session.repeat();
        session.pump();
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
        if let (Some((topic, text)), SessionEnd::Cut) = (will, end) {
            self.forward(PublishPacket::new(&topic, Qos::Level1, 1, text));
        }
    }

    pub(super) fn handle(&mut self, client: &str, number: u64, packet: Packet) -> bool {
        let Some(session) = self.sessions.get_mut(client) else { return false };
        if session.line.as_ref().is_none_or(|line| line.number != number) {
            return false;
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
            Packet::Publish(message) => self.receive(client, message),
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                let held = session.received.remove(&id);
                session.write(&Packet::Acknowledge(Acknowledgement::Pubcomp, id));
                if let Some(message) = held {
                    self.forward(message);
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
                session.pump();
            }
            _ => {}
        }
        true
    }

    fn subscribe(&mut self, client: &str, filter: String, qos: Qos) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        for (_, retained) in self.retained.iter().filter(|(topic, _)| matches(&filter, topic)) {
            let qos = retained.qos.min(qos);
            session.queue.push_back((PublishPacket { qos, ..retained.clone() }, Instant::now()));
        }
        session.pump();
        self.subscriptions.insert(client, &filter, qos);
        session.filters.insert(filter, qos);
    }

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
                session.received.entry(id).or_insert(message);
            }
        }
    }

    fn forward(&mut self, message: PublishPacket) {
        if message.retain {
            if message.payload.is_empty() {
                self.retained.remove(&message.topic);
            } else {
                self.retained.insert(message.topic.clone(), message.clone());
            }
        }
        for (client, granted) in self.subscriptions.of(&message.topic) {
            let Some(session) = self.sessions.get_mut(&client) else { continue };
            let qos = message.qos.min(granted);
            let waits = session.queue.len() < MOST_QUEUED && qos != Qos::Level0;
            if session.line.is_none() && !waits {
                continue;
            }
            let copy = PublishPacket { qos, dup: false, retain: false, ..message.clone() };
            session.queue.push_back((copy, Instant::now()));
            session.pump();
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
    fn repeat(&self) {
        for (message, released) in &self.under_way {
            if *released {
                self.write(&Packet::Acknowledge(Acknowledgement::Pubrel, message.id));
            } else {
                self.write(&Packet::Publish(PublishPacket { dup: true, ..message.clone() }));
            }
        }
    }

    /// Sends queued messages as far as the client's limits allow.
    fn pump(&mut self) {
        let most = self.hello.receive_maximum.unwrap_or(u16::MAX);
        while let Some(version) = self.line.as_ref().map(|line| line.version)
            && self.under_way.len() < usize::from(most)
            && let Some((mut message, since)) = self.queue.pop_front()
        {
            let waited = since.elapsed().as_secs();
            let stale = message.expiry.is_some_and(|seconds| waited >= seconds.into());
            if let Some(expiry) = &mut message.expiry {
                // The client gets the remaining expiry (MQTT 5, section 3.3.2.3.3).
                *expiry = expiry.saturating_sub(u32::try_from(waited).unwrap_or(u32::MAX));
            }
            if stale {
                continue;
            }
            if message.qos != Qos::Level0 {
                self.last_id = self.last_id % u16::MAX + 1;
                message.id = self.last_id;
            }
            let packet = Packet::Publish(message.clone());
            let Ok(length) = packet.encode(version).map(|bytes| bytes.len()) else { continue };
            let too_large = self.hello.maximum_packet.is_some_and(|most| length > most as usize);
            if too_large {
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
