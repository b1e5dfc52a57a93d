//! Pairings: two groups G1 and G2, and a map e from a pair of their elements into a third, GT, with
//! e(P^a, Q^b) = e(P, Q)^(ab).
//!
//! | suite | pairing | G1 | G2 | GT | scalar | bits |
//! |---|---|--:|--:|--:|--:|--:|
//! | all but `published` | BLS12-381 | 48 | 96 | 576 | 32 | 126 |
//! | `published` | Type A of PBC, symmetric: G1 is G2 | 128 | 128 | 128 | 20 | 80 |
//!
//! Lengths are bytes of an encoded element. BLS12-381 is the crate bls12_381, or blstrs with the
//! feature `blst` (a host's faster code, the same bytes). Type A is our own (`type_a.rs`).
//!
//! The groups are written multiplicatively, as in papers on schemes. Elements are kept in the form
//! in which they are encoded (affine), so an operation costs an inversion in the field. An
//! operation on many elements costs one inversion for all.

mod bls;
mod curve;
mod field;
mod type_a;

use alloc::vec::Vec;
use core::fmt;

use bls12_381::Scalar as BlsScalar;
use crypto_bigint::U192;
use rand_core::CryptoRng;
use zeroize::Zeroize;

use self::curve::{Curve, PointTable};
use self::field::Quadratic;
use self::type_a::TypeA;
pub use super::group::ElementCheck;
use super::{Pairing, Suite};
use crate::error::{Error, Misbehaviour};
use crate::saved_state::{Saved, SavedState};
use crate::wire::Reader;

/// A secret number modulo the order of the groups. It is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Scalar(Of<BlsScalar, type_a::TypeAScalar>);

/// An element of the first group.
#[derive(Clone, PartialEq, Eq)]
pub struct G1(Of<Affine<bls::First>, type_a::Affine>);

/// An element of the second group.
#[derive(Clone, PartialEq, Eq)]
pub struct G2(Of<Affine<bls::Second>, type_a::Affine>);

/// An element of the target group.
#[derive(Clone, PartialEq, Eq)]
pub struct Gt(Of<bls::Target, Quadratic>);

/// Multiples of one element of G1, which make its powers several times faster.
pub struct G1Table(Of<PointTable<bls::First>, PointTable<TypeA>>);

/// Products of some powers of one element of GT, which make its powers several times faster: a comb of
/// four teeth (Lim and Lee 1994).
pub struct GtTable {
    /// Entry i is the product of the teeth whose bits are set in i. A tooth is the power of the tooth
    /// before it by 2 to the number of columns.
    entries: Vec<Gt>,
    columns: usize,
}

/// The result of the Miller loops of pairs: an element of GT before the final exponentiation.
pub(crate) struct Accumulated(Of<bls::MillerValue, Quadratic>);

impl Scalar {
    /// Draws a scalar that is not zero.
    pub(crate) fn random(suite: Suite, rng: &mut dyn CryptoRng) -> Self {
        loop {
            let mut bytes = [0; 64];
            rng.fill_bytes(&mut bytes);
            let scalar = Self::from_bytes(suite, &bytes);
            bytes.zeroize();
            if !scalar.is_zero() {
                return scalar;
            }
        }
    }

    /// Returns the remainder of a number of any length, most significant byte first. With 64 random
    /// bytes, its bias is negligible.
    pub(crate) fn from_bytes(suite: Suite, bytes: &[u8]) -> Self {
        let shift = Self::from_number(suite, 1 << 56);
        let first = bytes.len() % 7;
        let (head, tail) = bytes.split_at(first);
        let number =
            |chunk: &[u8]| chunk.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        tail.chunks_exact(7).fold(Self::from_number(suite, number(head)), |value, chunk| {
            value.times(&shift).plus(&Self::from_number(suite, number(chunk)))
        })
    }

