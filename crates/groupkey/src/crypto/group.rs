//! Groups in which Diffie-Hellman is hard: ristretto255 (RFC 9496), and subgroups of the integers
//! modulo a prime (MODP), which papers used.
//!
//! | group | source | order of the generator | element | exponent | bits |
//! |---|---|---|--:|--:|--:|
//! | `Ristretto255` | RFC 9496 | 252 bits | 32 | 32 | 128 |
//! | `Modp1024Order160` | RFC 5114 section 2.1 | 160 bits | 128 | 20 | 80 |
//! | `Modp2048Order256` | RFC 5114 section 2.3 | 256 bits | 256 | 32 | 112 |
//! | `Modp2048` | RFC 3526 section 3, group 14 | (p - 1) / 2 | 256 | 256 | 112 |
//! | `Modp3072` | RFC 3526 section 4, group 15 | (p - 1) / 2 | 384 | 384 | 128 |
//! | `Ffdhe2048` | RFC 7919 appendix A.1 | (p - 1) / 2 | 256 | 256 | 112 |
//! | `Ffdhe3072` | RFC 7919 appendix A.2 | (p - 1) / 2 | 384 | 384 | 128 |
//!
//! Lengths are in bytes; bits are those of NIST SP 800-57 part 1, table 2. Exponents are as long as
//! the order, never shortened. An exponent that follows from bytes is their hash, as many bits
//! longer than the order that its remainder has no bias one could see, in every group alike.

mod modp;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crypto_bigint::Limb;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand_core::CryptoRng;
use zeroize::Zeroize;

use self::modp::{Limbs, Subgroup};
use super::{Suite, derive};

/// A group of prime order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// The one of choice.
    Ristretto255,
    /// RFC 5114 section 2.1: what papers call a group of 1024 bits.
    Modp1024Order160,
    /// RFC 5114 section 2.3.
    Modp2048Order256,
    /// RFC 3526 group 14.
    Modp2048,
    /// RFC 3526 group 15.
    Modp3072,
    /// RFC 7919.
    Ffdhe2048,
    /// RFC 7919.
    Ffdhe3072,
}

/// A secret exponent, never zero. It is wiped when dropped.
#[derive(Clone)]
pub struct Exponent(ExponentKind);

/// An element of the prime-order group, never the identity when it was received.
#[derive(Clone, PartialEq, Eq)]
pub struct Element(ElementKind);

/// How much of a received element is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Canonical, in the range of the field, and not the identity: what the papers' code can have
    /// done at no cost.
    Range,
    /// Also in the subgroup of prime order; costs an exponentiation in the groups of RFC 5114.
    Subgroup,
}

impl Group {
    /// Length of an encoded element in bytes.
    pub const fn element_bytes(self) -> usize {
        match self {
            Self::Ristretto255 => 32,
            Self::Modp1024Order160 => 128,
            Self::Modp2048Order256 | Self::Modp2048 | Self::Ffdhe2048 => 256,
            Self::Modp3072 | Self::Ffdhe3072 => 384,
        }
    }

    /// Length of an exponent in bytes: that of the group's order.
    pub const fn exponent_bytes(self) -> usize {
        match self {
            Self::Ristretto255 | Self::Modp2048Order256 => 32,
            Self::Modp1024Order160 => 20,
            Self::Modp2048 | Self::Ffdhe2048 => 256,
            Self::Modp3072 | Self::Ffdhe3072 => 384,
        }
    }

    /// Security strength in bits (NIST SP 800-57 part 1, table 2).
    pub const fn security_bits(self) -> u32 {
        match self {
            Self::Modp1024Order160 => 80,
            Self::Modp2048Order256 | Self::Modp2048 | Self::Ffdhe2048 => 112,
            Self::Ristretto255 | Self::Modp3072 | Self::Ffdhe3072 => 128,
        }
    }

    /// Random bytes that a random exponent takes, but for repetitions.
    pub(crate) const fn drawn_bytes(self) -> usize {
        match self {
            Self::Ristretto255 => 64,
            _ => self.exponent_bytes(),
        }
    }

    /// Bytes of a number whose remainder modulo the order has no bias to speak of: at least 128 bits
    /// more than the order has, in whole outputs of SHA-512.
    pub(crate) const fn wide_bytes(self) -> usize {
        (self.exponent_bytes() + 16).next_multiple_of(64)
    }

    fn arithmetic(self) -> Arithmetic {
        Arithmetic::Modp(match self {
            Self::Ristretto255 => return Arithmetic::Ristretto,
            Self::Modp1024Order160 => modp::MODP_1024_160,
            Self::Modp2048Order256 => modp::MODP_2048_256,
            Self::Modp2048 => modp::MODP_2048,
            Self::Modp3072 => modp::MODP_3072,
            Self::Ffdhe2048 => modp::FFDHE_2048,
            Self::Ffdhe3072 => modp::FFDHE_3072,
        })
    }
}

