//! The attributes, and the elements of G1 that they hash to.

use crate::context::Context;
use crate::crypto::pairing::G1;
use crate::identity::Epoch;

/// What is hashed to G1: an attribute, or a column of the policy's matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// A column, from 1 on.
    Column(u8),
    Group,
    Period(Epoch),
}

/// The elements H(y, l, t) of one attribute, for l = 1, 2, 3 and t = 1, 2.
pub(super) type Hashes = [[G1; 2]; 3];

impl Attribute {
    /// Hashes the attribute: six hashes to G1.
    pub(super) fn hashes(self, cx: &mut Context<'_>) -> Hashes {
        core::array::from_fn(|l| core::array::from_fn(|t| self.hash(cx, l as u8, t as u8)))
    }

    fn hash(self, cx: &mut Context<'_>, l: u8, t: u8) -> G1 {
        let (kind, number) = match self {
            Self::Column(column) => (0, u64::from(column)),
            Self::Group => (1, 0),
            Self::Period(Epoch(epoch)) => (2, epoch),
        };
        let mut message = [0; 11];
        message[0] = kind;
        message[1..9].copy_from_slice(&number.to_be_bytes());
        [message[9], message[10]] = [l, t];
        cx.hash_to_g1("fame", &message)
    }
}
