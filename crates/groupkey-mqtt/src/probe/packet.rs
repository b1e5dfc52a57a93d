//! MQTT packets as the checks see them: what both versions of the protocol have in common, and the
//! few properties of version 5 that a check needs. The bytes are `mqtt-proto`'s business.

use std::fmt;

use mqtt_proto::{Error, Pid, Protocol, QosPid, TopicFilter, TopicName, v3, v5};

pub(crate) use mqtt_proto::QoS as Qos;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1.1 (OASIS, 2014).
    V3,
    /// MQTT 5.0 (OASIS, 2019).
    V5,
}

/// A control packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    Acknowledge(Acknowledgement, u16),
    Connack(Connack),
    Connect(Box<Connect>),
    Disconnect,
    Pingreq,
    Pingresp,
    Publish(Publish),
    Suback(u16, Option<Qos>),
    Subscribe(u16, String, Qos),
}

/// The four packets that answer a PUBLISH or one another, with nothing but an identifier inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    Puback,
    Pubrec,
    Pubrel,
    Pubcomp,
}

/// CONNECT. The last three are properties of version 5; version 3.1.1 keeps a session for ever
/// unless it is clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connect {
    pub(crate) client: String,
    /// Clean Session, in version 5 Clean Start.
    pub(crate) clean: bool,
    pub(crate) login: Option<(String, Vec<u8>)>,
    pub(crate) will: Option<(String, Vec<u8>)>,
    /// Seconds that the session outlives the connection.
    pub(crate) session_expiry: u32,
    pub(crate) receive_maximum: Option<u16>,
    /// Bytes of the largest packet that the client takes.
    pub(crate) maximum_packet: Option<u32>,
}

/// CONNACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connack {
    /// 0 is success.
    pub(crate) code: u8,
    pub(crate) session_present: bool,
}

/// PUBLISH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Publish {
    /// 0 at QoS 0.
    pub(crate) id: u16,
    pub(crate) qos: Qos,
    pub(crate) dup: bool,
    pub(crate) retain: bool,
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
    /// Seconds; version 5 only.
    pub(crate) expiry: Option<u32>,
}

impl Publish {
    pub(crate) fn new(topic: &str, qos: Qos, id: u16, payload: impl Into<Vec<u8>>) -> Self {
        let id = if qos == Qos::Level0 { 0 } else { id };
        let topic = topic.to_owned();
        Self { id, qos, dup: false, retain: false, topic, payload: payload.into(), expiry: None }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V3 => "3.1.1",
            Self::V5 => "5",
        })
    }
}

impl Packet {
    /// Its bytes. Fails on a topic that the standard does not allow, or an identifier of 0.
    pub(crate) fn encode(&self, version: Version) -> Result<Vec<u8>, Error> {
        let bytes = match version {
            Version::V3 => self.to_v3()?.encode()?,
            Version::V5 => self.to_v5()?.encode()?,
        };
        Ok(bytes.as_ref().to_vec())
    }

    /// The packet at the beginning of `bytes` and its length, or nothing while it is incomplete.
    ///
    /// Fails with what is wrong, also on packets that no check has a use for and on those larger
    /// than [`LARGEST_BYTES`].
    pub(crate) fn decode(version: Version, bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let Some(length) = length(bytes)? else { return Ok(None) };
        let Some(packet) = bytes.get(..length) else { return Ok(None) };
        let incomplete = || "a packet ends before its content does".to_owned();
        let packet = match version {
            Version::V3 => v3::Packet::decode(packet)
                .map_err(|error| error.to_string())?
                .ok_or_else(incomplete)
                .and_then(Self::from_v3)?,
            Version::V5 => v5::Packet::decode(packet)
                .map_err(|error| error.to_string())?
                .ok_or_else(incomplete)
                .and_then(Self::from_v5)?,
        };
        Ok(Some((packet, length)))
    }

