//! MQTT 3.1.1 sessions: the QoS 0, 1 and 2 exchanges of one connection, without I/O.
//!
//! Each rule names its clause of the standard. Both ends of a connection run the same session. An
//! exchange has a sender and a receiver, and the broker takes each role in turn. On one connection a
//! session never sends a packet twice: by section 4.4, messages are redelivered only after a
//! reconnection. TCP repairs losses.

use std::collections::VecDeque;

use crate::name::{ClientId, MessageId, Topic};
use crate::time::Time;

/// Packet identifiers are 1 to 65,535 \[MQTT-2.3.1-1\].
const IDENTIFIERS: u32 = 65_535;

/// Quality of service of a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Qos {
    /// QoS 0: PUBLISH alone (section 4.3.1).
    AtMostOnce,
    /// QoS 1: PUBLISH, PUBACK (section 4.3.2).
    AtLeastOnce,
    /// QoS 2: PUBLISH, PUBREC, PUBREL, PUBCOMP (section 4.3.3).
    #[default]
    ExactlyOnce,
}

/// The packet of a QoS 2 exchange at which the receiver passes the message on: a subscriber to its
/// application, a broker to the subscribers. Section 4.3.3 allows both (figure 4.3, methods A and
/// B). With QoS 0 and 1 it is always the PUBLISH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HandOver {
    /// At PUBREL, as Mosquitto and paho do.
    #[default]
    PubRel,
    /// At PUBLISH already.
    Publish,
}

impl Qos {
    /// Returns the quality of service with this number, if MQTT has it: 0, 1 or 2.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::AtMostOnce),
            1 => Some(Self::AtLeastOnce),
            2 => Some(Self::ExactlyOnce),
            _ => None,
        }
    }
}

impl HandOver {
    /// Both values, in the order of their packets.
    pub const ALL: [Self; 2] = [Self::Publish, Self::PubRel];

    /// Returns the name used on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PubRel => "pubrel",
            Self::Publish => "publish",
        }
    }
}

/// A message on its way: everything but its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Publication {
    pub(crate) message: MessageId,
    pub(crate) from: ClientId,
    pub(crate) topic: Topic,
    pub(crate) payload_bytes: u32,
    pub(crate) topic_bytes: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MqttPacket {
    ConnAck { session_present: bool },
    Connect,
    PingReq,
    PingResp,
    PubAck { identifier: u16 },
    PubComp { identifier: u16 },
    PubRec { identifier: u16 },
    PubRel { identifier: u16 },
    Publish { identifier: u16, publication: Publication },
    SubAck,
    Subscribe,
}

impl MqttPacket {
    /// Returns the packet's length: fixed header, variable header, payload (chapters 2 and 3).
    pub(crate) fn bytes(&self, qos: Qos) -> u32 {
        let publication = match self {
            Self::Publish { publication, .. } => publication,
            // A client identifier of 23 bytes, which every broker takes [MQTT-3.1.3-5].
            Self::Connect => return 2 + 10 + 2 + 23,
            // Three topic filters of 14 bytes: the party's own, the group's and a subset's.
            Self::Subscribe => return 2 + 2 + 3 * (2 + 14 + 1),
            Self::SubAck => return 2 + 2 + 3,
            Self::PingReq | Self::PingResp => return 2,
            _ => return 4,
        };
        let identifier = if qos == Qos::AtMostOnce { 0 } else { 2 };
        let rest = 2 + u32::from(publication.topic_bytes) + identifier + publication.payload_bytes;
        // Remaining length: seven bits a byte (section 2.2.3).
        let length_bytes = match rest {
            0..=0x7f => 1,
            0x80..=0x3fff => 2,
            0x4000..=0x1f_ffff => 3,
            _ => 4,
        };
        1 + length_bytes + rest
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionRules {
    pub(crate) qos: Qos,
    pub(crate) hand_over: HandOver,
    /// Most exchanges under way that this end began.
    pub(crate) max_in_flight: u16,
}

/// The consequences of a received packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    pub(crate) answer: Option<MqttPacket>,
    /// A message to pass on, and when its PUBLISH was received.
    pub(crate) passed_on: Option<(Publication, Time)>,
    /// A waiting message whose turn has come.
    pub(crate) follow_up: Option<MqttPacket>,
}

/// One end's session.
#[derive(Debug, Default)]
pub(crate) struct MqttSession {
    sending: IdentifierTable<SentPublication>,
    waiting: VecDeque<Publication>,
    receiving: IdentifierTable<ReceivedPublication>,
}

/// An identifier in use at the sender of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentPublication {
    publication: Publication,
    awaits: Awaits,
}

