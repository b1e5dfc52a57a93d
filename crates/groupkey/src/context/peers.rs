//! Long-term keys, for parties that know each other's certified public keys but have not met: a
//! static Diffie-Hellman key for each pair, and keys encrypted to one party.
//!
//! | what | primitives, counted |
//! |---|---|
//! | key of a pair | 1 exponentiation, 1 element encoded, 1 derivation |
//! | encrypting a key | 1 random exponent, 1 power of the generator, 1 exponentiation, 3 elements encoded, 1 derivation, 1 wrap |
//! | opening it | 1 check of an element, 1 exponentiation, 2 elements encoded, 1 derivation, 1 unwrap |
//!
//! Encryption is DHIES in the manner of HPKE's base mode (RFC 9180), in the suite's group. The
//! ephemeral element, the receiver's public element and the scheme's `info` go into the derivation.
//! On the wire it is not HPKE (`docs/adr/0008-members-long-term-keys.md`).

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::crypto::group::{Check, Element};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, PartyId};
use crate::secret::Key;

impl Context<'_> {
    /// Returns the key that this party shares with another through their long-term keys, for this
    /// group. The key is the same every time, so it must not wrap anything without a fresh value.
    pub fn pair_key(&mut self, other: PartyId, label: &'static str) -> Result<Key, Error> {
        let keys = self.peer_keys.ok_or(Misuse::NoPeerKeys)?;
        let public = keys.public(other).ok_or(Misuse::UnknownPeer(other))?;
        self.trace(Rule::Public, &[], &[&public]);
        let mut shared = self.power(&public, &keys.secret());
        let mut context = Vec::with_capacity(18);
        context.extend_from_slice(&self.group().0.to_be_bytes());
        let (low, high) = (self.me().min(other), self.me().max(other));
        context.extend_from_slice(&number(low));
        context.extend_from_slice(&number(high));
        let key = self.derive_from_element(&shared, label, &context);
        shared.zeroize();
        Ok(key)
    }

    /// Encrypts a key that only `to` can open, and appends it to `out`. `info` states its purpose:
    /// a party that opens it must state the same.
    pub fn encrypt_key(
        &mut self,
        to: PartyId,
        epoch: Epoch,
        info: &[u8],
        key: &Key,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let keys = self.peer_keys.ok_or(Misuse::NoPeerKeys)?;
        let public = keys.public(to).ok_or(Misuse::UnknownPeer(to))?;
        self.trace(Rule::Public, &[], &[&public]);
        let secret = self.random_exponent();
        let ephemeral = self.generator_power(&secret);
        let shared = self.power(&public, &secret);
        let start = out.len();
        self.encode_element(&ephemeral, out);
        let kek = self.encryption_key(shared, &out[start..], &public, info);
        // The key wraps once, so no other wrapping has this binding.
        self.wrap_keys(&kek, epoch, 0, [key], out);
        Ok(())
    }

    /// Opens a key that [`Self::encrypt_key`] encrypted for this party.
    pub fn decrypt_key(
        &mut self,
        epoch: Epoch,
        info: &[u8],
        encrypted: &[u8],
        check: Check,
    ) -> Result<Key, Error> {
        let keys = self.peer_keys.ok_or(Misuse::NoPeerKeys)?;
        let me = self.me();
        let public = keys.public(me).ok_or(Misuse::UnknownPeer(me))?;
        if encrypted.len() != self.encrypted_length() {
            return Err(Misbehaviour::Malformed.into());
        }
        let (encoded, wrapped) = encrypted.split_at(Element::length(self.suite()));
        let ephemeral = self.element(encoded, check)?;
        let shared = self.power(&ephemeral, &keys.secret());
        let kek = self.encryption_key(shared, encoded, &public, info);
        self.unwrap_key(&kek, epoch, 0, wrapped)
    }

    /// Returns the length in bytes of an encrypted key.
    pub const fn encrypted_length(&self) -> usize {
        Element::length(self.suite()) + self.wrapped_length(1)
    }

    fn encryption_key(
        &mut self,
        mut shared: Element,
        ephemeral: &[u8],
        public: &Element,
        info: &[u8],
    ) -> Key {
        let mut context = Vec::with_capacity(2 * Element::length(self.suite()) + 8 + info.len());
        context.extend_from_slice(ephemeral);
        self.encode_element(public, &mut context);
        context.extend_from_slice(&self.group().0.to_be_bytes());
        context.extend_from_slice(info);
        let key = self.derive_from_element(&shared, "groupkey encryption", &context);
        shared.zeroize();
        key
    }
}

