//! MQTT packets. They have what both versions of the protocol have in common, and the few properties
//! of version 5 that the broker knows. `mqtt-proto` encodes and decodes the bytes.

mod content;
mod v3;
mod v5;

use mqtt_proto::Error;

pub(crate) use self::content::{Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};
use groupkey_mqtt::Version;

impl Packet {
    /// Encodes the packet. Fails on a topic that the standard does not allow, or an identifier of
    /// 0.
    pub(crate) fn encode(&self, version: Version) -> Result<Vec<u8>, Error> {
        let bytes = match version {
            Version::V3 => v3::write(self)?.encode()?,
            Version::V5 => v5::write(self)?.encode()?,
        };
        Ok(bytes.as_ref().to_vec())
    }

    /// Decodes the packet at the beginning of `bytes`. Returns it with its length, or `None` while
    /// it is incomplete.
    ///
    /// Fails with a description of the error. It also fails on packets that are not used here, and on
    /// packets larger than [`LARGEST_BYTES`].
    pub(crate) fn decode(version: Version, bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let Some(length) = length(bytes)? else { return Ok(None) };
        let Some(packet) = bytes.get(..length) else { return Ok(None) };
        let incomplete = || "a packet ends before its content does".to_owned();
        let packet = match version {
            Version::V3 => mqtt_proto::v3::Packet::decode(packet)
                .map_err(|error| error.to_string())?
                .ok_or_else(incomplete)
                .and_then(v3::read)?,
            Version::V5 => mqtt_proto::v5::Packet::decode(packet)
                .map_err(|error| error.to_string())?
                .ok_or_else(incomplete)
                .and_then(v5::read)?,
        };
        Ok(Some((packet, length)))
    }
}

/// Returns the length of the packet that begins here, from its fixed header (section 2.2.3).
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

/// The largest packet that is accepted, in bytes. A larger one is not read further.
pub(crate) const LARGEST_BYTES: usize = 4 << 20;

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
    fn a_refused_subscription_is_read() {
        let refused = Some((Packet::Suback(7, vec![None]), 5));
        assert_eq!(Packet::decode(Version::V3, &[0x90, 3, 0, 7, 0x80]), Ok(refused));
        let refused = Some((Packet::Suback(7, vec![None]), 6));
        assert_eq!(Packet::decode(Version::V5, &[0x90, 4, 0, 7, 0, 0x87]), Ok(refused));
    }

    #[test]
    fn a_packet_without_end_is_refused_at_once() {
        assert!(Packet::decode(Version::V3, &[0x30, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(Packet::decode(Version::V5, &[0x30, 0xff, 0xff, 0xff, 0x7f]).is_err());
    }

    fn packet() -> impl Strategy<Value = Packet> {
        let qos = || prop::sample::select(vec![Qos::Level0, Qos::Level1, Qos::Level2]);
        let publish = (qos(), 1_u16.., any::<bool>(), "[a-z/]{1,9}", any::<Vec<u8>>()).prop_map(
            |(qos, id, flag, topic, payload)| {
                let publish = PublishPacket::new(&topic, qos, id, payload);
                Packet::Publish(PublishPacket { dup: flag && id % 2 == 0, retain: flag, ..publish })
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
            (kind, 1_u16..).prop_map(|(kind, id)| Packet::Acknowledge(kind, id)),
            (1_u16.., "[a-z/]{1,9}", qos())
                .prop_map(|(id, topic, qos)| Packet::Subscribe(id, vec![(topic, qos)])),
            (1_u16.., qos()).prop_map(|(id, granted)| Packet::Suback(id, vec![Some(granted)])),
            (1_u16.., "[a-z/]{1,9}").prop_map(|(id, topic)| Packet::Unsubscribe(id, topic)),
            (1_u16..).prop_map(Packet::Unsuback),
            any::<bool>().prop_map(|session_present| {
                Packet::Connack(Connack { code: 0, session_present })
            }),
            Just(Packet::Pingreq),
            Just(Packet::Pingresp),
            Just(Packet::Disconnect),
        ]
    }
}
