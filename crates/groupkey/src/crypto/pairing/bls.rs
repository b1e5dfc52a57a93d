//! BLS12-381, from one of two libraries: pure Rust on any device, or assembly code on hosts with
//! the feature `blst`. Both give the same bytes.

#[cfg(feature = "blst")]
#[path = "bls/blst.rs"]
mod library;
#[cfg(not(feature = "blst"))]
#[path = "bls/pure.rs"]
mod library;

use alloc::vec::Vec;
use core::fmt::{self, Debug, Write};

use bls12_381::Scalar;

use self::library::*;
use super::ElementCheck;
use super::curve::Curve;

pub(super) use self::library::Target;

/// The group whose elements are short.
pub(super) struct First;

/// The group whose elements are long.
pub(super) struct Second;

pub(super) type MillerValue = MillerLoopResult;

pub(super) const SCALAR_BYTES: usize = 32;
/// Length of an encoded element of the target group: twelve elements of the field.
pub(super) const TARGET_LENGTH: usize = 12 * 48;

pub(super) fn miller_loop(pairs: &[(G1Affine, G2Affine)]) -> MillerValue {
    let prepared: Vec<_> = pairs.iter().map(|(p, q)| (p, G2Prepared::from(*q))).collect();
    let terms: Vec<_> = prepared.iter().map(|(p, q)| (*p, q)).collect();
    miller_loops(&terms)
}

pub(super) fn final_exponentiation(value: &MillerValue) -> Target {
    value.final_exponentiation()
}

pub(super) fn target_power(element: &Target, scalar: &Scalar) -> Target {
    element * native(scalar)
}

pub(super) fn target_square(element: &Target) -> Target {
    element.double()
}

/// Returns the element of the first group that a message hashes to (RFC 9380, section 8.8.1). It is
/// not the identity but with a chance of 2^-255.
pub(super) fn hashed(domain: &[u8], message: &[u8]) -> G1Affine {
    First::affine(&hash_to_first(domain, message))
}

/// Appends the twelve coefficients, lowest first. The most significant byte of each comes first.
pub(super) fn encode_target(element: &Target, out: &mut Vec<u8>) {
    take_digits(element, out);
}

/// Returns an entry of a table.
pub(super) use self::library::pick;
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

            fn decoded(bytes: &[u8], check: ElementCheck) -> Option<$affine> {
                let bytes = bytes.try_into().ok()?;
                let point = match check {
                    ElementCheck::Range => <$affine>::from_compressed_unchecked(bytes),
                    ElementCheck::Subgroup => <$affine>::from_compressed(bytes),
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

/// Appends the values of the digits of all numbers in a text.
pub(super) fn take_digits(element: &impl Debug, out: &mut Vec<u8>) {
    let mut digits = Digits { out, state: State::Outside };
    // Writing to a vector does not fail.
    let _ = write!(digits, "{element:?}");
}

struct Digits<'o> {
    out: &'o mut Vec<u8>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Between two numbers.
    Outside,
    /// After a zero that may begin a number.
    Zero,
    /// In a number, after an even number of digits.
    Even,
    /// In a number, after an odd number of digits. The field is the last digit.
    Odd(u8),
}

impl Write for Digits<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let digit = character.to_digit(16).map(|digit| digit as u8);
            self.state = match (self.state, character, digit) {
                (State::Outside, '0', _) => State::Zero,
                (State::Zero, 'x', _) => State::Even,
                (State::Even, _, Some(digit)) => State::Odd(digit),
                (State::Odd(high), _, Some(low)) => {
                    self.out.push(high << 4 | low);
                    State::Even
                }
                _ => State::Outside,
            };
        }
        Ok(())
    }
}