    fn to_v3(&self) -> Result<v3::Packet, Error> {
        Ok(match self {
            Self::Acknowledge(kind, id) => {
                let pid = Pid::try_from(*id)?;
                match kind {
                    Acknowledgement::Puback => v3::Packet::Puback(pid),
                    Acknowledgement::Pubrec => v3::Packet::Pubrec(pid),
                    Acknowledgement::Pubrel => v3::Packet::Pubrel(pid),
                    Acknowledgement::Pubcomp => v3::Packet::Pubcomp(pid),
                }
            }
            Self::Connack(Connack { code, session_present }) => {
                let code = v3::ConnectReturnCode::from_u8(*code)?;
                v3::Connack::new(*session_present, code).into()
            }
            Self::Connect(connect) => {
                let mut packet = v3::Connect::new(connect.client.as_str().into(), KEEP_ALIVE);
                packet.clean_session = connect.clean;
                if let Some((name, password)) = connect.login.clone() {
                    packet.username = Some(name.into());
                    packet.password = Some(password.into());
                }
                if let Some((topic, message)) = connect.will.clone() {
                    let topic = TopicName::try_from(topic.as_str())?;
                    packet.last_will = Some(v3::LastWill::new(Qos::Level1, topic, message.into()));
                }
                packet.into()
            }
            Self::Disconnect => v3::Packet::Disconnect,
            Self::Pingreq => v3::Packet::Pingreq,
            Self::Pingresp => v3::Packet::Pingresp,
            Self::Publish(publish) => {
                let (qos_pid, topic) = (publish.qos_pid()?, publish.topic_name()?);
                let mut packet = v3::Publish::new(qos_pid, topic, publish.payload.clone().into());
                packet.dup = publish.dup;
                packet.retain = publish.retain;
                packet.into()
            }
            Self::Suback(id, granted) => {
                let code = granted.map_or(v3::SubscribeReturnCode::Failure, Into::into);
                v3::Suback::new(Pid::try_from(*id)?, vec![code]).into()
            }
            Self::Subscribe(id, filter, qos) => {
                let filter = TopicFilter::try_from(filter.as_str())?;
                v3::Subscribe::new(Pid::try_from(*id)?, vec![(filter, *qos)]).into()
            }
        })
    }

    fn to_v5(&self) -> Result<v5::Packet, Error> {
        Ok(match self {
            Self::Acknowledge(kind, id) => {
                let pid = Pid::try_from(*id)?;
                match kind {
                    Acknowledgement::Puback => v5::Packet::Puback(v5::Puback::new_success(pid)),
                    Acknowledgement::Pubrec => v5::Packet::Pubrec(v5::Pubrec::new_success(pid)),
                    Acknowledgement::Pubrel => v5::Packet::Pubrel(v5::Pubrel::new_success(pid)),
                    Acknowledgement::Pubcomp => v5::Packet::Pubcomp(v5::Pubcomp::new_success(pid)),
                }
            }
            Self::Connack(Connack { code, session_present }) => {
                let code = v5::ConnectReasonCode::from_u8(*code)
                    .ok_or(Error::InvalidConnectReturnCode(*code))?;
                v5::Packet::Connack(v5::Connack::new(*session_present, code))
            }
            Self::Connect(connect) => {
                let mut packet = v5::Connect::new(connect.client.as_str().into(), KEEP_ALIVE);
                packet.clean_start = connect.clean;
                packet.properties.session_expiry_interval = Some(connect.session_expiry);
                packet.properties.receive_max = connect.receive_maximum;
                packet.properties.max_packet_size = connect.maximum_packet;
                if let Some((name, password)) = connect.login.clone() {
                    packet.username = Some(name.into());
                    packet.password = Some(password.into());
                }
                if let Some((topic, message)) = connect.will.clone() {
                    let topic = TopicName::try_from(topic.as_str())?;
                    packet.last_will = Some(v5::LastWill::new(Qos::Level1, topic, message.into()));
                }
                v5::Packet::Connect(packet)
            }
            Self::Disconnect => v5::Packet::Disconnect(v5::Disconnect::new_normal()),
            Self::Pingreq => v5::Packet::Pingreq,
            Self::Pingresp => v5::Packet::Pingresp,
            Self::Publish(publish) => {
                let (qos_pid, topic) = (publish.qos_pid()?, publish.topic_name()?);
                let mut packet = v5::Publish::new(qos_pid, topic, publish.payload.clone().into());
                packet.dup = publish.dup;
                packet.retain = publish.retain;
                packet.properties.message_expiry_interval = publish.expiry;
                v5::Packet::Publish(packet)
            }
            Self::Suback(id, granted) => {
                let code = match granted {
                    Some(Qos::Level0) => v5::SubscribeReasonCode::GrantedQoS0,
                    Some(Qos::Level1) => v5::SubscribeReasonCode::GrantedQoS1,
                    Some(Qos::Level2) => v5::SubscribeReasonCode::GrantedQoS2,
                    None => v5::SubscribeReasonCode::UnspecifiedError,
                };
                v5::Packet::Suback(v5::Suback::new(Pid::try_from(*id)?, vec![code]))
            }
            Self::Subscribe(id, filter, qos) => {
                let filter = TopicFilter::try_from(filter.as_str())?;
                let options = v5::SubscriptionOptions::new(*qos);
                let subscribe = v5::Subscribe::new(Pid::try_from(*id)?, vec![(filter, options)]);
                v5::Packet::Subscribe(subscribe)
            }
        })
    }

