//! The form of a message: a tagged COSE_Encrypt0 (RFC 9052 section 5.2) with one possible encoding.
//!
//! ```text
//! 16([ << {1: alg, ? 3: 18, 4: kid, (6: partial IV // 5: IV), 10: kid context, ? -65538: carried} >>, {}, ciphertext ])
//! ```

use alloc::vec::Vec;

use minicbor::data::Tag;
use minicbor::{Decoder, Encoder};

use super::Nonces;
use crate::crypto::{GroupContext, Hashing, MessageNonce, Signing, Suite};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, GroupId, MemberId};
use crate::secret::Key;

/// The information about a message. All of it is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectHeader {
    pub(super) group: GroupId,
    pub(super) epoch: Epoch,
    pub(super) nonce: MessageNonce,
    pub(super) nonces: Nonces,
    pub(super) source: SenderSession,
    /// Whether the encrypted content is a COSE_Sign1.
    pub(super) signed: bool,
}

/// The sender and its session: a sender that starts again is a new source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SenderSession {
    pub(super) sender: MemberId,
    /// The latest resumption that the sender knew of when it began the session.
    pub(super) resumption: u32,
    pub(super) session: [u8; 8],
}

/// The parts of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    pub(super) header: ObjectHeader,
    /// The ciphertext that carries the message's key, if the message has a key of its own.
    pub(super) carried: Option<&'a [u8]>,
    pub(super) protected: &'a [u8],
    pub(super) sealed: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignedContent<'a> {
    pub(super) content: &'a [u8],
    pub(super) signature: &'a [u8],
    /// What gives the sender its public key.
    pub(super) credential: Option<&'a [u8]>,
}

impl ObjectHeader {
    /// Returns the protected header as it is in the message. It includes the ciphertext that
    /// carries the message's key, if the message has a key of its own.
    pub(super) fn encode(&self, suite: Suite, carried: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + carried.map_or(0, <[u8]>::len));
        let mut encoder = Encoder::new(&mut bytes);
        let _ = encoder.map(4 + u64::from(self.signed) + u64::from(carried.is_some()));
        let _ = encoder.u8(ALGORITHM).and_then(|encoder| encoder.i64(algorithm(suite)));
        if self.signed {
            let _ = encoder.u8(CONTENT_TYPE).and_then(|encoder| encoder.u8(COSE_SIGN1));
        }
        let kid = [self.group.0.to_be_bytes(), self.epoch.0.to_be_bytes()];
        let _ = encoder.u8(KID).and_then(|encoder| encoder.bytes(kid.as_flattened()));
        let _ = match self.nonces {
            Nonces::Counter => {
                let counter = self.nonce.counter().to_be_bytes();
                let zeros = counter.iter().take(7).take_while(|&&byte| byte == 0).count();
                encoder.u8(PARTIAL_IV).and_then(|encoder| encoder.bytes(&counter[zeros..]))
            }
            Nonces::Synthetic => {
                encoder.u8(IV).and_then(|encoder| encoder.bytes(self.nonce.as_bytes(suite)))
            }
        };
        let (source, length) = self.source.encode();
        let _ = encoder.u8(KID_CONTEXT).and_then(|encoder| encoder.bytes(&source[..length]));
        if let Some(carried) = carried {
            let _ = encoder.i64(CARRIED).and_then(|encoder| encoder.bytes(carried));
        }
        bytes
    }

    /// Returns the context for deriving a key of this source: group, epoch, sender, session,
    /// resumption. Only the last has no fixed length.
    pub(super) fn circumstances(&self) -> Vec<u8> {
        let numbers = [self.group.0.to_be_bytes(), self.epoch.0.to_be_bytes()];
        let (source, length) = self.source.encode();
        [numbers.as_flattened(), &source[..length]].concat()
    }

    fn decode(suite: Suite, protected: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        let mut decoder = Decoder::new(protected);
        let items = decoder.map().ok()??;
        let mut item = |label: u8| (decoder.u8().ok()? == label).then_some(());
        item(ALGORITHM)?;
        let _ = decoder.i64().ok().filter(|&named| named == algorithm(suite))?;
        let signed = decoder.probe().u8().ok()? == CONTENT_TYPE;
        if signed {
            let mut item = |label: u8| (decoder.u8().ok()? == label).then_some(());
            item(CONTENT_TYPE)?;
            item(COSE_SIGN1)?;
        }
        let kid: &[u8; 16] = labelled(&mut decoder, KID)?.try_into().ok()?;
        let (group, epoch) = kid.split_at(8);
        let (nonce, nonces) = match decoder.u8().ok()? {
            PARTIAL_IV => (counter(decoder.bytes().ok()?)?.into(), Nonces::Counter),
            IV => (MessageNonce::of_bytes(suite, decoder.bytes().ok()?)?, Nonces::Synthetic),
            _ => return None,
        };
        let source = SenderSession::decode(labelled(&mut decoder, KID_CONTEXT)?)?;
        let header = Self {
            group: GroupId(u64::from_be_bytes(group.try_into().ok()?)),
            epoch: Epoch(u64::from_be_bytes(epoch.try_into().ok()?)),
            nonce,
            nonces,
            source,
            signed,
        };
        let carried = match items.checked_sub(4 + u64::from(signed))? {
            0 => None,
            _ => {
                let _ = decoder.i64().ok().filter(|&label| label == CARRIED)?;
                Some(decoder.bytes().ok()?)
            }
        };
        // There is one encoding, and the bytes must be equal to it.
        (header.encode(suite, carried) == protected).then_some((header, carried))
    }
}

