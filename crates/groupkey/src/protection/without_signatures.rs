//! Identities in a build without signatures: types without values. Drivers and schemes read the
//! same, and the compiler removes the code that would sign.

use super::encoded::{IdentityBytes, SignatureBytes};
use crate::crypto::Signing;

/// A party's signing key. There is none without the feature `signatures`.
#[derive(Debug)]
pub enum Identity {}

/// A party's verifying key. There is none without the feature `signatures`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicIdentity {}

impl Identity {
    /// Returns which signatures it makes.
    pub const fn signing(&self) -> Signing {
        match *self {}
    }

    /// Tells the compiler that nothing comes after this.
    pub(crate) const fn exists(&self) {
        match *self {}
    }

    pub(crate) const fn sign(&self, _: &[&[u8]]) -> SignatureBytes {
        match *self {}
    }
}

impl PublicIdentity {
    /// Returns `None`: there is no such key.
    pub const fn from_bytes(_: &[u8]) -> Option<Self> {
        None
    }

    /// Returns the 32 bytes of RFC 8032 section 5.1.5, in a hybrid behind those of FIPS 204.
    pub const fn to_bytes(&self) -> IdentityBytes {
        match *self {}
    }

    /// Returns the 32 bytes of RFC 8032 section 5.1.5, for protocols that know no others.
    pub const fn to_ed25519_bytes(&self) -> Option<[u8; 32]> {
        match *self {}
    }

    /// Returns which signatures it checks.
    pub const fn signing(&self) -> Signing {
        match *self {}
    }

    pub(crate) const fn verifies(&self, _: &[&[u8]], _: &[u8]) -> bool {
        match *self {}
    }
}
