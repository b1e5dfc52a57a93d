//! Every nonce under every key, of all that any party of a history encrypts, across restarts.
//!
//! The recorder trusts no party's word about its keys: it derives a group message's key from the group key
//! that the sender shows, and opens the message. Group messages, welcomes and kept memberships have
//! nonces. Wrapped keys have none.

use std::collections::BTreeMap;

use groupkey::crypto::MessageNonce;
use groupkey::protection::Protection;
use groupkey::{Context, Key, Outbox, PartyId, Setting};
use minicbor::Decoder;
use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::data::Tag;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::ledger::{Invariant, Violation, violated};

#[derive(Debug, Default)]
pub(crate) struct NonceRecorder(BTreeMap<UsedNonce, Tag16>);

/// A key, or a value that belongs to one key alone; and a nonce.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UsedNonce {
    key: SealingKey,
    nonce: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SealingKey {
    /// The derived key of a sender and its session.
    Message([u8; 16]),
    OwnMessageKey(Vec<u8>),
    /// The service's public ephemeral key. It follows from the request that the welcome answers.
    Welcome([u8; 32]),
    AtRest(u32),
}

/// The tag of a ciphertext. Other contents have other tags.
type Tag16 = [u8; 16];

impl NonceRecorder {
    pub(crate) fn message(
        &mut self,
        setting: Setting,
        sender: PartyId,
        group_key: &Key,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let Some(object) = EncryptedObject::read(bytes) else {
            return violated(Invariant::NonceTwice, format!("{sender:?} sends no group message"));
        };
        let key = if object.has_own_key() {
            SealingKey::OwnMessageKey(object.circumstances.clone())
        } else {
            match object.open(setting, sender, group_key) {
                Some(key) => SealingKey::Message(key),
                None => {
                    let seen =
                        format!("a message of {sender:?} is under a key that it does not show");
                    return violated(Invariant::NonceTwice, seen);
                }
            }
        };
        self.note(key, object.counter, object.sealed)
    }

    pub(crate) fn welcome(&mut self, payload: &[u8]) -> Result<(), Violation> {
        type Welcome = (ByteArray<32>, ByteVec, ByteArray<64>);
        let Ok((public, sealed, _)) = minicbor::decode::<Welcome>(payload) else { return Ok(()) };
        self.note(SealingKey::Welcome(public.into()), &[], &sealed)
    }

    /// Notes what a device keeps: a nonce, and a ciphertext.
    pub(crate) fn at_rest(&mut self, device: u32, kept: &[u8]) -> Result<(), Violation> {
        let Some((nonce, sealed)) = kept.split_first_chunk::<12>() else { return Ok(()) };
        self.note(SealingKey::AtRest(device), nonce, sealed)
    }

    pub(crate) fn pairs(&self) -> usize {
        self.0.len()
    }

    /// The same ciphertext again is the same object, published once more.
    fn note(&mut self, key: SealingKey, nonce: &[u8], sealed: &[u8]) -> Result<(), Violation> {
        let Some(&tag) = sealed.last_chunk() else { return Ok(()) };
        let pair = UsedNonce { key, nonce: nonce.to_vec() };
        match self.0.get(&pair) {
            Some(before) if *before != tag => {
                violated(Invariant::NonceTwice, format!("two contents under {pair:?}"))
            }
            Some(_) => Ok(()),
            None => {
                self.0.insert(pair, tag);
                Ok(())
            }
        }
    }
}

/// A group message (`docs/messages.md`), read without the library.
struct EncryptedObject<'a> {
    protected: &'a [u8],
    /// Group, epoch, sender, session and resumption.
    circumstances: Vec<u8>,
    /// The partial IV.
    counter: &'a [u8],
    sealed: &'a [u8],
}