/// Encodes a party in five bytes: its kind and its number.
fn number(party: PartyId) -> [u8; 5] {
    let (kind, id) = match party {
        PartyId::Controller => (0, 0),
        PartyId::SubgroupController(subgroup) => (1, subgroup.0),
        PartyId::Member(member) => (2, member.0),
    };
    let mut number = [kind; 5];
    number[1..].copy_from_slice(&id.to_be_bytes());
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Setting;
    use crate::credentials::Credentials;
    use crate::crypto::meter::{Meter, Primitive};
    use crate::crypto::{Suite, Wrapping};
    use crate::identity::{GroupId, MemberId};
    use crate::outbox::Outbox;
    use crate::protection::{Guard, Protection};
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    const ANN: PartyId = PartyId::Member(MemberId(4));
    const BOB: PartyId = PartyId::Member(MemberId(9));
    const EVE: PartyId = PartyId::Member(MemberId(5));
    const EPOCH: Epoch = Epoch(3);

    fn act<T>(suite: Suite, group: u64, me: PartyId, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let credentials = Credentials::new(Guard::None, 1);
        let keys = credentials.peer_keys(me, suite);
        let setting = Setting { group: GroupId(group), suite, ..Setting::default() };
        let (mut rng, mut outbox, none) = (rng(), Outbox::new(), Protection::None);
        let mut probe = ();
        let cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
        act(&mut cx.with_peer_keys(&keys))
    }

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::from_seed([7; 32])
    }

    #[test]
    fn both_of_a_pair_have_its_key_and_nobody_else() {
        for suite in Suite::ALL {
            let key =
                |group, me, other, label| act(suite, group, me, |cx| cx.pair_key(other, label));
            let shared = key(1, ANN, BOB, "a").unwrap();
            assert_eq!(Ok(&shared), key(1, BOB, ANN, "a").as_ref());
            for other in [key(1, EVE, BOB, "a"), key(2, ANN, BOB, "a"), key(1, ANN, BOB, "b")] {
                assert_ne!(Ok(&shared), other.as_ref());
            }
        }
    }

    #[test]
    fn only_the_receiver_opens_an_encrypted_key_and_only_for_what_it_was_made() {
        for suite in Suite::ALL {
            let (key, mut encrypted) = (Key::from_bytes([5; 16]), Vec::new());
            act(suite, 1, ANN, |cx| cx.encrypt_key(BOB, EPOCH, b"x", &key, &mut encrypted))
                .unwrap();
            let open = |group, me, info: &[u8], bytes: &[u8]| {
                act(suite, group, me, |cx| cx.decrypt_key(EPOCH, info, bytes, Check::Subgroup))
            };
            assert_eq!(open(1, BOB, b"x", &encrypted), Ok(key.clone()));
            // CBC has no integrity: a wrong key opens it and gets another key.
            for opened in [
                open(1, EVE, b"x", &encrypted),
                open(1, BOB, b"y", &encrypted),
                open(2, BOB, b"x", &encrypted),
            ] {
                assert_ne!(opened.as_ref(), Ok(&key));
                assert_eq!(opened.is_ok(), suite.wrapping() == Wrapping::AesCbc);
            }
            let length = Element::length(suite);
            let mut changed = encrypted.clone();
            changed[..length].fill(0);
            let refused = open(1, BOB, b"x", &changed);
            assert_eq!(refused, Err(Misbehaviour::InvalidElement.into()));
            let refused = open(1, BOB, b"x", &encrypted[1..]);
            assert_eq!(refused, Err(Misbehaviour::Malformed.into()));
        }
    }

    #[test]
    fn who_has_no_keys_is_told() {
        let missing = Err(Misuse::NoPeerKeys.into());
        let (mut rng, mut outbox, mut probe) = (rng(), Outbox::new(), ());
        let (setting, none) = (Setting::default(), Protection::None);
        let mut cx = Context::new(setting, ANN, none, &mut rng, 0, &mut outbox, &mut probe);
        assert_eq!(cx.pair_key(BOB, "a"), missing);
        let mut out = Vec::new();
        let refused = cx.encrypt_key(BOB, EPOCH, b"", &Key::default(), &mut out);
        assert_eq!(refused, Err(Misuse::NoPeerKeys.into()));
        assert_eq!(cx.decrypt_key(EPOCH, b"", &[0; 56], Check::Subgroup), missing);
    }

    /// Checks the costs in the header.
    #[test]
    fn every_primitive_is_counted() {
        let credentials = Credentials::new(Guard::None, 1);
        let keys = credentials.peer_keys(ANN, Suite::Standard);
        let (mut rng, mut outbox, setting) = (rng(), Outbox::new(), Setting::default());
        let mut out = Vec::new();
        let mut count = |act: &mut dyn FnMut(&mut Context<'_>)| {
            let mut meter = Meter::new();
            let none = Protection::None;
            let cx = Context::new(setting, ANN, none, &mut rng, 0, &mut outbox, &mut meter);
            act(&mut cx.with_peer_keys(&keys));
            let calls = Primitive::ALL.into_iter().map(|used| (used, meter.tally(used).calls));
            calls.filter(|&(_, calls)| calls > 0).collect::<Vec<_>>()
        };
        use Primitive::*;
        let pairing = count(&mut |cx| drop(cx.pair_key(BOB, "a").unwrap()));
        assert_eq!(pairing, [(Derive, 1), (Exponentiate, 1), (EncodeElement, 1)]);
        let encrypting = count(&mut |cx| {
            cx.encrypt_key(ANN, EPOCH, b"", &Key::default(), &mut out).unwrap();
        });
        let once =
            [Random, Wrap, Derive, ExponentiateGenerator, Exponentiate].map(|used| (used, 1));
        assert_eq!(encrypting, [&once[..], &[(EncodeElement, 3)]].concat());
        let opening = count(&mut |cx| {
            cx.decrypt_key(EPOCH, b"", &out, Check::Subgroup).unwrap();
        });
        let once = [Unwrap, Derive, Exponentiate, CheckElement].map(|used| (used, 1));
        assert_eq!(opening, [&once[..], &[(EncodeElement, 2)]].concat());
    }
}
