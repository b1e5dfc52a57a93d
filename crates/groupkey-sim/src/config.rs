//! The parameters of a network.

use crate::mqtt::{HandOver, MqttPacket, Qos};
use crate::outage::Reconnection;
use crate::tcp::TcpProfile;
use crate::time::Duration;

/// The time that MQTT packets cost a node. The node serves packets one after the other, in the
/// order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processing {
    /// Serial work for a received PUBLISH.
    pub publish: Duration,
    /// Serial work for a received PUBACK, PUBREC, PUBREL or PUBCOMP.
    pub acknowledgement: Duration,
    /// Clients only: the time to read a payload, in parallel with the exchange. The message is
    /// handed over when both have ended.
    pub payload_handling: Duration,
}

/// Parameters of a network.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Quality of service of every message, publisher to broker and broker to subscriber.
    pub qos: Qos,
    /// When a subscriber hands over a QoS 2 message.
    pub hand_over: HandOver,
    /// When the broker forwards a QoS 2 message; Mosquitto does at PUBREL.
    pub broker_forwards_on: HandOver,
    /// TCP parameters of both ends of every connection.
    pub tcp: TcpProfile,
    /// Most exchanges that one end of a connection may have under way. Further messages wait.
    pub max_in_flight: u16,
    /// The broker's processing times.
    pub broker: Processing,
    /// A client's processing times, unless
    /// [`Network::set_processing`](crate::Network::set_processing) replaces them.
    pub client: Processing,
    /// How connections end and are made again. Without it links and the broker never fail, no
    /// keep-alives are sent, and a connection that TCP gives up stays closed.
    pub reconnection: Option<Reconnection>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Bytes that a packet under way must lack for its connection to be simulated ahead of the
    /// others, which is faster. `u32::MAX` turns this off.
    pub ahead_bytes: u32,
    /// Threads for connections that are simulated ahead. The results do not depend on this number.
    pub threads: usize,
    /// Internal events after which the network reports that it did not settle.
    pub max_events: u64,
}

impl Default for NetworkConfig {
    /// QoS 2 at PUBREL over Linux TCP, with the processing times of Mosquitto and its clients on a
    /// desktop host (`docs/network.md` describes the measurement).
    fn default() -> Self {
        let processing = |publish, acknowledgement| Processing {
            publish: Duration::from_micros(publish),
            acknowledgement: Duration::from_micros(acknowledgement),
            payload_handling: Duration::ZERO,
        };
        Self {
            qos: Qos::default(),
            hand_over: HandOver::default(),
            broker_forwards_on: HandOver::default(),
            tcp: TcpProfile::default(),
            max_in_flight: u16::MAX,
            broker: processing(28, 6),
            client: processing(30, 19),
            reconnection: None,
            seed: 0,
            ahead_bytes: 65_536,
            threads: 1,
            max_events: 1_000_000_000,
        }
    }
}

impl Processing {
    pub(crate) const fn cost(&self, packet: &MqttPacket) -> Duration {
        match packet {
            MqttPacket::Publish { .. } => self.publish,
            _ => self.acknowledgement,
        }
    }
}
