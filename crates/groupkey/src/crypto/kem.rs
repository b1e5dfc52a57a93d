//! Key encapsulation, as HPKE needs it (RFC 9180 section 4): over the suite's Diffie-Hellman group or, in
//! suite `pq`, by [X-Wing](xwing).

#[cfg(feature = "suite-pq")]
pub(crate) mod xwing;

use core::fmt;

use crate::crypto::group::Exponent;
use crate::crypto::suite::Suite;

/// A private key. It is wiped when dropped.
#[derive(Clone)]
pub struct KemPrivate(pub(crate) KemPrivateKind);

/// A private key of the suite's encapsulation.
#[derive(Clone)]
pub(crate) enum KemPrivateKind {
    Group(Exponent),
    #[cfg(feature = "suite-pq")]
    Hybrid(xwing::Seed),
}

/// Lengths in bytes, all fixed in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KemLengths {
    /// Of a public key.
    pub public: usize,
    /// Of what carries a key to the owner of a public key.
    pub encapsulated: usize,
}

impl KemPrivate {
    pub(crate) const fn exponent(&self) -> Option<&Exponent> {
        match &self.0 {
            KemPrivateKind::Group(exponent) => Some(exponent),
            #[cfg(feature = "suite-pq")]
            KemPrivateKind::Hybrid(_) => None,
        }
    }

    /// Returns its length in bytes.
    pub(crate) fn stored_bytes(&self) -> usize {
        match &self.0 {
            KemPrivateKind::Group(exponent) => exponent.stored_bytes(),
            #[cfg(feature = "suite-pq")]
            KemPrivateKind::Hybrid(_) => xwing::Seed::BYTES,
        }
    }
}

impl KemLengths {
    pub(crate) const fn of(suite: Suite) -> Self {
        match suite.group() {
            Some(group) => {
                Self { public: group.element_bytes(), encapsulated: group.element_bytes() }
            }
            #[cfg(feature = "suite-pq")]
            None => xwing::LENGTHS,
            #[cfg(not(feature = "suite-pq"))]
            None => panic!("every other suite has a group"),
        }
    }
}

impl fmt::Debug for KemPrivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KemPrivate(..)")
    }
}