impl SenderSession {
    /// Returns sender and session, and the resumption in as few bytes as it needs: none for 0. Then
    /// the number of these bytes.
    fn encode(self) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.sender.0.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.session);
        let zeros = self.resumption.leading_zeros() as usize / 8;
        bytes[12..16 - zeros].copy_from_slice(&self.resumption.to_be_bytes()[zeros..]);
        (bytes, 16 - zeros)
    }

    /// Reads what [`Self::encode`] wrote. The caller compares the bytes: other encodings pass here.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (sender, rest) = bytes.split_first_chunk()?;
        let (session, resumption) = rest.split_first_chunk()?;
        let mut padded = [0; 4];
        padded.get_mut(4_usize.checked_sub(resumption.len())?..)?.copy_from_slice(resumption);
        Some(Self {
            sender: MemberId(u32::from_be_bytes(*sender)),
            session: *session,
            resumption: u32::from_be_bytes(padded),
        })
    }
}

impl<'a> Object<'a> {
    pub(super) fn encode(protected: &[u8], sealed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12 + protected.len() + sealed.len());
        let _ = Encoder::new(&mut bytes)
            .tag(Tag::new(ENCRYPT0))
            .and_then(|encoder| encoder.array(3))
            .and_then(|encoder| encoder.bytes(protected))
            .and_then(|encoder| encoder.map(0))
            .and_then(|encoder| encoder.bytes(sealed));
        bytes
    }

    /// Splits a message into its parts, strictly.
    pub(super) fn decode(suite: Suite, bytes: &'a [u8]) -> Result<Self, Error> {
        let parts = || {
            let mut decoder = Decoder::new(bytes);
            let [protected, sealed] = opening(&mut decoder, ENCRYPT0, 3)
                .and_then(|()| Some([decoder.bytes().ok()?, after_map(&mut decoder)?]))?;
            let (header, carried) = ObjectHeader::decode(suite, protected)?;
            let strict = Self::encode(protected, sealed) == bytes;
            strict.then_some(Self { header, carried, protected, sealed })
        };
        parts().ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// Returns what the ciphertext's tag covers besides the ciphertext (RFC 9052 section 5.3). The
/// external data is the group's context.
pub(super) fn encrypt_structure(group: &GroupContext, protected: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + GroupContext::BYTES + protected.len());
    let _ = Encoder::new(&mut bytes)
        .array(3)
        .and_then(|encoder| encoder.str("Encrypt0"))
        .and_then(|encoder| encoder.bytes(protected))
        .and_then(|encoder| encoder.bytes(group.as_bytes()));
    bytes
}

/// Returns the bytes that a sender signs (RFC 9052 section 4.4): the content, bound to the message
/// around it and to a value derived from that message's key. These two are the external data, one
/// after the other.
pub(super) fn signature_structure(
    signing: Signing,
    around: &[u8],
    binding: &Key,
    content: &[u8],
) -> Vec<u8> {
    let external = [around, binding.as_bytes()].concat();
    let mut bytes = Vec::with_capacity(32 + external.len() + content.len());
    let _ = Encoder::new(&mut bytes)
        .array(4)
        .and_then(|encoder| encoder.str("Signature1"))
        .and_then(|encoder| encoder.bytes(signature_header(signing)))
        .and_then(|encoder| encoder.bytes(&external))
        .and_then(|encoder| encoder.bytes(content));
    bytes
}

impl<'a> SignedContent<'a> {
    /// The most bytes around content and credential, the signature included.
    pub(super) const fn longest_form(signing: Signing) -> usize {
        match signing {
            Signing::Ed25519 => 84,
            #[cfg(feature = "suite-pq")]
            Signing::Hybrid => 84 + 3_309 + 5,
        }
    }

