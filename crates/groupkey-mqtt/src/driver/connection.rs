//! The address of the broker, and how to connect to it.

use std::fmt;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::tls::Tls;

/// The address of the broker, and how to connect to it.
#[derive(Clone)]
pub struct Connection {
    /// The broker's host.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// The client identifier. It must be unique at the broker, and the same after a restart.
    pub client: String,
    /// User and password, if the broker requires them.
    pub login: Option<(String, Zeroizing<String>)>,
    /// The TLS settings. Without TLS, only the group's keys and messages are encrypted.
    pub tls: Option<Tls>,
    /// The path of a WebSocket, such as `/mqtt`, if MQTT goes over one: `wss` with TLS, `ws` without.
    #[cfg(feature = "websocket")]
    pub websocket: Option<String>,
    /// The version of MQTT. Parties of one group may use different ones.
    pub version: Version,
    /// The quality of service of publishes and subscriptions. If the broker allows less, the driver
    /// uses what it allows.
    pub qos: Quality,
    /// Topic and payload of the message that the broker publishes if the connection breaks.
    pub will: Option<(String, Vec<u8>)>,
    /// Whether the broker may keep a session while the client is away. It does so at QoS 1.
    pub keeps_session: bool,
    /// How long the broker may acknowledge nothing. After that, the driver reconnects and sends
    /// fewer publishes at once.
    pub patience: Duration,
}

/// A version of MQTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1.1 (OASIS, 2014).
    V3,
    /// MQTT 5.0 (OASIS, 2019). The default: stale messages expire, sessions end, and refusals have
    /// reasons.
    #[default]
    V5,
}

/// MQTT's quality of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// QoS 0. Members catch up with lost messages.
    AtMostOnce,
    /// QoS 1, with a session that persists.
    #[default]
    AtLeastOnce,
    /// QoS 2, with a new session for every connection.
    ExactlyOnce,
}

impl Connection {
    /// Returns a connection without login and TLS, in MQTT 5, at QoS 1.
    pub fn new(host: impl Into<String>, port: u16, client: impl Into<String>) -> Self {
        let (host, client) = (host.into(), client.into());
        let (version, qos) = Default::default();
        Self {
            host,
            port,
            client,
            login: None,
            tls: None,
            #[cfg(feature = "websocket")]
            websocket: None,
            version,
            qos,
            will: None,
            keeps_session: true,
            patience: PATIENCE,
        }
    }
}

impl Connection {
    /// Returns whether the broker keeps a session: at QoS 2 the client's half of it would be lost.
    pub(crate) const fn persists(&self) -> bool {
        self.keeps_session && matches!(self.qos, Quality::AtLeastOnce)
    }
}

impl Quality {
    /// Returns the level with this number: 0, 1 or 2.
    pub const fn from_level(level: u8) -> Option<Self> {
        match level {
            0 => Some(Self::AtMostOnce),
            1 => Some(Self::AtLeastOnce),
            2 => Some(Self::ExactlyOnce),
            _ => None,
        }
    }

    /// Returns the level's number: 0, 1 or 2.
    pub const fn level(self) -> u8 {
        match self {
            Self::AtMostOnce => 0,
            Self::AtLeastOnce => 1,
            Self::ExactlyOnce => 2,
        }
    }
}

/// The default patience. It is long enough for several of TCP's retransmissions.
const PATIENCE: Duration = Duration::from_secs(20);

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("client", &self.client)
            .field("user", &self.login.as_ref().map(|(user, _)| user))
            .field("tls", &self.tls)
            .field("version", &self.version)
            .field("qos", &self.qos)
            .field("will", &self.will)
            .finish()
    }
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::V3, Self::V5];

    /// Returns `3.1.1` or `5`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3 => "3.1.1",
            Self::V5 => "5",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quality_has_its_level() {
        let levels = [0, 1, 2, 3].map(Quality::from_level);
        let [zero, one, two, none] = levels;
        assert_eq!(zero, Some(Quality::AtMostOnce));
        assert_eq!(one, Some(Quality::AtLeastOnce));
        assert_eq!(two, Some(Quality::ExactlyOnce));
        assert_eq!(none, None);
    }
}