impl Exponent {
    /// The exponent that belongs to a secret of 32 random bytes: a long-term key for key agreement.
    pub fn from_secret(suite: Suite, secret: &[u8; 32]) -> Self {
        for number in 0_u8.. {
            let mut wide = vec![0; suite.group().wide_bytes()];
            derive::wide(suite, secret, "groupkey long-term key", &[number], &mut wide);
            let exponent = Self::from_wide(suite, &wide);
            wide.zeroize();
            if let Some(exponent) = exponent {
                return exponent;
            }
        }
        unreachable!("one secret in 2^160 gives no exponent at the first try");
    }

    /// The part of a long-term key that others may know.
    pub fn public(&self) -> Element {
        Element::generator_power(self)
    }

    pub(crate) fn random(suite: Suite, rng: &mut dyn CryptoRng) -> Self {
        Self(match suite.group().arithmetic() {
            Arithmetic::Modp(group) => ExponentKind::Modp(group, group.random_exponent(rng)),
            Arithmetic::Ristretto => loop {
                let mut bytes = [0; 64];
                rng.fill_bytes(&mut bytes);
                let scalar = Scalar::from_bytes_mod_order_wide(&bytes);
                bytes.zeroize();
                if scalar != Scalar::ZERO {
                    break ExponentKind::of(scalar);
                }
            },
        })
    }

    /// An exponent from [`Group::wide_bytes`] bytes that look random: their remainder modulo the
    /// order. `None` where that is zero, which happens to nobody.
    pub(crate) fn from_wide(suite: Suite, bytes: &[u8]) -> Option<Self> {
        match suite.group().arithmetic() {
            Arithmetic::Modp(group) => {
                Some(Self(ExponentKind::Modp(group, group.exponent_from(bytes)?)))
            }
            Arithmetic::Ristretto => {
                let scalar = Scalar::from_bytes_mod_order_wide(bytes.try_into().ok()?);
                (scalar != Scalar::ZERO).then(|| Self(ExponentKind::of(scalar)))
            }
        }
    }

    /// The product of two exponents.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (ExponentKind::Ristretto(a), ExponentKind::Ristretto(b)) => ExponentKind::of(**a * **b),
            (ExponentKind::Modp(group, a), ExponentKind::Modp(_, b)) => {
                ExponentKind::Modp(*group, group.exponent_product(a, b))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// The bytes that represent it in a trace.
    pub(crate) fn to_traced(&self) -> Vec<u8> {
        match &self.0 {
            ExponentKind::Ristretto(scalar) => scalar.as_bytes().to_vec(),
            ExponentKind::Modp(_, limbs) => {
                limbs.iter().rev().flat_map(|limb| limb.0.to_be_bytes()).collect()
            }
        }
    }

    /// Length of the exponent in bytes.
    pub(crate) fn stored_bytes(&self) -> usize {
        match &self.0 {
            ExponentKind::Ristretto(_) => 32,
            ExponentKind::Modp(group, _) => group.exponent_bytes(),
        }
    }

    /// The exponent that undoes this one.
    pub(crate) fn inverse(&self) -> Self {
        Self(match &self.0 {
            ExponentKind::Ristretto(scalar) => ExponentKind::of(scalar.invert()),
            ExponentKind::Modp(group, value) => {
                ExponentKind::Modp(*group, group.exponent_inverse(value))
            }
        })
    }
}

impl Element {
    /// Reads another party's public element; `None` unless it is canonical and of prime order.
    pub fn from_bytes(suite: Suite, bytes: &[u8]) -> Option<Self> {
        Self::decode(suite, bytes, Check::Subgroup)
    }

    /// The encoding of [`Self::length`] bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.stored_bytes());
        self.encode(&mut bytes);
        bytes
    }

    pub(crate) fn generator_power(exponent: &Exponent) -> Self {
        Self(match &exponent.0 {
            ExponentKind::Ristretto(scalar) => {
                ElementKind::Ristretto(RistrettoPoint::mul_base(scalar))
            }
            ExponentKind::Modp(group, value) => {
                ElementKind::Modp(*group, group.generator_power(value))
            }
        })
    }

    /// Appends the encodings of the generator's powers. In ristretto255 many are encoded at the cost of
    /// one inversion, as twice the powers of half the exponents.
    pub(crate) fn encode_generator_powers(exponents: &[Exponent], out: &mut Vec<u8>) {
        let halved = exponents.iter().map_while(|exponent| match &exponent.0 {
            ExponentKind::Ristretto(scalar) => {
                let mut half = scalar.div_by_2();
                let point = RistrettoPoint::mul_base(&half);
                half.zeroize();
                Some(point)
            }
            ExponentKind::Modp(..) => None,
        });
        let halved: Vec<_> = halved.collect();
        for encoded in RistrettoPoint::double_and_compress_batch(&halved) {
            out.extend_from_slice(encoded.as_bytes());
        }
        for exponent in &exponents[halved.len()..] {
            Self::generator_power(exponent).encode(out);
        }
    }

