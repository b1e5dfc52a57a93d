//! Groups in which Diffie-Hellman is hard: ristretto255 (RFC 9496), and the 1024-bit MODP group
//! with a subgroup of 160-bit prime order (RFC 5114 section 2.1) for reproducing papers.

use alloc::vec::Vec;
use core::fmt;

use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams};
use crypto_bigint::{U192, U1024, const_monty_params};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand_core::CryptoRng;
use zeroize::Zeroize;

use super::Suite;

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
    /// Also in the subgroup of prime order; costs an exponentiation in a MODP group.
    Subgroup,
}

impl Exponent {
    pub(crate) fn random(suite: Suite, rng: &mut dyn CryptoRng) -> Self {
        // A scalar is reduced from 64 bytes; a MODP exponent from 40, so that the bias is negligible.
        match suite {
            Suite::Standard | Suite::Constrained => loop {
                let mut bytes = [0; 64];
                rng.fill_bytes(&mut bytes);
                let scalar = Scalar::from_bytes_mod_order_wide(&bytes);
                bytes.zeroize();
                if scalar != Scalar::ZERO {
                    return Self(ExponentKind::Ristretto(scalar));
                }
            },
            Suite::Published => loop {
                let mut bytes = [0; 24];
                // Rejection sampling: 160 bits, about 4 % of the draws are not below the order.
                rng.fill_bytes(&mut bytes[4..]);
                let value = U192::from_be_slice(&bytes);
                bytes.zeroize();
                if value != U192::ZERO && value < *Order160::PARAMS.modulus().as_ref() {
                    return Self(ExponentKind::Modp(ExponentModp::new(&value)));
                }
            },
        }
    }

    /// An exponent from 64 bytes that look random: their remainder modulo the order, the bias of
    /// which is negligible. `None` where that is zero, which happens to nobody.
    pub(crate) fn from_wide(suite: Suite, bytes: &[u8; 64]) -> Option<Self> {
        match suite {
            Suite::Standard | Suite::Constrained => {
                let scalar = Scalar::from_bytes_mod_order_wide(bytes);
                (scalar != Scalar::ZERO).then_some(Self(ExponentKind::Ristretto(scalar)))
            }
            Suite::Published => {
                let shift = ExponentModp::new(&U192::ONE.shl_vartime(64));
                let value = bytes.chunks_exact(8).fold(ExponentModp::ZERO, |value, chunk| {
                    let mut padded = [0; 24];
                    padded[16..].copy_from_slice(chunk);
                    let digit = ExponentModp::new(&U192::from_be_slice(&padded));
                    padded.zeroize();
                    value.mul(&shift).add(&digit)
                });
                (value != ExponentModp::ZERO).then_some(Self(ExponentKind::Modp(value)))
            }
        }
    }

