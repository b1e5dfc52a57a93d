//! BLS12-381 by the crate blstrs, which uses the assembly code of the library blst: for hosts.
//! Same bytes as `bls.rs`; see there.

use alloc::vec::Vec;

pub(super) use blstrs::Gt as Target;
use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, MillerLoopResult};
use pairing::group::prime::PrimeCurveAffine;
use pairing::group::{Curve as _, Group};
use pairing::{MillerLoopResult as _, MultiMillerLoop};

use super::curve::Curve;
use super::printed::take_digits;
use super::{BlsScalar, Check};

/// The group whose elements are short.
pub(super) struct First;

/// The group whose elements are long.
pub(super) struct Second;

pub(super) type Accumulated = MillerLoopResult;

/// Bytes of a scalar.
pub(super) const SCALAR_BYTES: usize = 32;
/// Length of an encoded element of the target group: twelve elements of the field.
pub(super) const TARGET_LENGTH: usize = 12 * 48;

pub(super) fn miller_loop(pairs: &[(G1Affine, G2Affine)]) -> Accumulated {
    let prepared: Vec<_> = pairs.iter().map(|(p, q)| (p, G2Prepared::from(*q))).collect();
    let terms: Vec<_> = prepared.iter().map(|(p, q)| (*p, q)).collect();
    Bls12::multi_miller_loop(&terms)
}

pub(super) fn final_exponentiation(value: &Accumulated) -> Target {
    value.final_exponentiation()
}

pub(super) fn target_power(element: &Target, scalar: &BlsScalar) -> Target {
    element * converted(scalar)
}

/// Appends the twelve coefficients, lowest first, each most significant byte first.
pub(super) fn encode_target(element: &Target, out: &mut Vec<u8>) {
    take_digits(element, out);
}

/// Wipes a secret, as far as a library allows that does not wipe by itself.
pub(super) fn wipe<T: Default>(secret: &mut T) {
    *secret = T::default();
    core::hint::black_box(secret);
}

macro_rules! curve {
    ($curve:ty, $affine:ty, $projective:ty, $length:literal) => {
        impl Curve for $curve {
            type Scalar = BlsScalar;
            type Point = $projective;
            type Affine = $affine;

            const LENGTH: usize = $length;

            fn generator() -> $affine {
                <$affine>::generator()
            }

            fn identity() -> $affine {
                <$affine>::identity()
            }

            fn extended(point: &$affine) -> $projective {
                point.into()
            }

            fn doubled(point: &$projective) -> $projective {
                point.double()
            }

            fn sum(a: &$projective, b: &$affine) -> $projective {
                a + b
            }

            fn negated(point: &$affine) -> $affine {
                -point
            }

            fn product(point: &$affine, scalar: &BlsScalar) -> $projective {
                point * &converted(scalar)
            }

            fn normalized(points: &[$projective]) -> Vec<$affine> {
                points.iter().map(|point| point.to_affine()).collect()
            }

            fn decoded(bytes: &[u8], check: Check) -> Option<$affine> {
                let bytes = bytes.try_into().ok()?;
                let point = match check {
                    Check::Range => <$affine>::from_compressed_unchecked(bytes),
                    Check::Subgroup => <$affine>::from_compressed(bytes),
                };
                Option::from(point).filter(|point: &$affine| !bool::from(point.is_identity()))
            }

            fn encode(point: &$affine, out: &mut Vec<u8>) {
                out.extend_from_slice(&point.to_compressed());
            }

            fn scalar_bytes(scalar: &BlsScalar) -> impl AsRef<[u8]> + zeroize::Zeroize {
                scalar.to_bytes()
            }
        }
    };
}

curve!(First, G1Affine, G1Projective, 48);
curve!(Second, G2Affine, G2Projective, 96);

/// Scalars are the other crate's under either library.
fn converted(scalar: &BlsScalar) -> blstrs::Scalar {
    // Canonical bytes of one are canonical bytes of the other.
    Option::from(blstrs::Scalar::from_bytes_le(&scalar.to_bytes())).unwrap_or_default()
}
