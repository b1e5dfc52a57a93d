//! What a broker of MQTT 5 announces when it accepts a connection.

use std::fmt;

use super::connection::Quality;

/// The properties of CONNACK (MQTT 5, section 3.2.2.3), each with the standard's default if the
/// broker does not send it. `docs/run.md` says what the driver does with each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerProperties {
    /// Maximum QoS: of a client's publishes.
    pub maximum_qos: Quality,
    /// Retain Available: whether the broker retains messages for later subscribers.
    pub retains: bool,
    /// Wildcard Subscription Available.
    pub wildcards: bool,
    /// Shared Subscription Available.
    pub shared_subscriptions: bool,
    /// Receive Maximum: how many publishes of a client may be in flight.
    pub receive_maximum: u16,
    /// Maximum Packet Size, in bytes. `None`: no limit.
    pub maximum_packet: Option<u32>,
    /// Server Keep Alive, in s. `None`: the client's own time counts.
    pub keep_alive: Option<u16>,
    /// Session Expiry Interval, in s. `None`: the client's own time counts.
    pub session_expiry: Option<u32>,
    /// Assigned Client Identifier, in place of the client's own.
    pub assigned_client: Option<String>,
}

impl Default for BrokerProperties {
    fn default() -> Self {
        Self {
            maximum_qos: Quality::ExactlyOnce,
            retains: true,
            wildcards: true,
            shared_subscriptions: true,
            receive_maximum: u16::MAX,
            maximum_packet: None,
            keep_alive: None,
            session_expiry: None,
            assigned_client: None,
        }
    }
}

impl fmt::Display for BrokerProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no = |has: bool| if has { "" } else { "no " };
        write!(f, "QoS {} at most, ", self.maximum_qos.level())?;
        write!(f, "{}retained messages, {}wildcards, ", no(self.retains), no(self.wildcards))?;
        write!(f, "{}shared subscriptions, ", no(self.shared_subscriptions))?;
        write!(f, "{} messages under way", self.receive_maximum)?;
        match self.maximum_packet {
            Some(bytes) => write!(f, ", packets of {bytes} bytes")?,
            None => f.write_str(", packets of any length")?,
        }
        if let Some(seconds) = self.keep_alive {
            write!(f, ", keep alive {seconds} s")?;
        }
        if let Some(seconds) = self.session_expiry {
            write!(f, ", sessions of {seconds} s")?;
        }
        match &self.assigned_client {
            Some(client) => write!(f, ", client identifier {client}"),
            None => Ok(()),
        }
    }
}