    /// Encodes signed content: a tagged COSE_Sign1.
    pub(super) fn encode(&self, signing: Signing) -> Vec<u8> {
        let credential = self.credential.unwrap_or_default();
        let length = Self::longest_form(signing) + credential.len() + self.content.len();
        let mut bytes = Vec::with_capacity(length);
        let mut encoder = Encoder::new(&mut bytes);
        let _ = encoder
            .tag(Tag::new(SIGN1))
            .and_then(|encoder| encoder.array(4))
            .and_then(|encoder| encoder.bytes(signature_header(signing)))
            .and_then(|encoder| encoder.map(u64::from(self.credential.is_some())));
        if let Some(credential) = self.credential {
            let _ = encoder.i64(CREDENTIAL).and_then(|encoder| encoder.bytes(credential));
        }
        let _ = encoder.bytes(self.content).and_then(|encoder| encoder.bytes(self.signature));
        bytes
    }

    /// Reads the output of [`Self::encode`].
    pub(super) fn decode(signing: Signing, bytes: &'a [u8]) -> Option<Self> {
        let mut decoder = Decoder::new(bytes);
        opening(&mut decoder, SIGN1, 4)?;
        decoder.bytes().ok().filter(|&header| header == signature_header(signing))?;
        let credential = match decoder.map().ok()?? {
            0 => None,
            _ => {
                decoder.i64().ok().filter(|&label| label == CREDENTIAL)?;
                Some(decoder.bytes().ok()?)
            }
        };
        let content = decoder.bytes().ok()?;
        let signature = decoder.bytes().ok()?;
        let right = signature.len() == signing.signature_bytes();
        let signed = Self { content, signature, credential };
        (right && signed.encode(signing) == bytes).then_some(signed)
    }
}

fn opening(decoder: &mut Decoder<'_>, tag: u64, items: u64) -> Option<()> {
    let tagged = decoder.tag().ok()?.as_u64() == tag;
    (tagged && decoder.array().ok()? == Some(items)).then_some(())
}

/// Reads the string after the empty unprotected header.
fn after_map<'b>(decoder: &mut Decoder<'b>) -> Option<&'b [u8]> {
    (decoder.map().ok()? == Some(0)).then_some(())?;
    decoder.bytes().ok()
}

fn labelled<'b>(decoder: &mut Decoder<'b>, label: u8) -> Option<&'b [u8]> {
    (decoder.u8().ok()? == label).then_some(())?;
    decoder.bytes().ok()
}

/// Reads a partial IV.
fn counter(bytes: &[u8]) -> Option<u64> {
    let counters = MessageNonce::COUNTERS;
    let counter = bytes.iter().try_fold(0u64, |counter, &byte| {
        (counter < counters).then_some(counter << 8 | u64::from(byte))
    });
    counter.filter(|&counter| counter < counters)
}

/// Returns the algorithm's number: AES-CCM-16-128-128 (RFC 9053 section 4.2), or a number of our
/// own for Ascon-AEAD128, which has none yet.
const fn algorithm(suite: Suite) -> i64 {
    match suite.hashing() {
        Hashing::Ascon => -65_537,
        Hashing::Sha2 => 30,
    }
}

/// CBOR tags of COSE's objects.
const ENCRYPT0: u64 = 16;
const SIGN1: u64 = 18;

/// COSE's labels of header parameters.
const ALGORITHM: u8 = 1;
const CONTENT_TYPE: u8 = 3;
const KID: u8 = 4;
const IV: u8 = 5;
const PARTIAL_IV: u8 = 6;
const KID_CONTEXT: u8 = 10;

/// Our own label, from the range for private use: the ciphertext of a scheme's own encryption.
const CARRIED: i64 = -65_538;

/// Our own label in a COSE_Sign1: the sender's credential.
const CREDENTIAL: i64 = -65_539;

/// CoAP's number for `application/cose; cose-type="cose-sign1"`.
const COSE_SIGN1: u8 = 18;