/// The packet that the sender of an exchange waits for: PUBACK, PUBCOMP or PUBREC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    Acknowledgement,
    Completion,
    Receipt,
}

/// An identifier in use at the receiver of a QoS 2 exchange.
#[derive(Clone, Copy, Debug)]
struct ReceivedPublication {
    publication: Publication,
    received: Time,
    passed_on: bool,
}

impl MqttSession {
    /// Begins an exchange. Returns its PUBLISH, or keeps the message while too many are under way.
    pub(crate) fn publish(
        &mut self,
        publication: Publication,
        rules: &SessionRules,
    ) -> Option<MqttPacket> {
        if rules.qos == Qos::AtMostOnce {
            // [MQTT-2.3.1-5]: QoS 0 has no identifier.
            return Some(MqttPacket::Publish { identifier: 0, publication });
        }
        if !self.waiting.is_empty() || !self.has_room(rules) {
            self.waiting.push_back(publication);
            return None;
        }
        Some(self.begin(publication, rules))
    }

    /// Keeps a message until there is a connection.
    pub(crate) fn hold(&mut self, publication: Publication) {
        self.waiting.push_back(publication);
    }

    /// Returns the packets with which a kept session goes on after a reconnection: PUBLISH or PUBREL
    /// of each unfinished exchange, in order \[MQTT-4.4.0-1\], \[MQTT-4.6.0-1\], then messages that
    /// waited.
    pub(crate) fn resume(&mut self, rules: &SessionRules) -> Vec<MqttPacket> {
        let again = |(identifier, sent): (u16, &SentPublication)| match sent.awaits {
            Awaits::Completion => MqttPacket::PubRel { identifier },
            Awaits::Acknowledgement | Awaits::Receipt => {
                MqttPacket::Publish { identifier, publication: sent.publication }
            }
        };
        let mut packets: Vec<_> = self.sending.entries().map(again).collect();
        while rules.qos == Qos::AtMostOnce || self.has_room(rules) {
            let Some(publication) = self.waiting.pop_front() else { break };
            packets.push(match rules.qos {
                Qos::AtMostOnce => MqttPacket::Publish { identifier: 0, publication },
                _ => self.begin(publication, rules),
            });
        }
        packets
    }

    /// Begins a new session, in which the unfinished messages of this one are published again.
    pub(crate) fn begin_anew(&mut self) {
        let unfinished = self.sending.entries().map(|(_, sent)| sent.publication);
        let waiting = unfinished.chain(self.waiting.iter().copied()).collect();
        *self = Self { waiting, ..Self::default() };
    }

