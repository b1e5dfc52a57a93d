//! BLS12-381, from one of two libraries: pure Rust on any device, or assembly code on hosts with
//! the feature `blst`. Both give the same bytes.

#[cfg(feature = "blst")]
#[path = "bls/blst.rs"]
mod library;
#[cfg(not(feature = "blst"))]
#[path = "bls/pure.rs"]
mod library;

use alloc::vec::Vec;

use bls12_381::Scalar;

pub(super) use self::library::Target;
use self::library::*;
use super::Check;
use super::curve::Curve;
use super::printed::take_digits;

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
    miller_loops(&terms)
}

pub(super) fn final_exponentiation(value: &Accumulated) -> Target {
    value.final_exponentiation()
}

pub(super) fn target_power(element: &Target, scalar: &Scalar) -> Target {
    element * native(scalar)
}

/// Appends the twelve coefficients, lowest first. The most significant byte of each comes first.
pub(super) fn encode_target(element: &Target, out: &mut Vec<u8>) {
    take_digits(element, out);
}

/// Wipes a secret, as far as the library allows.
pub(super) use self::library::wipe;

macro_rules! curve {
    ($curve:ty, $affine:ty, $projective:ty, $length:literal) => {
        impl Curve for $curve {
            type Scalar = Scalar;
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

            fn product(point: &$affine, scalar: &Scalar) -> $projective {
                point * native(scalar)
            }

            fn normalized(points: &[$projective]) -> Vec<$affine> {
                let mut affine = alloc::vec![Self::identity(); points.len()];
                <$projective>::batch_normalize(points, &mut affine);
                affine
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

            fn scalar_bytes(scalar: &Scalar) -> impl AsRef<[u8]> + zeroize::Zeroize {
                scalar.to_bytes()
            }
        }
    };
}

curve!(First, G1Affine, G1Projective, 48);
curve!(Second, G2Affine, G2Projective, 96);
