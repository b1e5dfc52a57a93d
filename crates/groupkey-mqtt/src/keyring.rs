//! The keys with which parties protect their messages, and their identities.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use groupkey::PartyId;
use groupkey::protection::{Directory, Guard, Identity, MacKey, Protection, PublicIdentity};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// 32 secret bytes: an Ed25519 identity, a pre-shared key or a token. They are wiped when dropped,
/// and never printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

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
        Self(bytes)
    }

    /// Draws a secret from the operating system's randomness.
    #[cfg(feature = "std")]
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes_from_hex(text).map(Self)
    }

    /// Returns the secret as 64 hexadecimal digits, to be kept in a file.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex(&self.0))
    }

    /// Returns the bytes. The caller must wipe copies.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the public key (RFC 8032) of the identity with these bytes.
    pub fn public(&self) -> [u8; 32] {
        SigningKey::from_bytes(&self.0).verifying_key().to_bytes()
    }

    /// Signs `parts`. A signature for one `purpose` is invalid for another.
    pub fn sign(&self, purpose: &'static str, parts: &[&[u8]]) -> [u8; 64] {
        SigningKey::from_bytes(&self.0).sign(&statement(purpose, parts)).to_bytes()
    }
}

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

    /// Returns whether a party's public key is known.
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
            Guard::None => Some(Protection::None),
            Guard::Signature => {
                let identity = self.own.get(&me)?;
                Some(Protection::Signature { identity, directory: self })
            }
        }
    }
}

impl Directory for Keyring {
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity> {
        self.public.get(&party).copied()
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
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(digits[0])? << 4 | digit(digits[1])?) as u8;
    }
    Some(bytes)
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