    /// Returns whether a message waits, or an exchange is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || self.sending.len() + self.receiving.len() > 0
    }

    /// Takes a packet from the peer. Ignores a PUBACK, PUBREC or PUBCOMP that fits no exchange.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        packet: MqttPacket,
        rules: &SessionRules,
    ) -> Reaction {
        match packet {
            MqttPacket::PubAck { identifier } => {
                self.finish(identifier, Awaits::Acknowledgement, rules)
            }
            MqttPacket::PubComp { identifier } => {
                self.finish(identifier, Awaits::Completion, rules)
            }
            MqttPacket::PubRec { identifier } => self.release(identifier),
            MqttPacket::PubRel { identifier } => self.complete(identifier),
            MqttPacket::Publish { identifier, publication } => {
                self.accept(now, identifier, publication, rules)
            }
            // They are the connection's.
            MqttPacket::ConnAck { .. }
            | MqttPacket::Connect
            | MqttPacket::PingReq
            | MqttPacket::PingResp
            | MqttPacket::SubAck
            | MqttPacket::Subscribe => Reaction::default(),
        }
    }

    fn has_room(&self, rules: &SessionRules) -> bool {
        self.sending.len() < usize::from(rules.max_in_flight)
    }

    fn begin(&mut self, publication: Publication, rules: &SessionRules) -> MqttPacket {
        let awaits =
            if rules.qos == Qos::AtLeastOnce { Awaits::Acknowledgement } else { Awaits::Receipt };
        // [MQTT-2.3.1-2]: a currently unused identifier; [MQTT-4.6.0-1]: in order.
        let identifier = self.sending.push(SentPublication { publication, awaits });
        MqttPacket::Publish { identifier, publication }
    }

    /// Ends an exchange and frees its identifier \[MQTT-4.3.2-1\], \[MQTT-4.3.3-1\].
    fn finish(&mut self, identifier: u16, awaited: Awaits, rules: &SessionRules) -> Reaction {
        if self.sending.find(identifier).is_none_or(|sent| sent.awaits != awaited) {
            return Reaction::default();
        }
        self.sending.remove(identifier);
        let next = if self.has_room(rules) { self.waiting.pop_front() } else { None };
        Reaction {
            follow_up: next.map(|publication| self.begin(publication, rules)),
            ..Reaction::default()
        }
    }

    /// Answers PUBREC with PUBREL \[MQTT-4.3.3-1\], in the order of the PUBRECs \[MQTT-4.6.0-4\].
    fn release(&mut self, identifier: u16) -> Reaction {
        match self.sending.find(identifier).map(|sent| &mut sent.awaits) {
            Some(awaits @ Awaits::Receipt) => *awaits = Awaits::Completion,
            Some(Awaits::Completion) => {}
            _ => return Reaction::default(),
        }
        Reaction { answer: Some(MqttPacket::PubRel { identifier }), ..Reaction::default() }
    }

    /// Answers PUBREL with PUBCOMP and forgets the identifier \[MQTT-4.3.3-2\].
    fn complete(&mut self, identifier: u16) -> Reaction {
        let held = self.receiving.remove(identifier);
        let passed_on = held.filter(|held| !held.passed_on);
        Reaction {
            answer: Some(MqttPacket::PubComp { identifier }),
            passed_on: passed_on.map(|held| (held.publication, held.received)),
            ..Reaction::default()
        }
    }

    fn accept(
        &mut self,
        now: Time,
        identifier: u16,
        publication: Publication,
        rules: &SessionRules,
    ) -> Reaction {
        let at_once = Some((publication, now));
        match rules.qos {
            Qos::AtMostOnce => Reaction { passed_on: at_once, ..Reaction::default() },
            // [MQTT-4.3.2-2]: answer PUBACK, having accepted ownership.
            Qos::AtLeastOnce => Reaction {
                answer: Some(MqttPacket::PubAck { identifier }),
                passed_on: at_once,
                ..Reaction::default()
            },
            // [MQTT-4.3.3-2]: answer PUBREC; until PUBREL the same identifier is the same message.
            Qos::ExactlyOnce => {
                let known = self.receiving.find(identifier).is_some();
                let early = rules.hand_over == HandOver::Publish;
                if !known {
                    let held = ReceivedPublication { publication, received: now, passed_on: early };
                    self.receiving.insert(identifier, held);
                }
                Reaction {
                    answer: Some(MqttPacket::PubRec { identifier }),
                    passed_on: at_once.filter(|_| early && !known),
                    ..Reaction::default()
                }
            }
        }
    }
}

