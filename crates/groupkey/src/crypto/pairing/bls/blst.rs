//! The crate blstrs, which calls the library blst. It wipes nothing by itself.

use bls12_381::Scalar;
use blstrs::Bls12;
pub(crate) use blstrs::{
    G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt as Target, MillerLoopResult,
};
pub(crate) use pairing::MillerLoopResult as _;
use pairing::MultiMillerLoop;
pub(crate) use pairing::group::prime::PrimeCurveAffine as _;
pub(crate) use pairing::group::{Curve as _, Group as _};

pub(crate) fn miller_loops(terms: &[(&G1Affine, &G2Prepared)]) -> MillerLoopResult {
    Bls12::multi_miller_loop(terms)
}

/// Returns the scalar in this library's type. Canonical bytes of one type are canonical in the
/// other.
pub(crate) fn native(scalar: &Scalar) -> blstrs::Scalar {
    Option::from(blstrs::Scalar::from_bytes_le(&scalar.to_bytes())).unwrap_or_default()
}

/// Hashes to the first group: BLS12381G1_XMD:SHA-256_SSWU_RO_ of RFC 9380.
pub(crate) fn hash_to_first(domain: &[u8], message: &[u8]) -> G1Projective {
    G1Projective::hash_to_curve(message, domain, &[])
}

pub(crate) fn wipe<T: Default>(secret: &mut T) {
    *secret = T::default();
    core::hint::black_box(secret);
}

/// Reads one entry alone: the library's own powers depend on a scalar's bits as well.
pub(crate) fn pick<'e>(mut entries: impl Iterator<Item = &'e Target>, place: usize) -> Target {
    entries.nth(place).copied().unwrap_or_default()
}