    pub(crate) fn power(&self, exponent: &Exponent) -> Self {
        Self(match (&self.0, &exponent.0) {
            (ElementKind::Ristretto(point), ExponentKind::Ristretto(scalar)) => {
                ElementKind::Ristretto(point * **scalar)
            }
            (ElementKind::Modp(group, base), ExponentKind::Modp(_, value)) => {
                ElementKind::Modp(*group, group.power(base, value))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// The product of two elements. It may be the identity.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (ElementKind::Ristretto(a), ElementKind::Ristretto(b)) => ElementKind::Ristretto(a + b),
            (ElementKind::Modp(group, a), ElementKind::Modp(_, b)) => {
                ElementKind::Modp(*group, group.product(a, b))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// This element divided by another. The quotient may be the identity.
    pub(crate) fn over(&self, divisor: &Self) -> Self {
        Self(match (&self.0, &divisor.0) {
            (ElementKind::Ristretto(a), ElementKind::Ristretto(b)) => ElementKind::Ristretto(a - b),
            (ElementKind::Modp(group, a), ElementKind::Modp(_, b)) => {
                ElementKind::Modp(*group, group.quotient(a, b))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Reads an element; `None` unless it is the canonical encoding of one that passes the check.
    pub(crate) fn decode(suite: Suite, bytes: &[u8], check: Check) -> Option<Self> {
        match suite.group().arithmetic() {
            Arithmetic::Modp(group) => {
                Some(Self(ElementKind::Modp(group, group.decode(bytes, check)?)))
            }
            Arithmetic::Ristretto => {
                let point = CompressedRistretto::from_slice(bytes).ok()?.decompress()?;
                (!point.is_identity()).then_some(Self(ElementKind::Ristretto(point)))
            }
        }
    }

    /// Appends the encoding of [`Self::length`] bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            ElementKind::Ristretto(point) => out.extend_from_slice(point.compress().as_bytes()),
            ElementKind::Modp(group, value) => group.encode(value, out),
        }
    }

    /// Length of this element in bytes, encoded.
    pub(crate) fn stored_bytes(&self) -> usize {
        match &self.0 {
            ElementKind::Ristretto(_) => 32,
            ElementKind::Modp(group, _) => group.element_bytes(),
        }
    }

    /// Length of an encoded element in bytes.
    pub const fn length(suite: Suite) -> usize {
        suite.group().element_bytes()
    }
}

impl Drop for Exponent {
    fn drop(&mut self) {
        match &mut self.0 {
            ExponentKind::Ristretto(scalar) => scalar.zeroize(),
            ExponentKind::Modp(_, value) => value.zeroize(),
        }
    }
}

/// For an element that is a secret.
impl Zeroize for Element {
    fn zeroize(&mut self) {
        match &mut self.0 {
            ElementKind::Ristretto(point) => point.zeroize(),
            ElementKind::Modp(_, value) => value.zeroize(),
        }
    }
}

impl fmt::Debug for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exponent(..)")
    }
}

/// Elements may be keys, so they are not shown either.
impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Element(..)")
    }
}

/// Who computes in a group.
enum Arithmetic {
    Modp(&'static dyn Subgroup),
    Ristretto,
}

// Exponents are on the heap: to move one leaves no copy behind that nobody wipes.
#[derive(Clone)]
enum ExponentKind {
    Modp(&'static dyn Subgroup, Limbs),
    Ristretto(Box<Scalar>),
}

impl ExponentKind {
    fn of(mut scalar: Scalar) -> Self {
        let kind = Self::Ristretto(Box::new(scalar));
        scalar.zeroize();
        kind
    }
}

// Numbers of MODP groups are on the heap: a tree of ristretto255's elements does not pay for them.
#[derive(Clone)]
enum ElementKind {
    Modp(&'static dyn Subgroup, Limbs),
    Ristretto(RistrettoPoint),
}

/// In the same time for all elements of a group.
impl PartialEq for ElementKind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ristretto(a), Self::Ristretto(b)) => a == b,
            (Self::Modp(_, a), Self::Modp(_, b)) => {
                let difference = |(a, b): (&Limb, &Limb)| a.0 ^ b.0;
                a.len() == b.len() && a.iter().zip(b).map(difference).fold(0, |all, d| all | d) == 0
            }
            _ => false,
        }
    }
}

impl Eq for ElementKind {}

const MIXED: &str = "a party works in one suite, so exponents and elements are of one group";

#[cfg(test)]
mod tests;