/// Values by packet identifier. Identifiers are handed out in a circle and come back nearly in
/// order, so the table is a queue with gaps.
#[derive(Debug)]
struct IdentifierTable<T> {
    /// Identifier of the queue's front.
    first: u16,
    values: VecDeque<Option<T>>,
}

impl<T> Default for IdentifierTable<T> {
    fn default() -> Self {
        Self { first: 1, values: VecDeque::new() }
    }
}

impl<T> IdentifierTable<T> {
    /// Returns the number of identifiers between the oldest and the newest in use, both included.
    fn len(&self) -> usize {
        self.values.len()
    }

    fn push(&mut self, value: T) -> u16 {
        let identifier = Self::advance(self.first, self.values.len() as u32);
        self.values.push_back(Some(value));
        identifier
    }

    /// Stores a value under the peer's identifier.
    fn insert(&mut self, identifier: u16, value: T) {
        if self.values.is_empty() {
            self.first = identifier;
        }
        let place = self.place(identifier);
        if place >= self.values.len() {
            self.values.resize_with(place + 1, || None);
        }
        self.values[place] = Some(value);
    }

    /// Returns the values in use with their identifiers, the oldest first.
    fn entries(&self) -> impl Iterator<Item = (u16, &T)> {
        let entries = (0..).zip(&self.values);
        entries
            .filter_map(|(place, value)| Some((Self::advance(self.first, place), value.as_ref()?)))
    }

    fn find(&mut self, identifier: u16) -> Option<&mut T> {
        let place = self.place(identifier);
        self.values.get_mut(place)?.as_mut()
    }

    fn remove(&mut self, identifier: u16) -> Option<T> {
        let place = self.place(identifier);
        let value = self.values.get_mut(place)?.take();
        while let Some(None) = self.values.front() {
            self.values.pop_front();
            self.first = Self::advance(self.first, 1);
        }
        value
    }

    fn place(&self, identifier: u16) -> usize {
        ((u32::from(identifier) + IDENTIFIERS - u32::from(self.first)) % IDENTIFIERS) as usize
    }

