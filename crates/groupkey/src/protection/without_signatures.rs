//! Identities in a build without signatures: types without values. Drivers and schemes read the
//! same, and the compiler removes the code that would sign.

/// A party's signing key. There is none without the feature `signatures`.
#[derive(Debug)]
pub enum Identity {}

/// A party's verifying key. There is none without the feature `signatures`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicIdentity {}

impl Identity {
    pub(crate) const fn sign(&self, _: &[&[u8]]) -> [u8; 64] {
        match *self {}
    }
}

impl PublicIdentity {
    pub(crate) const fn verifies(&self, _: &[&[u8]], _: &[u8; 64]) -> bool {
        match *self {}
    }
}