impl<'a> EncryptedObject<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut decoder = Decoder::new(bytes);
        (decoder.tag().ok()? == Tag::new(16) && decoder.array().ok()? == Some(3)).then_some(())?;
        let protected = decoder.bytes().ok()?;
        (decoder.map().ok()? == Some(0)).then_some(())?;
        let sealed = decoder.bytes().ok()?;
        let mut header = Decoder::new(protected);
        let (mut kid, mut counter, mut source) = (None, None, None);
        for _ in 0..header.map().ok()?? {
            match header.i64().ok()? {
                4 => kid = Some(header.bytes().ok()?),
                6 => counter = Some(header.bytes().ok()?),
                10 => source = Some(header.bytes().ok()?),
                _ => header.skip().ok()?,
            }
        }
        let circumstances = [kid.filter(|kid| kid.len() == 16)?, source?].concat();
        Some(Self { protected, circumstances, counter: counter?, sealed })
    }

    /// Message keys count as epoch 0.
    fn has_own_key(&self) -> bool {
        self.circumstances[8..16] == [0; 8]
    }

    fn open(&self, setting: Setting, sender: PartyId, group_key: &Key) -> Option<[u8; 16]> {
        let (mut outbox, mut probe, none) = (Outbox::new(), (), Protection::None);
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let mut cx = Context::new(setting, sender, none, &mut rng, 0, &mut outbox, &mut probe);
        let key = cx.derive(group_key, "groupkey message", &self.circumstances);
        let protected = ByteVec::from(self.protected.to_vec());
        let context = ByteArray::from(*setting.context.as_bytes());
        let covered = minicbor::to_vec(("Encrypt0", protected, context)).ok()?;
        let counter = self.counter.iter().fold(0, |counter, &byte| counter << 8 | u64::from(byte));
        let mut content = self.sealed.to_vec();
        cx.unseal(&key, MessageNonce::from(counter), &covered, &mut content).ok()?;
        Some(*key.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use groupkey::messages::{MessageSettings, Messenger};
    use groupkey::{Epoch, GroupId, MemberId, Suite};

    use super::*;

    const SENDER: PartyId = PartyId::Member(MemberId(3));

    fn setting() -> Setting {
        Setting::new(GroupId(7), Suite::Standard)
    }

    /// What a sender with this generator says under the key of an epoch.
    fn said(seed: u64, contents: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut outbox, mut probe, none) = (Outbox::new(), (), Protection::None);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut cx = Context::new(setting(), SENDER, none, &mut rng, 0, &mut outbox, &mut probe);
        let mut messenger = Messenger::new(&cx, MessageSettings::default()).unwrap();
        messenger.rekeyed(&mut cx, Epoch(4), &key());
        contents.iter().map(|content| messenger.seal(&mut cx, content).unwrap()).collect()
    }

    fn key() -> Key {
        Key::from_bytes([9; 16])
    }

    fn record(recorder: &mut NonceRecorder, messages: &[Vec<u8>]) -> Option<Invariant> {
        let mut noted =
            messages.iter().map(|bytes| recorder.message(setting(), SENDER, &key(), bytes));
        noted.find_map(Result::err).map(|violation| violation.kind)
    }

    #[test]
    fn a_sender_that_begins_again_with_the_same_session_is_seen() {
        let mut recorder = NonceRecorder::default();
        assert_eq!(record(&mut recorder, &said(1, &[b"a", b"b"])), None);
        assert_eq!(record(&mut recorder, &said(2, &[b"a", b"b"])), None, "another session");
        assert_eq!(recorder.pairs(), 4);
        assert_eq!(record(&mut recorder, &said(1, &[b"a"])), None, "the same message once more");
        let twice = record(&mut recorder, &said(1, &[b"a", b"c"]));
        assert_eq!(twice, Some(Invariant::NonceTwice));
    }

    #[test]
    fn a_message_under_another_key_than_the_senders_is_seen() {
        let mut recorder = NonceRecorder::default();
        let other = Key::from_bytes([8; 16]);
        let noted = recorder.message(setting(), SENDER, &other, &said(1, &[b"a"])[0]);
        assert_eq!(noted.unwrap_err().kind, Invariant::NonceTwice);
        assert!(recorder.message(setting(), SENDER, &key(), b"noise").is_err());
    }

    #[test]
    fn a_nonce_at_rest_or_of_a_welcome_that_comes_twice_is_seen() {
        let mut recorder = NonceRecorder::default();
        let kept = |content: u8| [[1; 12].as_slice(), &[content; 40]].concat();
        assert_eq!(recorder.at_rest(1, &kept(1)), Ok(()));
        assert_eq!(recorder.at_rest(2, &kept(2)), Ok(()), "another device");
        assert!(recorder.at_rest(1, &kept(3)).is_err());
        let welcome = |content: u8| {
            let sealed = ByteVec::from(vec![content; 40]);
            minicbor::to_vec((ByteArray::from([5; 32]), sealed, ByteArray::from([0; 64]))).unwrap()
        };
        assert_eq!(recorder.welcome(&welcome(1)), Ok(()));
        assert_eq!(recorder.welcome(&welcome(1)), Ok(()), "the same once more");
        assert!(recorder.welcome(&welcome(2)).is_err());
        assert_eq!(recorder.welcome(b"an offer"), Ok(()));
    }
}
