//! The content of packets, for both versions of MQTT.

use mqtt_proto::{Error, Pid, QosPid, TopicName};

pub(crate) use mqtt_proto::QoS as Qos;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    Acknowledge(Acknowledgement, u16),
    Connack(Connack),
    Connect(Box<Connect>),
    Disconnect,
    Pingreq,
    Pingresp,
    Publish(PublishPacket),
    Suback(u16, Vec<Option<Qos>>),
    Subscribe(u16, Vec<(String, Qos)>),
    Unsuback(u16),
    Unsubscribe(u16, String),
}

/// The four packets that acknowledge a PUBLISH or each other. They have nothing but an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    Puback,
    Pubrec,
    Pubrel,
    Pubcomp,
}

/// CONNECT. The last three fields are properties of version 5. Version 3.1.1 keeps a session
/// without limit unless it is clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connect {
    pub(crate) client: String,
    /// Clean Session in version 3.1.1, Clean Start in version 5.
    pub(crate) clean: bool,
    pub(crate) will: Option<(String, Vec<u8>)>,
    /// The keep-alive in s. 0 means that there is none.
    pub(crate) keep_alive: u16,
    /// How long the session outlives the connection, in s.
    pub(crate) session_expiry: u32,
    pub(crate) receive_maximum: Option<u16>,
    /// The largest packet that the client accepts, in bytes.
    pub(crate) maximum_packet: Option<u32>,
}

impl Default for Connect {
    fn default() -> Self {
        Self {
            client: String::new(),
            clean: false,
            will: None,
            keep_alive: KEEP_ALIVE,
            session_expiry: 0,
            receive_maximum: None,
            maximum_packet: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connack {
    /// The return code. 0 means success.
    pub(crate) code: u8,
    pub(crate) session_present: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublishPacket {
    /// The packet identifier, which is 0 at QoS 0.
    pub(crate) id: u16,
    pub(crate) qos: Qos,
    pub(crate) dup: bool,
    pub(crate) retain: bool,
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
    /// The message expiry in s, in version 5 only.
    pub(crate) expiry: Option<u32>,
}

impl PublishPacket {
    pub(crate) fn new(topic: &str, qos: Qos, id: u16, payload: impl Into<Vec<u8>>) -> Self {
        let id = if qos == Qos::Level0 { 0 } else { id };
        let topic = topic.to_owned();
        Self { id, qos, dup: false, retain: false, topic, payload: payload.into(), expiry: None }
    }

    pub(super) fn qos_pid(&self) -> Result<QosPid, Error> {
        Ok(match self.qos {
            Qos::Level0 => QosPid::Level0,
            Qos::Level1 => QosPid::Level1(Pid::try_from(self.id)?),
            Qos::Level2 => QosPid::Level2(Pid::try_from(self.id)?),
        })
    }

    pub(super) fn topic_name(&self) -> Result<TopicName, Error> {
        TopicName::try_from(self.topic.as_str())
    }
}

/// The session expiry of version 5 with which a session never expires (section 3.1.2.11.2).
pub(crate) const FOR_EVER: u32 = u32::MAX;

/// The default keep-alive in s.
const KEEP_ALIVE: u16 = 120;
