//! The crate bls12_381: pure Rust, constant time.

use bls12_381::Scalar;
pub(crate) use bls12_381::{
    G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt as Target, MillerLoopResult,
    multi_miller_loop as miller_loops,
};

/// Returns the scalar in this library's type.
pub(crate) const fn native(scalar: &Scalar) -> &Scalar {
    scalar
}

pub(crate) fn wipe(secret: &mut impl zeroize::Zeroize) {
    secret.zeroize();
}