    /// The product of two exponents.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (ExponentKind::Ristretto(a), ExponentKind::Ristretto(b)) => {
                ExponentKind::Ristretto(a * b)
            }
            (ExponentKind::Modp(a), ExponentKind::Modp(b)) => ExponentKind::Modp(a.mul(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Length of the exponent in bytes: 32 in ristretto255, 20 in the MODP group's subgroup.
    pub(crate) const fn stored_bytes(&self) -> usize {
        match self.0 {
            ExponentKind::Ristretto(_) => 32,
            ExponentKind::Modp(_) => ORDER_BITS as usize / 8,
        }
    }

    /// The exponent that undoes this one.
    pub(crate) fn inverse(&self) -> Self {
        Self(match &self.0 {
            ExponentKind::Ristretto(scalar) => ExponentKind::Ristretto(scalar.invert()),
            ExponentKind::Modp(value) => {
                // Exponents are never zero, so the inverse exists.
                ExponentKind::Modp(value.invert().unwrap_or(ExponentModp::ONE))
            }
        })
    }
}

impl Element {
    pub(crate) fn generator_power(suite: Suite, exponent: &Exponent) -> Self {
        Self(match (suite, &exponent.0) {
            (Suite::Standard | Suite::Constrained, ExponentKind::Ristretto(scalar)) => {
                ElementKind::Ristretto(RistrettoPoint::mul_base(scalar))
            }
            (Suite::Published, ExponentKind::Modp(value)) => {
                let generator = Residue::new(&GENERATOR);
                ElementKind::Modp(generator.pow_bounded_exp(&value.retrieve(), ORDER_BITS))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Appends the encodings of the generator's powers. In ristretto255 many are encoded at the cost of
    /// one inversion, as twice the powers of half the exponents.
    pub(crate) fn encode_generator_powers(suite: Suite, exponents: &[Exponent], out: &mut Vec<u8>) {
        let halved = exponents.iter().map_while(|exponent| match &exponent.0 {
            ExponentKind::Ristretto(scalar) => {
                let mut half = scalar.div_by_2();
                let point = RistrettoPoint::mul_base(&half);
                half.zeroize();
                Some(point)
            }
            ExponentKind::Modp(_) => None,
        });
        let halved: Vec<_> = halved.collect();
        for encoded in RistrettoPoint::double_and_compress_batch(&halved) {
            out.extend_from_slice(encoded.as_bytes());
        }
        for exponent in &exponents[halved.len()..] {
            Self::generator_power(suite, exponent).encode(out);
        }
    }

    pub(crate) fn power(&self, exponent: &Exponent) -> Self {
        Self(match (&self.0, &exponent.0) {
            (ElementKind::Ristretto(point), ExponentKind::Ristretto(scalar)) => {
                ElementKind::Ristretto(point * scalar)
            }
            (ElementKind::Modp(residue), ExponentKind::Modp(value)) => {
                ElementKind::Modp(residue.pow_bounded_exp(&value.retrieve(), ORDER_BITS))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// The product of two elements. It may be the identity.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(match (&self.0, &other.0) {
            (ElementKind::Ristretto(a), ElementKind::Ristretto(b)) => ElementKind::Ristretto(a + b),
            (ElementKind::Modp(a), ElementKind::Modp(b)) => ElementKind::Modp(a.mul(b)),
            _ => unreachable!("{MIXED}"),
        })
    }

    /// This element divided by another. The quotient may be the identity.
    pub(crate) fn over(&self, divisor: &Self) -> Self {
        Self(match (&self.0, &divisor.0) {
            (ElementKind::Ristretto(a), ElementKind::Ristretto(b)) => ElementKind::Ristretto(a - b),
            (ElementKind::Modp(a), ElementKind::Modp(b)) => {
                // No element is zero, so the inverse exists.
                ElementKind::Modp(a.mul(&b.invert().unwrap_or(Residue::ONE)))
            }
            _ => unreachable!("{MIXED}"),
        })
    }

    /// Reads an element; `None` unless it is the canonical encoding of one that passes the check.
    pub(crate) fn decode(suite: Suite, bytes: &[u8], check: Check) -> Option<Self> {
        match suite {
            Suite::Standard | Suite::Constrained => {
                let point = CompressedRistretto::from_slice(bytes).ok()?.decompress()?;
                (!point.is_identity()).then_some(Self(ElementKind::Ristretto(point)))
            }
            Suite::Published => {
                if bytes.len() != Self::length(suite) {
                    return None;
                }
                let value = U1024::from_be_slice(bytes);
                let modulus = Field1024::PARAMS.modulus().as_ref();
                if value <= U1024::ONE || value >= modulus.wrapping_sub(&U1024::ONE) {
                    return None;
                }
                let residue = Residue::new(&value);
                let order = Order160::PARAMS.modulus().as_ref();
                let in_subgroup = check == Check::Range
                    || residue.pow_bounded_exp(order, ORDER_BITS) == Residue::ONE;
                in_subgroup.then_some(Self(ElementKind::Modp(residue)))
            }
        }
    }

    /// Appends the encoding of [`Self::length`] bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            ElementKind::Ristretto(point) => out.extend_from_slice(point.compress().as_bytes()),
            ElementKind::Modp(residue) => {
                out.extend_from_slice(residue.retrieve().to_be_bytes().as_ref());
            }
        }
    }

    /// Length of this element in bytes, encoded.
    pub(crate) const fn stored_bytes(&self) -> usize {
        match self.0 {
            ElementKind::Ristretto(_) => 32,
            ElementKind::Modp(_) => U1024::BYTES,
        }
    }

    /// Length of an encoded element in bytes: 32 in ristretto255, 128 in the MODP group.
    pub const fn length(suite: Suite) -> usize {
        match suite {
            Suite::Standard | Suite::Constrained => 32,
            Suite::Published => 128,
        }
    }
}

impl Drop for Exponent {
    fn drop(&mut self) {
        match &mut self.0 {
            ExponentKind::Ristretto(scalar) => scalar.zeroize(),
            ExponentKind::Modp(value) => value.zeroize(),
        }
    }
}

/// For an element that is a secret.
impl Zeroize for Element {
    fn zeroize(&mut self) {
        match &mut self.0 {
            ElementKind::Ristretto(point) => point.zeroize(),
            ElementKind::Modp(residue) => residue.zeroize(),
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

#[derive(Clone)]
enum ExponentKind {
    Modp(ExponentModp),
    Ristretto(Scalar),
}

#[derive(Clone, PartialEq, Eq)]
enum ElementKind {
    Modp(Residue),
    Ristretto(RistrettoPoint),
}

const MIXED: &str = "a party works in one suite, so exponents and elements are of one group";

const_monty_params!(
    Field1024,
    U1024,
    "b10b8f96a080e01dde92de5eae5d54ec52c99fbcfb06a3c69a6a9dca52d23b61\
     6073e28675a23d189838ef1e2ee652c013ecb4aea906112324975c3cd49b83bf\
     accbdd7d90c4bd7098488e9c219a73724effd6fae5644738faa31a4ff55bccc0\
     a151af5f0dc8b4bd45bf37df365c1a65e68cfda76d4da708df1fb2bc2e4a4371",
    "the field of the 1024-bit MODP group (RFC 5114 section 2.1)"
);

const_monty_params!(
    Order160,
    U192,
    "00000000f518aa8781a8df278aba4e7d64b7cb9d49462353",
    "the order of the generator's subgroup (RFC 5114 section 2.1)"
);

type Residue = ConstMontyForm<Field1024, { U1024::LIMBS }>;
type ExponentModp = ConstMontyForm<Order160, { U192::LIMBS }>;

const ORDER_BITS: u32 = 160;

const GENERATOR: U1024 = U1024::from_be_hex(
    "a4d1cbd5c3fd34126765a442efb99905f8104dd258ac507fd6406cff14266d31\
     266fea1e5c41564b777e690f5504f213160217b4b01b886a5e91547f9e2749f4\
     d7fbd7d3b9a92ee1909d0d2263f80a76a6a24c087a091f531dbf0a0169b6a28a\
     d662a4d18e73afa32d779d5918d08bc8858f4dcef97c2a24855e6eeb22b3b2e5",
);

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn exponents(suite: Suite) -> [Exponent; 2] {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        core::array::from_fn(|_| Exponent::random(suite, &mut rng))
    }

    #[test]
    fn exponents_commute_multiply_and_invert() {
        for suite in Suite::ALL {
            let [a, b] = exponents(suite);
            let ab = Element::generator_power(suite, &a).power(&b);
            assert!(ab == Element::generator_power(suite, &b).power(&a));
            assert!(ab == Element::generator_power(suite, &a.times(&b)));
            assert!(ab.power(&b.inverse()) == Element::generator_power(suite, &a));
        }
    }

    #[test]
    fn many_powers_are_encoded_as_each_is() {
        for suite in Suite::ALL {
            let exponents = exponents(suite);
            let (mut together, mut apart) = (Vec::new(), Vec::new());
            Element::encode_generator_powers(suite, &exponents, &mut together);
            for exponent in &exponents {
                Element::generator_power(suite, exponent).encode(&mut apart);
            }
            assert_eq!(together, apart);
        }
    }

    #[test]
    fn elements_multiply_and_divide() {
        for suite in Suite::ALL {
            let [a, b] = exponents(suite);
            let [x, y] = [&a, &b].map(|exponent| Element::generator_power(suite, exponent));
            assert!(x.times(&y) == y.times(&x));
            assert!(x.times(&y).over(&y) == x);
            assert!(x.times(&y).power(&a) == x.power(&a).times(&y.power(&a)));
            assert!(x.times(&x.over(&x)) == x, "a quotient may be the identity");
        }
    }

    #[test]
    fn wide_bytes_are_reduced() {
        for suite in Suite::ALL {
            assert!(Exponent::from_wide(suite, &[0; 64]).is_none());
            assert!(Exponent::from_wide(suite, &[0xff; 64]).is_some());
        }
        // One more than the order, and its square, which is longer than the order.
        let order = Order160::PARAMS.modulus().as_ref();
        let next = order.wrapping_add(&U192::ONE);
        let mut bytes = [0; 64];
        bytes[40..].copy_from_slice(next.to_be_bytes().as_ref());
        let one = Exponent::from_wide(Suite::Published, &bytes).unwrap();
        let generator = Element::generator_power(Suite::Published, &one);
        assert!(generator == Element(ElementKind::Modp(Residue::new(&GENERATOR))));
        let square: crypto_bigint::U384 = next.concatenating_mul(&next);
        bytes[16..].copy_from_slice(square.to_be_bytes().as_ref());
        let one = Exponent::from_wide(Suite::Published, &bytes).unwrap();
        assert!(generator == Element::generator_power(Suite::Published, &one));
    }

    #[test]
    fn elements_survive_encoding() {
        for suite in Suite::ALL {
            let element = Element::generator_power(suite, &exponents(suite)[0]);
            let mut bytes = Vec::new();
            element.encode(&mut bytes);
            assert_eq!(bytes.len(), Element::length(suite));
            assert!(Element::decode(suite, &bytes, Check::Subgroup) == Some(element));
            assert!(Element::decode(suite, &bytes[1..], Check::Subgroup).is_none());
        }
    }

    #[test]
    fn bad_elements_are_refused() {
        // ristretto255: the identity, a non-canonical field element, a negative one (RFC 9496 A.3).
        for bytes in [[0; 32], [0xff; 32], core::array::from_fn(|i| u8::from(i == 0))] {
            assert!(Element::decode(Suite::Standard, &bytes, Check::Range).is_none());
        }
        // MODP: 0, 1, p - 1, p, and an element outside the subgroup.
        let p = *Field1024::PARAMS.modulus().as_ref();
        let bad = [U1024::ZERO, U1024::ONE, p.wrapping_sub(&U1024::ONE), p, U1024::MAX];
        for value in bad {
            let bytes = value.to_be_bytes();
            assert!(Element::decode(Suite::Published, bytes.as_ref(), Check::Range).is_none());
        }
        let two = U1024::from_u8(2).to_be_bytes();
        assert!(Element::decode(Suite::Published, two.as_ref(), Check::Range).is_some());
        assert!(Element::decode(Suite::Published, two.as_ref(), Check::Subgroup).is_none());
    }
}