    pub(crate) fn from_number(suite: Suite, number: u64) -> Self {
        Self(match suite.pairing() {
            Pairing::Bls12381 => Of::Bls(number.into()),
            Pairing::TypeA => Of::TypeA(type_a::TypeAScalar::new(&U192::from_u64(number))),
        })
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (Of::Bls(a), Of::Bls(b)) => Of::Bls(a + b),
            (Of::TypeA(a), Of::TypeA(b)) => Of::TypeA(a.add(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (Of::Bls(a), Of::Bls(b)) => Of::Bls(a - b),
            (Of::TypeA(a), Of::TypeA(b)) => Of::TypeA(a.sub(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (Of::Bls(a), Of::Bls(b)) => Of::Bls(a * b),
            (Of::TypeA(a), Of::TypeA(b)) => Of::TypeA(a.mul(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Raises to a public number, in time that depends on its length. The libraries' own powers go
    /// through all bits that a scalar can have.
    pub(crate) fn power(&self, exponent: u64) -> Self {
        let mut power = Self(match &self.0 {
            Of::Bls(_) => Of::Bls(BlsScalar::one()),
            Of::TypeA(_) => Of::TypeA(type_a::TypeAScalar::ONE),
        });
        let bits = exponent.checked_ilog2().map_or(0, |highest| highest + 1);
        for bit in (0..bits).rev() {
            power = power.times(&power);
            if exponent >> bit & 1 == 1 {
                power = power.times(self);
            }
        }
        power
    }

    pub(crate) fn inverse(&self) -> Option<Self> {
        match &self.0 {
            Of::Bls(scalar) => Option::from(scalar.invert()).map(|scalar| Self(Of::Bls(scalar))),
            Of::TypeA(scalar) => {
                scalar.invert().into_option().map(|scalar| Self(Of::TypeA(scalar)))
            }
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        match &self.0 {
            Of::Bls(scalar) => *scalar == BlsScalar::zero(),
            Of::TypeA(scalar) => *scalar == type_a::TypeAScalar::ZERO,
        }
    }

    /// Returns the bytes that represent the scalar in a trace.
    pub(crate) fn to_traced(&self) -> Vec<u8> {
        match &self.0 {
            Of::Bls(scalar) => scalar.to_bytes().to_vec(),
            Of::TypeA(scalar) => {
                let words = scalar.retrieve().to_words();
                words.iter().rev().flat_map(|word| word.to_be_bytes()).collect()
            }
        }
    }

    fn to_little_endian(&self) -> Vec<u8> {
        match &self.0 {
            Of::Bls(scalar) => bls::First::scalar_bytes(scalar).as_ref().to_vec(),
            Of::TypeA(scalar) => TypeA::scalar_bytes(scalar).as_ref().to_vec(),
        }
    }

    /// Returns the length of this scalar in bytes.
    pub(crate) const fn stored_bytes(&self) -> usize {
        match self.0 {
            Of::Bls(_) => bls::SCALAR_BYTES,
            Of::TypeA(_) => type_a::SCALAR_BYTES,
        }
    }

    /// Returns the length of a scalar in bytes.
    pub const fn length(suite: Suite) -> usize {
        match suite.pairing() {
            Pairing::Bls12381 => bls::SCALAR_BYTES,
            Pairing::TypeA => type_a::SCALAR_BYTES,
        }
    }
}

/// In its canonical bytes, whose number tells the pairing.
impl Saved for Scalar {
    fn save(&self, state: &mut SavedState) {
        match &self.0 {
            Of::Bls(scalar) => state.bytes(&scalar.to_bytes()),
            Of::TypeA(scalar) => state.bytes(scalar.retrieve().to_be_bytes().as_ref()),
        }
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let bytes = state.bytes()?;
        let scalar = if let Ok(bytes) = <&[u8; bls::SCALAR_BYTES]>::try_from(bytes) {
            Option::from(BlsScalar::from_bytes(bytes)).map(|scalar| Self(Of::Bls(scalar)))
        } else if bytes.len() == U192::BYTES {
            let number = U192::from_be_slice(bytes);
            let scalar = type_a::TypeAScalar::new(&number);
            (scalar.retrieve() == number).then_some(Self(Of::TypeA(scalar)))
        } else {
            None
        };
        scalar.ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// As on the wire, where the length tells the pairing.
impl Saved for G2 {
    fn save(&self, state: &mut SavedState) {
        let mut encoded = Vec::with_capacity(self.stored_bytes());
        self.encode(&mut encoded);
        state.bytes(&encoded);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let bytes = state.bytes()?;
        let of_its_length =
            |suite: &Suite| suite.has_pairing() && Self::length(*suite) == bytes.len();
        let suite = Suite::ALL.into_iter().find(of_its_length).ok_or(Misbehaviour::Malformed)?;
        let element = Self::decode(suite, bytes, ElementCheck::Subgroup);
        element.ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// The methods that G1 and G2 have in common.
macro_rules! source_group {
    ($group:ident, $bls:ty) => {
        impl $group {
            pub(crate) fn generator(suite: Suite) -> Self {
                Self(match suite.pairing() {
                    Pairing::Bls12381 => Of::Bls(<$bls>::generator()),
                    Pairing::TypeA => Of::TypeA(TypeA::generator()),
                })
            }

            pub(crate) fn power(&self, scalar: &Scalar) -> Self {
                Self(match (&self.0, &scalar.0) {
                    (Of::Bls(point), Of::Bls(scalar)) => {
                        Of::Bls(<$bls>::affine(&<$bls>::product(point, scalar)))
                    }
                    (Of::TypeA(point), Of::TypeA(scalar)) => {
                        Of::TypeA(TypeA::affine(&TypeA::product(point, scalar)))
                    }
                    _ => unreachable!("{MIXED}"),
                })
            }

            /// Multiplies this element by all the others.
            pub(crate) fn times_all<'e>(
                &self,
                factors: impl IntoIterator<Item = &'e Self>,
            ) -> Self {
                let factors = factors.into_iter();
                Self(match &self.0 {
                    Of::Bls(point) => Of::Bls(sum::<$bls>(point, factors.map(|f| f.0.bls()))),
                    Of::TypeA(point) => {
                        Of::TypeA(sum::<TypeA>(point, factors.map(|f| f.0.type_a())))
                    }
                })
            }

            pub(crate) fn inverse(&self) -> Self {
                Self(match &self.0 {
                    Of::Bls(point) => Of::Bls(<$bls>::negated(point)),
                    Of::TypeA(point) => Of::TypeA(TypeA::negated(point)),
                })
            }

            /// Reads an element. Returns `None` unless the bytes are the canonical encoding of an
            /// element on the curve that is not the identity and passes the check.
            pub(crate) fn decode(suite: Suite, bytes: &[u8], check: ElementCheck) -> Option<Self> {
                Some(Self(match suite.pairing() {
                    Pairing::Bls12381 => Of::Bls(<$bls>::decoded(bytes, check)?),
                    Pairing::TypeA => Of::TypeA(TypeA::decoded(bytes, check)?),
                }))
            }

            /// Appends the encoding of [`Self::length`] bytes.
            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                match &self.0 {
                    Of::Bls(point) => <$bls>::encode(point, out),
                    Of::TypeA(point) => TypeA::encode(point, out),
                }
            }

            /// Returns the length of an encoded element in bytes.
            pub const fn length(suite: Suite) -> usize {
                match suite.pairing() {
                    Pairing::Bls12381 => <$bls>::LENGTH,
                    Pairing::TypeA => TypeA::LENGTH,
                }
            }

            /// Returns the length of this element in bytes, encoded.
            pub(crate) const fn stored_bytes(&self) -> usize {
                match self.0 {
                    Of::Bls(_) => <$bls>::LENGTH,
                    Of::TypeA(_) => TypeA::LENGTH,
                }
            }
        }

        /// Wipes an element that is secret.
        impl Zeroize for $group {
            fn zeroize(&mut self) {
                match &mut self.0 {
                    Of::Bls(point) => bls::wipe(point),
                    Of::TypeA(point) => point.zeroize(),
                }
            }
        }

        /// Elements may be keys, so they are not shown.
        impl fmt::Debug for $group {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($group), "(..)"))
            }
        }
    };
}

source_group!(G1, bls::First);
source_group!(G2, bls::Second);

impl G1 {
    /// Returns the element that a message hashes to. Nobody knows its logarithm. `domain`, of at most
    /// 255 bytes, keeps the uses of the hash apart: BLS12381G1_XMD:SHA-256_SSWU_RO_ of RFC 9380 in
    /// every suite with BLS12-381, and in Type A points by trial.
    pub(crate) fn hashed(suite: Suite, domain: &[u8], message: &[u8]) -> Self {
        Self(match suite.pairing() {
            Pairing::Bls12381 => Of::Bls(bls::hashed(domain, message)),
            Pairing::TypeA => Of::TypeA(type_a::hashed(domain, message)),
        })
    }
}

impl G1Table {
    pub(crate) fn new(element: &G1) -> Self {
        Self(match &element.0 {
            Of::Bls(point) => Of::Bls(PointTable::new(point, bls::SCALAR_BYTES)),
            // One byte more than a scalar has, for the carry of its signed digits.
            Of::TypeA(point) => Of::TypeA(PointTable::new(point, type_a::SCALAR_BYTES + 1)),
        })
    }

    /// Returns the powers, in order.
    pub(crate) fn powers<'s>(&self, scalars: impl IntoIterator<Item = &'s Scalar>) -> Vec<G1> {
        let scalars = scalars.into_iter();
        match &self.0 {
            Of::Bls(table) => {
                let powers: Vec<_> = scalars.map(|s| table.product(s.0.bls())).collect();
                let powers = bls::First::normalized(&powers).into_iter();
                powers.map(|power| G1(Of::Bls(power))).collect()
            }
            Of::TypeA(table) => {
                let powers: Vec<_> = scalars.map(|s| table.product(s.0.type_a())).collect();
                let powers = TypeA::normalized(&powers).into_iter();
                powers.map(|power| G1(Of::TypeA(power))).collect()
            }
        }
    }
}

impl Gt {
    pub(crate) fn power(&self, scalar: &Scalar) -> Self {
        Self(match (&self.0, &scalar.0) {
            (Of::Bls(element), Of::Bls(scalar)) => Of::Bls(bls::target_power(element, scalar)),
            (Of::TypeA(element), Of::TypeA(scalar)) => {
                Of::TypeA(type_a::target_power(element, scalar))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (Of::Bls(a), Of::Bls(b)) => Of::Bls(a + b),
            (Of::TypeA(a), Of::TypeA(b)) => Of::TypeA(a.times(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    fn squared(&self) -> Self {
        Self(match &self.0 {
            Of::Bls(element) => Of::Bls(bls::target_square(element)),
            Of::TypeA(element) => Of::TypeA(element.square()),
        })
    }

    pub(crate) fn inverse(&self) -> Self {
        Self(match &self.0 {
            Of::Bls(element) => Of::Bls(-element),
            // The norm of an element of the target group is 1.
            Of::TypeA(element) => Of::TypeA(element.conjugate()),
        })
    }

    /// Returns whether elements can be read. The libraries for BLS12-381 cannot read them.
    pub const fn is_readable(suite: Suite) -> bool {
        matches!(suite.pairing(), Pairing::TypeA)
    }

    /// Reads an element, if the suite can. Returns `None` unless the bytes are the canonical
    /// encoding of an element that is not 1, has the norm 1, and passes the check.
    pub(crate) fn decode(suite: Suite, bytes: &[u8], check: ElementCheck) -> Option<Self> {
        if !Self::is_readable(suite) || bytes.len() != Self::length(suite) {
            return None;
        }
        type_a::decode_target(bytes, check).map(|element| Self(Of::TypeA(element)))
    }

    /// Appends the encoding of [`Self::length`] bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Of::Bls(element) => bls::encode_target(element, out),
            Of::TypeA(element) => element.encode(out),
        }
    }

    /// Returns the length of an encoded element in bytes.
    pub const fn length(suite: Suite) -> usize {
        match suite.pairing() {
            Pairing::Bls12381 => bls::TARGET_LENGTH,
            Pairing::TypeA => type_a::TARGET_LENGTH,
        }
    }
}

impl GtTable {
    const TEETH: usize = 4;

    pub(crate) fn new(element: &Gt) -> Self {
        let scalar_bytes = match element.0 {
            Of::Bls(_) => bls::SCALAR_BYTES,
            Of::TypeA(_) => type_a::SCALAR_BYTES,
        };
        let columns = 8 * scalar_bytes / Self::TEETH;
        let mut entries = alloc::vec![element.times(&element.inverse())];
        let mut tooth = element.clone();
        for number in 0..Self::TEETH {
            if number > 0 {
                (0..columns).for_each(|_| tooth = tooth.squared());
            }
            let with: Vec<_> = entries.iter().map(|entry| entry.times(&tooth)).collect();
            entries.extend(with);
        }
        Self { entries, columns }
    }

    pub(crate) fn element(&self) -> &Gt {
        &self.entries[1]
    }

    pub(crate) fn power(&self, scalar: &Scalar) -> Gt {
        let mut bytes = scalar.to_little_endian();
        let bit = |place: usize| usize::from(bytes[place / 8] >> (place % 8) & 1);
        let mut power = self.entries[0].clone();
        for column in (0..self.columns).rev() {
            let teeth = 0..Self::TEETH;
            let entry = teeth.map(|tooth| bit(tooth * self.columns + column) << tooth).sum();
            power = power.squared().times(&self.pick(entry));
        }
        bytes.zeroize();
        power
    }

    pub(crate) const fn products(&self) -> usize {
        (Self::TEETH - 1) * self.columns + self.entries.len()
    }

    pub(crate) const fn products_of_power(&self) -> usize {
        2 * self.columns
    }

    fn pick(&self, entry: usize) -> Gt {
        match self.entries[entry].0 {
            Of::Bls(_) => {
                let entries = self.entries.iter().map(|entry| entry.0.bls());
                Gt(Of::Bls(bls::pick(entries, entry)))
            }
            Of::TypeA(_) => self.entries[entry].clone(),
        }
    }
}

/// Returns the product of the Miller functions of all pairs. There must be at least one pair.
pub(crate) fn miller_loops(pairs: &[(&G1, &G2)]) -> Accumulated {
    Accumulated(match pairs.first().map(|(p, _)| &p.0) {
        Some(Of::TypeA(_)) => {
            let pairs = pairs.iter().map(|(p, q)| (*p.0.type_a(), *q.0.type_a()));
            Of::TypeA(type_a::miller_loop(&pairs.collect::<Vec<_>>()))
        }
        _ => {
            let pairs = pairs.iter().map(|(p, q)| (*p.0.bls(), *q.0.bls()));
            Of::Bls(bls::miller_loop(&pairs.collect::<Vec<_>>()))
        }
    })
}

impl Accumulated {
    pub(crate) fn finish(&self) -> Gt {
        Gt(match &self.0 {
            Of::Bls(value) => Of::Bls(bls::final_exponentiation(value)),
            Of::TypeA(value) => Of::TypeA(type_a::final_exponentiation(value)),
        })
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        match &mut self.0 {
            Of::Bls(scalar) => scalar.zeroize(),
            Of::TypeA(scalar) => scalar.zeroize(),
        }
    }
}

impl Zeroize for Gt {
    fn zeroize(&mut self) {
        match &mut self.0 {
            Of::Bls(element) => bls::wipe(element),
            Of::TypeA(element) => element.zeroize(),
        }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl fmt::Debug for Gt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gt(..)")
    }
}

impl fmt::Debug for GtTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GtTable(..)")
    }
}

impl fmt::Debug for G1Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("G1Table(..)")
    }
}

/// A value of one pairing or of the other.
#[derive(Clone, PartialEq, Eq)]
enum Of<B, A> {
    Bls(B),
    TypeA(A),
}

impl<B, A> Of<B, A> {
    fn bls(&self) -> &B {
        let Self::Bls(value) = self else { unreachable!("{MIXED}") };
        value
    }

    fn type_a(&self) -> &A {
        let Self::TypeA(value) = self else { unreachable!("{MIXED}") };
        value
    }
}

type Affine<C> = <C as Curve>::Affine;

const MIXED: &str = "a party works in one suite, so scalars and elements are of one pairing";

fn sum<'e, C: Curve>(first: &C::Affine, others: impl Iterator<Item = &'e C::Affine>) -> C::Affine
where
    C::Affine: 'e,
{
    C::affine(&others.fold(C::extended(first), |sum, other| C::sum(&sum, other)))
}

#[cfg(test)]
mod tests;
