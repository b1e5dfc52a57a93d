//! The crate bls12_381: pure Rust, constant time.

use bls12_381::Scalar;
use bls12_381::hash_to_curve::{ExpandMsgXmd, HashToCurve};
pub(crate) use bls12_381::{
    G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt as Target, MillerLoopResult,
    multi_miller_loop as miller_loops,
};
use sha2_for_hashing::Sha256;
use subtle::{ConditionallySelectable, ConstantTimeEq};

pub(crate) const fn native(scalar: &Scalar) -> &Scalar {
    scalar
}

/// Hashes to the first group: BLS12381G1_XMD:SHA-256_SSWU_RO_ of RFC 9380.
pub(crate) fn hash_to_first(domain: &[u8], message: &[u8]) -> G1Projective {
    HashToCurve::<ExpandMsgXmd<Sha256>>::hash_to_curve([message], domain)
}

pub(crate) fn wipe(secret: &mut impl zeroize::Zeroize) {
    secret.zeroize();
}

/// Reads all entries, so that the time does not depend on which it is.
pub(crate) fn pick<'e>(entries: impl Iterator<Item = &'e Target>, place: usize) -> Target {
    let mut picked = Target::default();
    for (number, entry) in (0_u64..).zip(entries) {
        picked.conditional_assign(entry, number.ct_eq(&(place as u64)));
    }
    picked
}
