//! Counters of the network's traffic.

use core::ops::{Add, Sub};

/// Counters since the network was made. The difference of two values is the traffic in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of all packets sent: IPv4 and TCP headers with options, payload, pure acknowledgements
    /// and retransmissions, in both directions, lost or not.
    pub wire_bytes: u64,
    /// TCP segments sent, pure acknowledgements included.
    pub segments: u64,
    /// Of those, segments with data that had been sent before.
    pub retransmissions: u64,
    /// Of those, segments that a link lost or had no room for.
    pub lost: u64,
    /// MQTT control packets written.
    pub mqtt_packets: u64,
    /// Messages handed over to subscribers.
    pub deliveries: u64,
}

impl Traffic {
    pub(crate) const NONE: Self = Self {
        wire_bytes: 0,
        segments: 0,
        retransmissions: 0,
        lost: 0,
        mqtt_packets: 0,
        deliveries: 0,
    };
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wire_bytes: self.wire_bytes + other.wire_bytes,
            segments: self.segments + other.segments,
            retransmissions: self.retransmissions + other.retransmissions,
            lost: self.lost + other.lost,
            mqtt_packets: self.mqtt_packets + other.mqtt_packets,
            deliveries: self.deliveries + other.deliveries,
        }
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            wire_bytes: self.wire_bytes - earlier.wire_bytes,
            segments: self.segments - earlier.segments,
            retransmissions: self.retransmissions - earlier.retransmissions,
            lost: self.lost - earlier.lost,
            mqtt_packets: self.mqtt_packets - earlier.mqtt_packets,
            deliveries: self.deliveries - earlier.deliveries,
        }
    }
}
