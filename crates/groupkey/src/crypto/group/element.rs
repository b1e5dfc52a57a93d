//! Elements and exponents of a group.

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

use crate::crypto::derive;
use crate::crypto::group::kind::ElementCheck;
use crate::crypto::group::kind::PrimeGroup;
use crate::crypto::group::modp::{Limbs, SubgroupArithmetic, parameters};
use crate::crypto::group_context::GroupContext;
use crate::crypto::suite::Suite;

/// A secret exponent, never zero. It is wiped when dropped.
#[derive(Clone)]
pub struct Exponent(ExponentKind);

/// An element of the prime-order group. A received element is never the identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Element(ElementKind);

impl Exponent {
    /// Derives the exponent of a secret of 32 random bytes: a long-term key for key agreement.
    pub fn from_secret(suite: Suite, secret: &[u8; 32]) -> Self {
        // A long-term key serves in all groups.
        let none = GroupContext::default();
        for number in 0_u8.. {
            let mut wide = vec![0; suite.prime_group().wide_bytes()];
            derive::wide(suite, &none, secret, "groupkey long-term key", &[number], &mut wide);
            let exponent = Self::from_wide(suite, &wide);
            wide.zeroize();
            if let Some(exponent) = exponent {
                return exponent;
            }
        }
        unreachable!("one secret in 2^160 gives no exponent at the first try");
    }

    /// Returns the public part of a long-term key.
    pub fn public(&self) -> Element {
        Element::generator_power(self)
    }

    pub(crate) fn random(suite: Suite, rng: &mut dyn CryptoRng) -> Self {
        Self(match arithmetic(suite.prime_group()) {
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

    /// Makes an exponent from [`PrimeGroup::wide_bytes`] bytes that look random: their remainder
    /// modulo the order. Returns `None` if the remainder is zero, which does not happen in
    /// practice.
    pub(crate) fn from_wide(suite: Suite, bytes: &[u8]) -> Option<Self> {
        match arithmetic(suite.prime_group()) {
            Arithmetic::Modp(group) => {
                Some(Self(ExponentKind::Modp(group, group.exponent_from(bytes)?)))
            }
            Arithmetic::Ristretto => {
                let scalar = Scalar::from_bytes_mod_order_wide(bytes.try_into().ok()?);
                (scalar != Scalar::ZERO).then(|| Self(ExponentKind::of(scalar)))
            }
        }
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (ExponentKind::Ristretto(a), ExponentKind::Ristretto(b)) => ExponentKind::of(**a * **b),
            (ExponentKind::Modp(group, a), ExponentKind::Modp(_, b)) => {
                ExponentKind::Modp(*group, group.exponent_product(a, b))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Returns the bytes that represent the exponent in a trace.
    pub(crate) fn to_traced(&self) -> Vec<u8> {
        match &self.0 {
            ExponentKind::Ristretto(scalar) => scalar.as_bytes().to_vec(),
            ExponentKind::Modp(_, limbs) => {
                limbs.iter().rev().flat_map(|limb| limb.0.to_be_bytes()).collect()
            }
        }
    }

    /// Returns the length of the exponent in bytes.
    pub(crate) fn stored_bytes(&self) -> usize {
        match &self.0 {
            ExponentKind::Ristretto(_) => 32,
            ExponentKind::Modp(group, _) => group.exponent_bytes(),
        }
    }

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
    /// Reads another party's public element. Returns `None` unless it is canonical and of prime
    /// order.
    pub fn from_bytes(suite: Suite, bytes: &[u8]) -> Option<Self> {
        Self::decode(suite, bytes, ElementCheck::Subgroup)
    }

    /// Returns the encoding of [`Self::length`] bytes.
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

    /// Appends the encodings of the generator's powers. In ristretto255 this halves the exponents
    /// and doubles their powers, because many doubled points are encoded at the cost of one
    /// inversion.
    pub(crate) fn encode_generator_powers<'e>(
        exponents: impl Iterator<Item = &'e Exponent> + Clone,
        out: &mut Vec<u8>,
    ) {
        let halved = exponents.clone().map_while(|exponent| match &exponent.0 {
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
        for exponent in exponents.skip(halved.len()) {
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

    /// Returns the product of two elements. It may be the identity.
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

    /// Reads an element. Returns `None` unless the bytes are the canonical encoding of an element
    /// that passes the check.
    pub(crate) fn decode(suite: Suite, bytes: &[u8], check: ElementCheck) -> Option<Self> {
        match arithmetic(suite.prime_group()) {
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

    /// Returns the length of this element in bytes, encoded.
    pub(crate) fn stored_bytes(&self) -> usize {
        match &self.0 {
            ElementKind::Ristretto(_) => 32,
            ElementKind::Modp(group, _) => group.element_bytes(),
        }
    }

    /// Returns the length of an encoded element in bytes.
    pub const fn length(suite: Suite) -> usize {
        suite.prime_group().element_bytes()
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

/// Wipes an element that is secret.
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

/// The implementation that computes in a group.
enum Arithmetic {
    Modp(&'static dyn SubgroupArithmetic),
    Ristretto,
}

// Exponents are on the heap: moving one leaves no copy behind that is not wiped.
#[derive(Clone)]
enum ExponentKind {
    Modp(&'static dyn SubgroupArithmetic, Limbs),
    Ristretto(Box<Scalar>),
}

impl ExponentKind {
    fn of(mut scalar: Scalar) -> Self {
        let kind = Self::Ristretto(Box::new(scalar));
        scalar.zeroize();
        kind
    }
}

// Numbers of MODP groups are on the heap, so that ristretto255 elements do not take up their size.
#[derive(Clone)]
enum ElementKind {
    Modp(&'static dyn SubgroupArithmetic, Limbs),
    Ristretto(RistrettoPoint),
}

/// Compares in the same time for all elements of a group.
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

fn arithmetic(group: PrimeGroup) -> Arithmetic {
    Arithmetic::Modp(match group {
        PrimeGroup::Ristretto255 => return Arithmetic::Ristretto,
        PrimeGroup::Modp1024Order160 => parameters::MODP_1024_160,
        PrimeGroup::Modp2048Order256 => parameters::MODP_2048_256,
        PrimeGroup::Modp2048 => parameters::MODP_2048,
        PrimeGroup::Modp3072 => parameters::MODP_3072,
        PrimeGroup::Ffdhe2048 => parameters::FFDHE_2048,
        PrimeGroup::Ffdhe3072 => parameters::FFDHE_3072,
    })
}

const MIXED: &str = "a party works in one suite, so exponents and elements are of one group";

#[cfg(test)]
mod tests;
