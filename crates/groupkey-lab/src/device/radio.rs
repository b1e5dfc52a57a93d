//! The radio of a device: what packets cost on the air.

use serde::Deserialize;

use super::power::PowerFigure;
use crate::statistics::Deviation;

/// A device's radio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The link, in words: `IEEE 802.15.4 at 250 kbit/s`.
    pub link: String,
    /// Bits a second, while a packet's payload is on the air.
    pub bits_per_second: u64,
    /// Time of a packet beside its payload (ns): preamble, headers, and the acknowledgement with
    /// the pause before it.
    pub packet_ns: u64,
    /// The longest payload of a packet (bytes). A longer message takes several packets.
    pub packet_bytes: u32,
    /// Where the link's three figures come from.
    pub source: String,
    /// The device's power while it sends.
    pub send: PowerFigure,
    /// The device's power while it receives.
    pub receive: PowerFigure,
}

impl Radio {
    /// Returns the time on the air of this many messages with this many bytes in all (s). Messages
    /// are of one length; headers above the link are part of their bytes.
    pub fn seconds(&self, messages: f64, bytes: f64) -> f64 {
        self.packets(messages, bytes) * self.packet_ns as f64 * 1e-9
            + bytes * self.seconds_of_byte()
    }

    /// Returns the energy to send these messages (J), all that the device draws meanwhile.
    pub fn sending(&self, messages: f64, bytes: f64) -> Deviation {
        at(&self.send, self.seconds(messages, bytes))
    }

    /// Returns the energy to receive these messages (J), all that the device draws meanwhile.
    /// Listening before a message arrives is not in it: that is part of idling.
    pub fn receiving(&self, messages: f64, bytes: f64) -> Deviation {
        at(&self.receive, self.seconds(messages, bytes))
    }

    /// Returns the packets of messages of one length: at least one for each.
    fn packets(&self, messages: f64, bytes: f64) -> f64 {
        if messages <= 0.0 {
            return 0.0;
        }
        messages * (bytes / messages / f64::from(self.packet_bytes)).ceil().max(1.0)
    }

    /// Returns the time of a byte on the air (s).
    pub(crate) fn seconds_of_byte(&self) -> f64 {
        8.0 / self.bits_per_second as f64
    }
}

fn at(power: &PowerFigure, seconds: f64) -> Deviation {
    Deviation { value: seconds * power.watt, error: seconds * power.error_watt }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radio() -> Radio {
        let power = |watt, error_watt| PowerFigure {
            watt,
            error_watt,
            source: "assumed: a test".to_owned(),
        };
        Radio {
            link: "a test".to_owned(),
            bits_per_second: 8_000,
            packet_ns: 5_000_000,
            packet_bytes: 100,
            source: "assumed: a test".to_owned(),
            send: power(0.2, 0.02),
            receive: power(0.1, 0.0),
        }
    }

    #[test]
    fn a_byte_takes_its_bits_and_a_packet_its_head() {
        // 50 bytes take 50 ms, and their packet 5 ms.
        assert!((radio().seconds(1.0, 50.0) - 0.055).abs() < 1e-12);
        let sent = radio().sending(1.0, 50.0);
        assert!((sent.value - 0.011).abs() < 1e-12 && (sent.error - 0.0011).abs() < 1e-12);
        assert!((radio().receiving(1.0, 50.0).value - 0.0055).abs() < 1e-12);
    }

    #[test]
    fn long_messages_take_several_packets_and_no_message_takes_none() {
        assert!((radio().seconds(2.0, 402.0) - (0.402 + 6.0 * 0.005)).abs() < 1e-12);
        assert!((radio().seconds(3.0, 0.0) - 3.0 * 0.005).abs() < 1e-12);
        assert_eq!(radio().seconds(0.0, 0.0), 0.0);
    }
}
