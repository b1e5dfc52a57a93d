//! Identities: keys of Ed25519 (RFC 8032).

use core::fmt;

use ed25519_dalek::ed25519::signature::{MultipartSigner, MultipartVerifier};
use ed25519_dalek::{SigningKey, VerifyingKey};

/// A party's signing key.
pub struct Identity(SigningKey);

/// A party's verifying key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicIdentity(VerifyingKey);

impl Identity {
    /// The identity that belongs to a secret of 32 random bytes.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The part that others may know.
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity(self.0.verifying_key())
    }

    /// A signature over these parts, one after the other.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
        self.0.multipart_sign(parts).to_bytes()
    }
}

impl PublicIdentity {
    /// Reads a public key; `None` if the bytes are not a point, or one of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// The 32 bytes of RFC 8032 section 5.1.5.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Whether it signed these parts, one after the other.
    pub(crate) fn verifies(&self, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        // The library's strict check takes no parts: the signature's point must not be one of small
        // order either.
        let point = signature.first_chunk().and_then(Self::from_bytes);
        point.is_some() && self.0.multipart_verify(parts, &signature.into()).is_ok()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}