    fn advance(identifier: u16, by: u32) -> u16 {
        ((u32::from(identifier) - 1 + by) % IDENTIFIERS + 1) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLICATION: Publication = Publication {
        message: MessageId(7),
        from: ClientId::from_index(0),
        topic: Topic::Client(ClientId::from_index(1)),
        payload_bytes: 100,
        topic_bytes: 10,
    };

    fn rules(qos: Qos, hand_over: HandOver, max_in_flight: u16) -> SessionRules {
        SessionRules { qos, hand_over, max_in_flight }
    }

    /// Runs an exchange to its end. Returns the packets, and the index of each that passed
    /// the message on.
    fn exchange(rules: &SessionRules) -> (Vec<MqttPacket>, Vec<usize>) {
        let mut ends = [MqttSession::default(), MqttSession::default()];
        let mut wire: Vec<_> = ends[0].publish(PUBLICATION, rules).into_iter().collect();
        let mut passed_on = Vec::new();
        let mut next = 0;
        while next < wire.len() {
            let reaction = ends[(next + 1) % 2].receive(Time::ZERO, wire[next], rules);
            passed_on.extend(reaction.passed_on.map(|_| next));
            wire.extend(reaction.answer);
            next += 1;
        }
        assert!(ends.iter().all(|end| end.sending.len() + end.receiving.len() == 0));
        (wire, passed_on)
    }

    #[test]
    fn exchanges_follow_section_4_3() {
        let publish = |identifier| MqttPacket::Publish { identifier, publication: PUBLICATION };
        let identifier = 1;
        let once = exchange(&rules(Qos::AtMostOnce, HandOver::PubRel, 10));
        assert_eq!(once, (vec![publish(0)], vec![0]));
        let twice = exchange(&rules(Qos::AtLeastOnce, HandOver::PubRel, 10));
        assert_eq!(twice, (vec![publish(1), MqttPacket::PubAck { identifier }], vec![0]));
        for (hand_over, at) in [(HandOver::Publish, 0), (HandOver::PubRel, 2)] {
            let (wire, passed_on) = exchange(&rules(Qos::ExactlyOnce, hand_over, 10));
            let expected = [
                publish(1),
                MqttPacket::PubRec { identifier },
                MqttPacket::PubRel { identifier },
                MqttPacket::PubComp { identifier },
            ];
            assert_eq!(wire, expected);
            assert_eq!(passed_on, [at]);
        }
    }

    #[test]
    fn a_repeated_publish_is_passed_on_once() {
        for hand_over in [HandOver::Publish, HandOver::PubRel] {
            let rules = rules(Qos::ExactlyOnce, hand_over, 10);
            let mut receiver = MqttSession::default();
            let publish = MqttPacket::Publish { identifier: 3, publication: PUBLICATION };
            let release = MqttPacket::PubRel { identifier: 3 };
            let passed_on = [publish, publish, release, release]
                .map(|packet| receiver.receive(Time::ZERO, packet, &rules).passed_on);
            assert_eq!(passed_on.iter().flatten().count(), 1);
        }
    }

    #[test]
    fn a_kept_session_goes_on_where_its_connection_ended() {
        let rules = rules(Qos::ExactlyOnce, HandOver::PubRel, 2);
        let mut sender = MqttSession::default();
        for _ in 0..3 {
            sender.publish(PUBLICATION, &rules);
        }
        sender.receive(Time::ZERO, MqttPacket::PubRec { identifier: 1 }, &rules);
        let second = MqttPacket::Publish { identifier: 2, publication: PUBLICATION };
        assert_eq!(sender.resume(&rules), [MqttPacket::PubRel { identifier: 1 }, second]);
        assert!(sender.is_busy());
        // A new session publishes all three again, as far as they have room.
        sender.begin_anew();
        let publish = |identifier| MqttPacket::Publish { identifier, publication: PUBLICATION };
        assert_eq!(sender.resume(&rules), [publish(1), publish(2)]);
        assert_eq!(sender.waiting.len(), 1);
    }

    #[test]
    fn messages_beyond_the_limit_wait_their_turn() {
        let rules = rules(Qos::AtLeastOnce, HandOver::PubRel, 2);
        let mut sender = MqttSession::default();
        let sent = [0; 4].map(|_| sender.publish(PUBLICATION, &rules).is_some());
        assert_eq!(sent, [true, true, false, false]);
        let reaction = sender.receive(Time::ZERO, MqttPacket::PubAck { identifier: 1 }, &rules);
        let third = MqttPacket::Publish { identifier: 3, publication: PUBLICATION };
        assert_eq!(reaction.follow_up, Some(third));
    }

    #[test]
    fn identifiers_wrap_past_zero() {
        let mut window = IdentifierTable::default();
        for turn in 0..IDENTIFIERS * 2 {
            let identifier = window.push(turn);
            assert_ne!(identifier, 0);
            assert_eq!(window.remove(identifier), Some(turn));
        }
        assert_eq!(window.push(0), 1);
    }

    #[test]
    fn a_publish_counts_its_headers() {
        let publish = MqttPacket::Publish { identifier: 1, publication: PUBLICATION };
        // 1 + 1 + (2 + 10) + 100 without an identifier; two more bytes with one.
        assert_eq!(publish.bytes(Qos::AtMostOnce), 114);
        assert_eq!(publish.bytes(Qos::ExactlyOnce), 116);
        assert_eq!(MqttPacket::PubRel { identifier: 1 }.bytes(Qos::ExactlyOnce), 4);
    }
}
