//! One party's end of an MQTT 3.1.1 connection: which packet answers which. It has no I/O.

use std::collections::HashMap;

use groupkey_sim::{HandOver, Qos};

use crate::packet::{self, Acknowledgement, Packet, PublishPacket};

/// The exchanges under way on a connection that is up.
#[derive(Debug)]
pub(super) struct PublishSession {
    qos: Qos,
    hand_over: HandOver,
    last_id: u16,
    /// The acknowledgements that the broker owes us, by packet identifier.
    awaited: HashMap<u16, Awaited>,
    /// QoS 2 messages that the broker has not released yet.
    held: HashMap<u16, Option<PublishPacket>>,
}

/// The effects of a packet.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PacketEffects {
    pub(super) answer: Option<Packet>,
    /// A message for the application.
    pub(super) message: Option<PublishPacket>,
    /// Whether one of our publications is now completely acknowledged.
    pub(super) completed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Puback,
    Pubcomp,
    Pubrec,
    Suback,
    Unsuback,
}

impl PublishSession {
    /// Creates a session without exchanges. Publications and subscriptions have the quality of
    /// service `qos`. A message of QoS 2 is handed over at the packet `hand_over`.
    pub(super) fn new(qos: Qos, hand_over: HandOver) -> Self {
        Self { qos, hand_over, last_id: 0, awaited: HashMap::new(), held: HashMap::new() }
    }

    /// Begins to publish. Fails if no identifier is free.
    pub(super) fn publish(&mut self, topic: &str, payload: Vec<u8>) -> Result<Packet, String> {
        let id = match self.qos {
            Qos::AtMostOnce => 0,
            Qos::AtLeastOnce => self.begin(Awaited::Puback)?,
            Qos::ExactlyOnce => self.begin(Awaited::Pubrec)?,
        };
        Ok(Packet::Publish(PublishPacket::new(topic, level(self.qos), id, payload)))
    }

    /// Begins to subscribe. Fails if no identifier is free.
    pub(super) fn subscribe(&mut self, topic: String) -> Result<Packet, String> {
        Ok(Packet::Subscribe(self.begin(Awaited::Suback)?, vec![(topic, level(self.qos))]))
    }

    /// Begins to end a subscription. Fails if no identifier is free.
    pub(super) fn unsubscribe(&mut self, topic: String) -> Result<Packet, String> {
        Ok(Packet::Unsubscribe(self.begin(Awaited::Unsuback)?, topic))
    }

    /// Handles a packet of the broker. Ignores a packet that belongs to no exchange. Fails if the
    /// broker refuses a subscription or grants another quality of service.
    pub(super) fn receive(&mut self, packet: Packet) -> Result<PacketEffects, String> {
        let mut reaction = PacketEffects::default();
        match packet {
            Packet::Acknowledge(Acknowledgement::Puback, id) => {
                reaction.completed = self.end(id, Awaited::Puback);
            }
            Packet::Acknowledge(Acknowledgement::Pubrec, id) => {
                let is_due = self.end(id, Awaited::Pubrec);
                if is_due {
                    self.awaited.insert(id, Awaited::Pubcomp);
                    reaction.answer = Some(Packet::Acknowledge(Acknowledgement::Pubrel, id));
                }
            }
            Packet::Acknowledge(Acknowledgement::Pubcomp, id) => {
                reaction.completed = self.end(id, Awaited::Pubcomp);
            }
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                reaction.message = self.held.remove(&id).flatten();
                reaction.answer = Some(Packet::Acknowledge(Acknowledgement::Pubcomp, id));
            }
            Packet::Publish(message) => return Ok(self.take(message)),
            Packet::Suback(id, granted) => {
                let is_due = self.end(id, Awaited::Suback);
                match granted.first().copied().flatten() {
                    Some(granted) if is_due && granted != level(self.qos) => {
                        let granted = granted as u8;
                        return Err(format!("the broker grants no more than QoS {granted}"));
                    }
                    None if is_due => {
                        return Err("the broker refuses a subscription".to_owned());
                    }
                    _ => {}
                }
            }
            Packet::Unsuback(id) => drop(self.end(id, Awaited::Unsuback)),
            _ => {}
        }
        Ok(reaction)
    }

    fn take(&mut self, message: PublishPacket) -> PacketEffects {
        let id = message.id;
        let acknowledge = |kind| Some(Packet::Acknowledge(kind, id));
        match message.qos {
            packet::Qos::Level0 => {
                PacketEffects { message: Some(message), ..PacketEffects::default() }
            }
            packet::Qos::Level1 => {
                let answer = acknowledge(Acknowledgement::Puback);
                PacketEffects { answer, message: Some(message), completed: false }
            }
            packet::Qos::Level2 => {
                let answer = acknowledge(Acknowledgement::Pubrec);
                let is_new = !self.held.contains_key(&id);
                let (now, later) = match self.hand_over {
                    HandOver::Publish => (Some(message).filter(|_| is_new), None),
                    HandOver::PubRel => (None, Some(message)),
                };
                self.held.insert(id, later);
                PacketEffects { answer, message: now, completed: false }
            }
        }
    }

    /// Reserves a currently unused identifier \[MQTT-2.3.1-2\].
    fn begin(&mut self, awaited: Awaited) -> Result<u16, String> {
        let next = |id: u16| id % u16::MAX + 1;
        let mut id = next(self.last_id);
        while self.awaited.contains_key(&id) {
            if id == self.last_id || self.awaited.len() >= usize::from(u16::MAX) {
                return Err("too many messages are under way at once".to_owned());
            }
            id = next(id);
        }
        self.last_id = id;
        self.awaited.insert(id, awaited);
        Ok(id)
    }

    fn end(&mut self, id: u16, awaited: Awaited) -> bool {
        let is_due = self.awaited.get(&id) == Some(&awaited);
        if is_due {
            self.awaited.remove(&id);
        }
        is_due
    }
}

