//! What bridges say to each other inside a group's messages.
//!
//! A bridge message is the content of one group message: a CBOR array of a version and one of three things.
//! The first carries what a program published, the second says up to where somebody has it, and the third
//! says whose number this is.

use alloc::string::String;
use alloc::vec::Vec;

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};

use super::topic_filter::is_topic;
use crate::codec::{decoded, encoded};

/// The content of a bridge's message to its group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum BridgeMessage {
    /// What a program published.
    #[n(0)]
    Carried(#[n(0)] Carried),
    /// Up to where somebody has a stream.
    #[n(1)]
    Confirmed(#[n(0)] DeliveryConfirmation),
    /// Whose number the sender's is.
    #[n(2)]
    Introduced(#[n(0)] Introduction),
}

/// What a program published, and its place in the stream of the bridge that carries it.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct Carried {
    /// The stream. A bridge draws it whenever it begins to number anew.
    #[n(0)]
    pub stream: ByteArray<8>,
    /// The number in the stream.
    #[n(1)]
    pub number: u64,
    /// The lowest number that the sender may still repeat.
    #[n(2)]
    pub base: u64,
    /// The quality of service, 0 or 1.
    #[n(3)]
    pub qos: u8,
    /// Whether the broker keeps it for later subscribers.
    #[n(4)]
    pub retain: bool,
    /// The topic.
    #[n(5)]
    pub topic: String,
    /// The payload.
    #[n(6)]
    pub payload: ByteVec,
}

/// Says that all numbers before `next` of a stream are at another bridge's broker, or will never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct DeliveryConfirmation {
    /// The number of the member whose stream it is.
    #[n(0)]
    pub member: u32,
    /// The stream.
    #[n(1)]
    pub stream: ByteArray<8>,
    /// The first number that is missing.
    #[n(2)]
    pub next: u64,
    /// From which number on everything is to be repeated, if something is missing.
    #[n(3)]
    pub again: Option<u64>,
}

/// Says which identity has the sender's number in this founding of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct Introduction {
    /// The identity's public key.
    #[n(0)]
    pub identity: ByteArray<32>,
    /// Its signature: see [`introduce`](super::introductions::introduce).
    #[n(1)]
    pub signature: ByteArray<64>,
    /// Whether others are asked to introduce themselves, too.
    #[n(2)]
    pub asks: bool,
}

/// A bridge message with its version.
#[derive(Encode, Decode)]
#[cbor(array)]
struct Versioned {
    #[n(0)]
    version: u8,
    #[n(1)]
    message: BridgeMessage,
}

impl BridgeMessage {
    /// The maximum length of an encoded message, in bytes. A group message has at most 65,535 bytes
    /// of content; signatures and certificates take 180 of them (`docs/messages.md`).
    pub const LONGEST: usize = 65_355;

    /// Encodes the message.
    pub fn encode(self) -> Vec<u8> {
        encoded(&Versioned { version: VERSION, message: self })
    }

    /// Decodes a message. Returns `None` for what is none: another encoding, another version, a topic
    /// to which nobody may publish, a quality of service of 2, or a number before the base.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let Versioned { version, message } = decoded(bytes)?;
        let is_sound = match &message {
            Self::Carried(carried) => {
                carried.qos <= 1 && carried.base <= carried.number && is_topic(&carried.topic)
            }
            Self::Confirmed(_) | Self::Introduced(_) => true,
        };
        (version == VERSION && is_sound).then_some(message)
    }
}

/// The topic and the payload are for users' programs alone, and not for a log.
impl core::fmt::Debug for Carried {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Carried")
            .field("number", &self.number)
            .field("base", &self.base)
            .field("qos", &self.qos)
            .field("retain", &self.retain)
            .finish_non_exhaustive()
    }
}

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn carried(number: u64, base: u64, qos: u8, topic: &str, payload: Vec<u8>) -> BridgeMessage {
        let (stream, retain, topic) = ([7; 8].into(), true, topic.into());
        let payload = payload.into();
        BridgeMessage::Carried(Carried { stream, number, base, qos, retain, topic, payload })
    }

    #[test]
    fn what_stands_around_a_message_is_small() {
        let bytes = carried(1_000, 990, 1, "plant/7/temperature", vec![1; 100]).encode();
        assert_eq!(bytes.len() - 19 - 100, 25);
    }

    #[test]
    fn hostile_messages_are_refused() {
        let whole = carried(5, 4, 1, "a/b", vec![1, 2, 3]).encode();
        assert!(BridgeMessage::decode(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(BridgeMessage::decode(&whole[..length]), None, "cut at {length}");
        }
        assert_eq!(BridgeMessage::decode(&[&whole[..], b"\0"].concat()), None);
        for hostile in [
            carried(5, 6, 1, "a", Vec::new()),
            carried(5, 5, 2, "a", Vec::new()),
            carried(5, 5, 1, "", Vec::new()),
            carried(5, 5, 1, "a/#", Vec::new()),
            carried(5, 5, 1, "$SYS/broker", Vec::new()),
            carried(5, 5, 1, "a\0b", Vec::new()),
        ] {
            assert_eq!(BridgeMessage::decode(&hostile.encode()), None);
        }
        let mut other = whole;
        other[1] = VERSION + 1;
        assert_eq!(BridgeMessage::decode(&other), None, "another version");
        // A length of a payload that nobody has.
        let long = b"\x82\x01\x82\x00\x87\x48AAAAAAAA\x00\x00\x01\xf4\x61a\x5b\xff\xff\xff\xff\xff\xff\xff\xff";
        assert_eq!(BridgeMessage::decode(long), None);
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(
            base in any::<u64>(), more in any::<u32>(), qos in 0..2_u8,
            topic in "[a-z/äß]{1,40}", payload in prop::collection::vec(any::<u8>(), 0..300),
            member in any::<u32>(), again in any::<bool>(),
        ) {
            let number = base.saturating_add(more.into());
            let confirmation =
                DeliveryConfirmation { member, stream: [3; 8].into(), next: base, again: again.then_some(number) };
            let introduction =
                Introduction { identity: [1; 32].into(), signature: [2; 64].into(), asks: again };
            for message in [
                carried(number, base, qos, &topic, payload),
                BridgeMessage::Confirmed(confirmation),
                BridgeMessage::Introduced(introduction),
            ] {
                prop_assert_eq!(BridgeMessage::decode(&message.clone().encode()), Some(message));
            }
        }

        #[test]
        fn any_bytes_are_a_message_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(message) = BridgeMessage::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
