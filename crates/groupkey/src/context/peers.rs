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
//! On the wire it is not HPKE (ADR 8).

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::crypto::group::{Element, ElementCheck, Exponent};
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
        check: ElementCheck,
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

/// A party's own long-term key for key agreement, and the certified public keys of others. All keys
/// are of the suite's group. The implementer is responsible for the certificates.
pub trait PeerKeys {
    /// Returns this party's secret exponent.
    fn secret(&self) -> Exponent;

    /// Returns the public element of a party, or `None` if the party is unknown.
    fn public(&self, party: PartyId) -> Option<Element>;
}