    fn from_v3(packet: v3::Packet) -> Result<Self, String> {
        Ok(match packet {
            v3::Packet::Connack(v3::Connack { session_present, code }) => {
                Self::Connack(Connack { code: code as u8, session_present })
            }
            v3::Packet::Connect(connect) => Self::Connect(Box::new(Connect {
                client: connect.client_id.to_string(),
                clean: connect.clean_session,
                will: connect.last_will.map(|w| (w.topic_name.to_string(), w.message.to_vec())),
                session_expiry: if connect.clean_session { 0 } else { FOR_EVER },
                ..Connect::default()
            })),
            v3::Packet::Disconnect => Self::Disconnect,
            v3::Packet::Pingreq => Self::Pingreq,
            v3::Packet::Pingresp => Self::Pingresp,
            v3::Packet::Puback(pid) => Self::Acknowledge(Acknowledgement::Puback, pid.value()),
            v3::Packet::Pubcomp(pid) => Self::Acknowledge(Acknowledgement::Pubcomp, pid.value()),
            v3::Packet::Pubrec(pid) => Self::Acknowledge(Acknowledgement::Pubrec, pid.value()),
            v3::Packet::Pubrel(pid) => Self::Acknowledge(Acknowledgement::Pubrel, pid.value()),
            v3::Packet::Publish(publish) => Self::Publish(Publish {
                id: publish.qos_pid.pid().map_or(0, Pid::value),
                qos: publish.qos_pid.qos(),
                dup: publish.dup,
                retain: publish.retain,
                topic: publish.topic_name.to_string(),
                payload: publish.payload.to_vec(),
                expiry: None,
            }),
            v3::Packet::Suback(suback) => {
                let granted = match suback.topics.first() {
                    Some(v3::SubscribeReturnCode::MaxLevel0) => Some(Qos::Level0),
                    Some(v3::SubscribeReturnCode::MaxLevel1) => Some(Qos::Level1),
                    Some(v3::SubscribeReturnCode::MaxLevel2) => Some(Qos::Level2),
                    Some(v3::SubscribeReturnCode::Failure) | None => None,
                };
                Self::Suback(suback.pid.value(), granted)
            }
            v3::Packet::Subscribe(subscribe) => {
                let (filter, qos) = subscribe.topics.first().ok_or("a SUBSCRIBE without topics")?;
                Self::Subscribe(subscribe.pid.value(), filter.to_string(), *qos)
            }
            other => return Err(format!("an unexpected {:?}", other.get_type())),
        })
    }

    fn from_v5(packet: v5::Packet) -> Result<Self, String> {
        Ok(match packet {
            v5::Packet::Connack(connack) => Self::Connack(Connack {
                code: connack.reason_code as u8,
                session_present: connack.session_present,
            }),
            v5::Packet::Connect(connect) => Self::Connect(Box::new(Connect {
                client: connect.client_id.to_string(),
                clean: connect.clean_start,
                will: connect.last_will.map(|w| (w.topic_name.to_string(), w.payload.to_vec())),
                session_expiry: connect.properties.session_expiry_interval.unwrap_or_default(),
                receive_maximum: connect.properties.receive_max,
                maximum_packet: connect.properties.max_packet_size,
                login: None,
            })),
            v5::Packet::Disconnect(_) => Self::Disconnect,
            v5::Packet::Pingreq => Self::Pingreq,
            v5::Packet::Pingresp => Self::Pingresp,
            v5::Packet::Puback(p) => Self::Acknowledge(Acknowledgement::Puback, p.pid.value()),
            v5::Packet::Pubcomp(p) => Self::Acknowledge(Acknowledgement::Pubcomp, p.pid.value()),
            v5::Packet::Pubrec(p) => Self::Acknowledge(Acknowledgement::Pubrec, p.pid.value()),
            v5::Packet::Pubrel(p) => Self::Acknowledge(Acknowledgement::Pubrel, p.pid.value()),
            v5::Packet::Publish(publish) => Self::Publish(Publish {
                id: publish.qos_pid.pid().map_or(0, Pid::value),
                qos: publish.qos_pid.qos(),
                dup: publish.dup,
                retain: publish.retain,
                topic: publish.topic_name.to_string(),
                payload: publish.payload.to_vec(),
                expiry: publish.properties.message_expiry_interval,
            }),
            v5::Packet::Suback(suback) => {
                let granted = suback.topics.first().map(|code| Qos::from_u8(*code as u8));
                Self::Suback(suback.pid.value(), granted.and_then(Result::ok))
            }
            v5::Packet::Subscribe(subscribe) => {
                let (filter, options) =
                    subscribe.topics.first().ok_or("a SUBSCRIBE without topics")?;
                Self::Subscribe(subscribe.pid.value(), filter.to_string(), options.max_qos)
            }
            other => return Err(format!("an unexpected {:?}", other.get_type())),
        })
    }
}