const fn level(qos: Qos) -> packet::Qos {
    match qos {
        Qos::AtMostOnce => packet::Qos::Level0,
        Qos::AtLeastOnce => packet::Qos::Level1,
        Qos::ExactlyOnce => packet::Qos::Level2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledge(kind: Acknowledgement, id: u16) -> Packet {
        Packet::Acknowledge(kind, id)
    }

    #[test]
    fn each_level_has_its_exchange() {
        use Acknowledgement::{Puback, Pubcomp, Pubrec, Pubrel};

        let mut session = PublishSession::new(Qos::AtLeastOnce, HandOver::PubRel);
        assert!(matches!(session.publish("t", vec![1]), Ok(Packet::Publish(p)) if p.id == 1));
        assert_eq!(session.receive(acknowledge(Puback, 2)), Ok(PacketEffects::default()));
        assert!(session.receive(acknowledge(Puback, 1)).unwrap().completed);
        assert!(!session.receive(acknowledge(Puback, 1)).unwrap().completed);

        let mut session = PublishSession::new(Qos::ExactlyOnce, HandOver::PubRel);
        assert!(session.publish("t", vec![1]).is_ok());
        let answer = session.receive(acknowledge(Pubrec, 1)).unwrap().answer;
        assert_eq!(answer, Some(acknowledge(Pubrel, 1)));
        assert!(session.receive(acknowledge(Pubcomp, 1)).unwrap().completed);

        let mut session = PublishSession::new(Qos::AtMostOnce, HandOver::PubRel);
        assert!(matches!(session.publish("t", vec![1]), Ok(Packet::Publish(p)) if p.id == 0));
    }

    #[test]
    fn a_message_is_handed_over_once_and_at_the_right_packet() {
        let message = || PublishPacket::new("t", packet::Qos::Level2, 7, vec![1]);
        for (hand_over, expected) in
            [(HandOver::PubRel, [false, false, true]), (HandOver::Publish, [true, false, false])]
        {
            let mut session = PublishSession::new(Qos::ExactlyOnce, hand_over);
            let packets = [
                Packet::Publish(message()),
                Packet::Publish(message()),
                acknowledge(Acknowledgement::Pubrel, 7),
            ];
            let handed_over = packets.map(|packet| {
                let reaction = session.receive(packet).unwrap();
                assert!(reaction.answer.is_some());
                reaction.message.is_some()
            });
            assert_eq!(handed_over, expected);
        }
    }

    #[test]
    fn a_broker_that_grants_less_is_refused() {
        for granted in [None, Some(packet::Qos::Level0)] {
            let mut session = PublishSession::new(Qos::AtLeastOnce, HandOver::PubRel);
            assert!(session.subscribe("t".to_owned()).is_ok());
            assert!(session.receive(Packet::Suback(1, vec![granted])).is_err());
        }
    }

    #[test]
    fn identifiers_run_out_with_an_error() {
        let mut session = PublishSession::new(Qos::AtLeastOnce, HandOver::PubRel);
        for _ in 0..u16::MAX {
            assert!(session.publish("t", Vec::new()).is_ok());
        }
        assert!(session.publish("t", Vec::new()).is_err());
        assert!(session.receive(acknowledge(Acknowledgement::Puback, 9)).unwrap().completed);
        assert!(matches!(session.publish("t", Vec::new()), Ok(Packet::Publish(p)) if p.id == 9));
    }
}
