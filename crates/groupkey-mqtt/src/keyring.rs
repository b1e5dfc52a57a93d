//! The keys with which parties protect their messages, and their identities.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use groupkey::protection::{Directory, Guard, Identity, MacKey, Protection, PublicIdentity};
use groupkey::{GroupContext, PartyId};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::sender_certificate::certified;

/// 32 secret bytes: an Ed25519 identity, a pre-shared key or a token. They are wiped when dropped,
/// and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    bytes: [u8; 32],
    #[zeroize(skip)] // Wipes itself.
    signing: Option<Box<SigningKey>>,
}

/// The keys of one process: the secret keys of its own parties, and the public keys of all parties.
#[derive(Default)]
pub struct Keyring {
    own: BTreeMap<PartyId, Identity>,
    public: BTreeMap<PartyId, PublicIdentity>,
    mac: Option<MacKey>,
}

impl Secret {
    /// Creates a secret with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self { bytes, signing: None }
    }

    /// Keeps the public key too, for an identity that signs often: a signature then takes half the time.
    pub(crate) fn signing_often(mut self) -> Self {
        self.signing = Some(Box::new(SigningKey::from_bytes(&self.bytes)));
        self
    }

    /// Draws a secret from the operating system's randomness.
    #[cfg(feature = "std")]
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self::from_bytes(bytes))
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes_from_hex(text).map(Self::from_bytes)
    }

    /// Returns the secret as 64 hexadecimal digits, to be kept in a file.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex(&self.bytes))
    }

    /// Returns the bytes. The caller must wipe copies.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Returns the public key (RFC 8032) of the identity with these bytes.
    pub fn public(&self) -> [u8; 32] {
        self.with_signing_key(|key| key.verifying_key().to_bytes())
    }

    /// Signs `parts`. A signature for one `purpose` is invalid for another.
    pub fn sign(&self, purpose: &'static str, parts: &[&[u8]]) -> [u8; 64] {
        self.with_signing_key(|key| key.sign(&statement(purpose, parts)).to_bytes())
    }

    fn with_signing_key<T>(&self, work: impl FnOnce(&SigningKey) -> T) -> T {
        match &self.signing {
            Some(kept) => work(kept),
            None => work(&SigningKey::from_bytes(&self.bytes)),
        }
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&other.bytes).into()
    }
}

impl Eq for Secret {}

impl Keyring {
    /// Gives a party of this process its identity.
    pub fn own(&mut self, party: PartyId, secret: &Secret) {
        let identity = Identity::from_secret(secret.as_bytes());
        self.public.insert(party, identity.public());
        self.own.insert(party, identity);
    }

    /// Adds a party's public key. Returns `false` if the bytes are not a public key.
    pub fn learn(&mut self, party: PartyId, public: &[u8; 32]) -> bool {
        let public = PublicIdentity::from_bytes(public);
        public.is_some_and(|public| {
            self.public.insert(party, public);
            true
        })
    }

    pub(crate) fn knows(&self, party: PartyId) -> bool {
        self.public.contains_key(&party)
    }

    /// Removes a party's public key. The party's signatures are refused from now on.
    pub fn forget(&mut self, party: PartyId) {
        self.public.remove(&party);
    }

    /// Sets the key for MACs.
    pub fn share_mac(&mut self, key: &Secret) {
        self.mac = Some(MacKey::from_bytes(*key.as_bytes()));
    }

    /// Returns the keys with which a party of this process protects and checks messages. Returns
    /// `None` if the party has no key for this kind of protection.
    pub fn protection(&self, guard: Guard, me: PartyId) -> Option<Protection<'_>> {
        match guard {
            Guard::Mac => self.mac.as_ref().map(Protection::Mac),
            Guard::Merkle => {
                Some(Protection::Merkle { identity: self.own.get(&me)?, directory: self })
            }
            Guard::None => Some(Protection::None),
            Guard::Signature => {
                Some(Protection::Signature { identity: self.own.get(&me)?, directory: self })
            }
        }
    }
}

impl Directory for Keyring {
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity> {
        self.public.get(&party).cloned()
    }

    /// A member's credential is the service's certificate.
    fn introduced(
        &self,
        group: &GroupContext,
        party: PartyId,
        credential: &[u8],
    ) -> Option<PublicIdentity> {
        let service = self.public.get(&PartyId::Controller)?.to_ed25519_bytes()?;
        let PartyId::Member(member) = party else { return None };
        PublicIdentity::from_bytes(&certified(credential, group, member, &service)?)
    }
}

/// Returns whether the identity `public` made this signature with [`Secret::sign`].
pub fn verifies(
    public: &[u8; 32],
    purpose: &'static str,
    parts: &[&[u8]],
    signature: &[u8; 64],
) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(public) else { return false };
    !key.is_weak()
        && key.verify_strict(&statement(purpose, parts), &Signature::from_bytes(signature)).is_ok()
}

/// Reads 32 bytes from 64 hexadecimal digits.
pub fn bytes_from_hex(text: &str) -> Option<[u8; 32]> {
    let text = text.trim().as_bytes();
    if text.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = byte_of(digits)?;
    }
    Some(bytes)
}

/// Reads bytes from two hexadecimal digits each.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(byte_of).collect()
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let &[high, low] = digits else { return None };
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

/// Returns the bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes to sign: purpose, a zero byte, and each part behind its length. No two
/// statements have the same bytes.
fn statement(purpose: &'static str, parts: &[&[u8]]) -> Vec<u8> {
    let mut statement = purpose.as_bytes().to_vec();
    statement.push(0);
    for part in parts {
        statement.extend_from_slice(&(part.len() as u64).to_be_bytes());
        statement.extend_from_slice(part);
    }
    statement
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("known", &self.public.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_purpose_and_one_division_into_parts() {
        let secret = Secret::from_bytes([7; 32]);
        let signature = secret.sign("join", &[b"ab", b"c"]);
        assert!(verifies(&secret.public(), "join", &[b"ab", b"c"], &signature));
        assert!(!verifies(&secret.public(), "join", &[b"a", b"bc"], &signature));
        assert!(!verifies(&secret.public(), "leave", &[b"ab", b"c"], &signature));
    }

    #[test]
    fn hexadecimal_digits_read_back_and_secrets_are_not_printed() {
        let secret = Secret::from_hex(&"0af9".repeat(16)).unwrap();
        assert_eq!(*secret.to_hex(), "0af9".repeat(16));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_eq!(Secret::from_hex("0g"), None);
        assert_eq!(bytes_from_hex(&"é".repeat(32)), None);
    }
}