impl Publish {
    fn qos_pid(&self) -> Result<QosPid, Error> {
        Ok(match self.qos {
            Qos::Level0 => QosPid::Level0,
            Qos::Level1 => QosPid::Level1(Pid::try_from(self.id)?),
            Qos::Level2 => QosPid::Level2(Pid::try_from(self.id)?),
        })
    }

    fn topic_name(&self) -> Result<TopicName, Error> {
        TopicName::try_from(self.topic.as_str())
    }
}

/// Bytes of the packet that begins here, by its fixed header (section 2.2.3).
fn length(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut remaining = 0;
    for place in 0..4 {
        let Some(&byte) = bytes.get(1 + place) else { return Ok(None) };
        remaining |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let length = 2 + place + remaining;
            return match length {
                0..=LARGEST_BYTES => Ok(Some(length)),
                _ => Err(format!("a packet of {length} bytes")),
            };
        }
    }
    Err("a length of more than four bytes".to_owned())
}

/// What a check takes of one packet; a broker that announces more is not listened to.
pub(crate) const LARGEST_BYTES: usize = 4 << 20;

/// A session expiry of version 5 that never comes (section 3.1.2.11.2).
pub(crate) const FOR_EVER: u32 = u32::MAX;

/// Seconds. Checks are shorter, so that they never ping.
const KEEP_ALIVE: u16 = 120;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(packet in packet()) {
            for version in [Version::V3, Version::V5] {
                let bytes = packet.encode(version).expect("it is well-formed");
                let read = Packet::decode(version, &bytes).expect("it is well-formed");
                prop_assert_eq!(read, Some((packet.clone(), bytes.len())));
                prop_assert_eq!(Packet::decode(version, &bytes[..bytes.len() - 1]), Ok(None));
            }
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for version in [Version::V3, Version::V5] {
                if let Ok(Some((_, length))) = Packet::decode(version, &bytes) {
                    prop_assert!((2..=bytes.len()).contains(&length));
                }
            }
        }
    }

    #[test]
    fn a_packet_without_end_is_refused_at_once() {
        assert!(Packet::decode(Version::V3, &[0x30, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(Packet::decode(Version::V5, &[0x30, 0xff, 0xff, 0xff, 0x7f]).is_err());
    }

    fn packet() -> impl Strategy<Value = Packet> {
        let qos = || prop::sample::select(vec![Qos::Level0, Qos::Level1, Qos::Level2]);
        let publish = (qos(), 1.., any::<bool>(), "[a-z/]{1,9}", any::<Vec<u8>>()).prop_map(
            |(qos, id, flag, topic, payload)| {
                let publish = Publish::new(&topic, qos, id, payload);
                Packet::Publish(Publish { dup: flag && id % 2 == 0, retain: flag, ..publish })
            },
        );
        let kind = prop::sample::select(vec![
            Acknowledgement::Puback,
            Acknowledgement::Pubrec,
            Acknowledgement::Pubrel,
            Acknowledgement::Pubcomp,
        ]);
        prop_oneof![
            publish,
            (kind, 1..).prop_map(|(kind, id)| Packet::Acknowledge(kind, id)),
            (1.., "[a-z/]{1,9}", qos())
                .prop_map(|(id, topic, qos)| Packet::Subscribe(id, topic, qos)),
            (1.., prop::option::of(qos())).prop_map(|(id, granted)| Packet::Suback(id, granted)),
            any::<bool>()
                .prop_map(|session_present| Packet::Connack(Connack { code: 0, session_present })),
            Just(Packet::Pingreq),
            Just(Packet::Pingresp),
            Just(Packet::Disconnect),
        ]
    }
}