/// Returns the protected header of a signature, which names its algorithm: `{1: -8}` for EdDSA (RFC 9053
/// section 2.2), or a number of our own for ML-DSA-65 with Ed25519, which has none yet.
const fn signature_header(signing: Signing) -> &'static [u8] {
    match signing {
        Signing::Ed25519 => &[0xa1, 0x01, 0x27],
        // `{1: -65_540}`.
        #[cfg(feature = "suite-pq")]
        Signing::Hybrid => &[0xa1, 0x01, 0x3a, 0x00, 0x01, 0x00, 0x03],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_header() -> impl Strategy<Value = ObjectHeader> {
        let source = (any::<u32>(), any::<u32>(), 0u32..33, any::<[u8; 8]>()).prop_map(
            |(sender, resumption, shift, session)| SenderSession {
                sender: MemberId(sender),
                resumption: resumption.checked_shr(shift).unwrap_or_default(),
                session,
            },
        );
        let counter = (0..MessageNonce::COUNTERS, 0u32..40).prop_map(|(number, by)| number >> by);
        // Of those before the counter, CCM has no room for three.
        let before = any::<Option<[u8; 8]>>();
        let nonce = (counter, before).prop_map(|(counter, before)| match before {
            None => (counter.into(), Nonces::Counter),
            Some(before) => {
                let before = core::array::from_fn(|place| {
                    place.checked_sub(3).map_or(0, |place| before[place])
                });
                (MessageNonce::synthetic(counter, &before), Nonces::Synthetic)
            }
        });
        (any::<u64>(), any::<u64>(), nonce, source, any::<bool>()).prop_map(
            |(group, epoch, (nonce, nonces), source, signed)| ObjectHeader {
                group: GroupId(group),
                epoch: Epoch(epoch),
                nonce,
                nonces,
                source,
                signed,
            },
        )
    }

    proptest! {
        #[test]
        fn a_message_survives_its_encoding(
            header in any_header(),
            carried in any::<Option<Vec<u8>>>(),
            sealed in any::<Vec<u8>>(),
        ) {
            for suite in [Suite::Standard, Suite::Constrained] {
                let protected = header.encode(suite, carried.as_deref());
                let bytes = Object::encode(&protected, &sealed);
                let object = Object::decode(suite, &bytes).unwrap();
                prop_assert_eq!(object.header, header);
                prop_assert_eq!(object.carried, carried.as_deref());
                prop_assert_eq!(object.sealed, &sealed[..]);
            }
        }

        #[test]
        fn accepted_bytes_are_the_only_encoding(
            header in any_header(),
            carried in any::<Option<[u8; 4]>>(),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let carried = carried.as_ref().map(|carried| &carried[..]);
            let mut bytes = Object::encode(&header.encode(Suite::Standard, carried), b"sealed");
            let place = place.index(bytes.len());
            bytes[place] = byte;
            if let Ok(object) = Object::decode(Suite::Standard, &bytes) {
                let protected = object.header.encode(Suite::Standard, object.carried);
                let again = Object::encode(&protected, object.sealed);
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in any::<Vec<u8>>()) {
            let _ = Object::decode(Suite::Standard, &bytes);
            for suite in Suite::ALL {
                let _ = SignedContent::decode(suite.signing(), &bytes);
            }
        }
    }

    #[test]
    fn signed_content_survives_its_encoding() {
        for signing in Suite::ALL.map(Suite::signing) {
            for credential in [None, Some(&[4; 96][..])] {
                let signature = &alloc::vec![3; signing.signature_bytes()];
                let signed = SignedContent { content: b"content", signature, credential };
                let bytes = signed.encode(signing);
                let decode = |bytes: &[u8]| SignedContent::decode(signing, bytes).is_some();
                assert_eq!(SignedContent::decode(signing, &bytes), Some(signed));
                assert!(!decode(&bytes[..bytes.len() - 1]));
                assert!(!decode(&[&bytes[..], &[0]].concat()));
                let short = SignedContent { signature: &signature[1..], ..signed };
                assert!(!decode(&short.encode(signing)));
                let long = SignedContent { content: &[0; 65_000], ..signed };
                let around = long.encode(signing).len() - 65_000;
                let around = around - credential.map_or(0, <[u8]>::len);
                assert!(around <= SignedContent::longest_form(signing));
            }
        }
    }

    /// So a member cannot put what another signed into another message, or under another key.
    #[test]
    fn what_is_signed_names_its_header_and_its_key() {
        let [one, other] = [1, 2].map(|byte| Key::from_bytes([byte; 16]));
        let base = signature_structure(Signing::Ed25519, b"header", &one, b"content");
        assert_ne!(base, signature_structure(Signing::Ed25519, b"headex", &one, b"content"));
        assert_ne!(base, signature_structure(Signing::Ed25519, b"header", &other, b"content"));
        assert_ne!(base, signature_structure(Signing::Ed25519, b"header", &one, b"contexx"));
    }

    #[test]
    fn the_largest_counter_takes_five_bytes() {
        let source = SenderSession { sender: MemberId(1), resumption: 0, session: [0; 8] };
        let header = |counter: u64| ObjectHeader {
            group: GroupId(1),
            epoch: Epoch(1),
            nonce: counter.into(),
            nonces: Nonces::Counter,
            source,
            signed: false,
        };
        let length = |counter| header(counter).encode(Suite::Standard, None).len();
        assert_eq!(length(MessageNonce::COUNTERS - 1), length(0) + 4);
        assert_eq!(counter(&[0xff; 5]), Some(MessageNonce::COUNTERS - 1));
        for beyond in [&[1, 0, 0, 0, 0, 0][..], &[0xff; 9]] {
            assert_eq!(counter(beyond), None);
        }
    }
}
