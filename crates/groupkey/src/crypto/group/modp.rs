//! Subgroups of prime order q of the integers modulo a prime p.
//!
//! One implementation serves all of them, over crypto-bigint's Montgomery forms. These take the
//! same time for all secrets. [`SubgroupArithmetic`] hides the sizes of p and q, so that the holder
//! of an element need not know them.

pub(super) mod parameters;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams, FixedMontyParams};
use crypto_bigint::{JacobiSymbol, Limb, Uint};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::crypto::group::kind::ElementCheck;

/// An element or an exponent, in Montgomery form. Only the group that made it can read it.
pub(super) type Limbs = Box<[Limb]>;

pub(super) trait SubgroupArithmetic: Sync {
    /// Returns the length of an encoded element in bytes: that of p.
    fn element_bytes(&self) -> usize;

    /// Returns the length of an exponent in bytes: that of q.
    fn exponent_bytes(&self) -> usize;

    fn random_exponent(&self, rng: &mut dyn CryptoRng) -> Limbs;

    /// Returns the exponent that is the remainder of a number, unless it is zero. The number's
    /// length is a multiple of eight bytes.
    fn exponent_from(&self, number: &[u8]) -> Option<Limbs>;

    fn exponent_product(&self, a: &[Limb], b: &[Limb]) -> Limbs;

    fn exponent_inverse(&self, exponent: &[Limb]) -> Limbs;

    fn generator_power(&self, exponent: &[Limb]) -> Limbs;

    fn power(&self, element: &[Limb], exponent: &[Limb]) -> Limbs;

    fn product(&self, a: &[Limb], b: &[Limb]) -> Limbs;

    fn quotient(&self, dividend: &[Limb], divisor: &[Limb]) -> Limbs;

    /// Reads an element that is not secret.
    fn decode(&self, bytes: &[u8], check: ElementCheck) -> Option<Limbs>;

    /// Appends an element, most significant byte first, as long as p.
    fn encode(&self, element: &[Limb], out: &mut Vec<u8>);
}

/// The subgroup of order `Q` modulo `P`. `P` has `L` limbs and `Q` has `M` limbs.
struct Modp<P, Q, const L: usize, const M: usize> {
    generator: Uint<L>,
    membership: SubgroupCheck,
    moduli: PhantomData<(P, Q)>,
}

enum SubgroupCheck {
    /// Raised to the order, the number is one.
    Order,
    /// The number is a square, as its Jacobi symbol shows: half of all numbers are in the subgroup.
    Squares,
}

/// The order of the squares modulo a safe prime `P`: (p - 1) / 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HalfOf<P>(PhantomData<P>);

impl<P: ConstMontyParams<L>, const L: usize> ConstMontyParams<L> for HalfOf<P> {
    const LIMBS: usize = L;
    const PARAMS: FixedMontyParams<L> = FixedMontyParams::new_vartime(
        P::PARAMS.modulus().as_ref().shr_vartime(1).to_odd().expect_copied("a prime"),
    );
}

impl<P, Q, const L: usize, const M: usize> Modp<P, Q, L, M>
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    const PRIME: &Uint<L> = P::PARAMS.modulus().as_ref();
    const ORDER: &Uint<M> = Q::PARAMS.modulus().as_ref();
    const ORDER_BITS: u32 = Self::ORDER.bits_vartime();
    const ORDER_BYTES: usize = Self::ORDER_BITS.div_ceil(8) as usize;

    fn element(limbs: &[Limb]) -> ConstMontyForm<P, L> {
        ConstMontyForm::from_montgomery(uint(limbs))
    }

    fn exponent(limbs: &[Limb]) -> ConstMontyForm<Q, M> {
        ConstMontyForm::from_montgomery(uint(limbs))
    }

    fn raise(base: &ConstMontyForm<P, L>, exponent: &[Limb]) -> Limbs {
        let mut exponent = Self::exponent(exponent).retrieve();
        let power = base.pow_bounded_exp(&exponent, Self::ORDER_BITS);
        exponent.zeroize();
        limbs(&power)
    }
}

impl<P, Q, const L: usize, const M: usize> SubgroupArithmetic for Modp<P, Q, L, M>
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    fn element_bytes(&self) -> usize {
        L * Limb::BYTES
    }

    fn exponent_bytes(&self) -> usize {
        Self::ORDER_BYTES
    }

    fn random_exponent(&self, rng: &mut dyn CryptoRng) -> Limbs {
        let mut buffer = Zeroizing::new([0; LONGEST]);
        let bytes = &mut buffer[..M * Limb::BYTES];
        let first = bytes.len() - Self::ORDER_BYTES;
        // Rejection sampling: draw numbers as long as the order until one is below the order.
        loop {
            rng.fill_bytes(&mut bytes[first..]);
            bytes[first] &= 0xff >> (8 * Self::ORDER_BYTES as u32 - Self::ORDER_BITS);
            let mut value = Uint::from_be_slice(bytes);
            let exponent = ConstMontyForm::<Q, M>::new(&value);
            let valid = value != Uint::ZERO && value < *Self::ORDER;
            value.zeroize();
            if valid {
                return limbs(&exponent);
            }
        }
    }

    fn exponent_from(&self, number: &[u8]) -> Option<Limbs> {
        let shift = ConstMontyForm::<Q, M>::new(&Uint::ONE.shl_vartime(64));
        let value = number.chunks(8).fold(ConstMontyForm::ZERO, |value, chunk| {
            let digit = chunk.iter().fold(0, |digit, &byte| (digit << 8) | u64::from(byte));
            value.mul(&shift).add(&ConstMontyForm::new(&Uint::from_u64(digit)))
        });
        (value != ConstMontyForm::ZERO).then(|| limbs(&value))
    }

    fn exponent_product(&self, a: &[Limb], b: &[Limb]) -> Limbs {
        limbs(&Self::exponent(a).mul(&Self::exponent(b)))
    }

    fn exponent_inverse(&self, exponent: &[Limb]) -> Limbs {
        // Exponents are never zero, so the inverse exists.
        limbs(&Self::exponent(exponent).invert().unwrap_or(ConstMontyForm::ONE))
    }

    fn generator_power(&self, exponent: &[Limb]) -> Limbs {
        Self::raise(&ConstMontyForm::new(&self.generator), exponent)
    }

    fn power(&self, element: &[Limb], exponent: &[Limb]) -> Limbs {
        Self::raise(&Self::element(element), exponent)
    }

    fn product(&self, a: &[Limb], b: &[Limb]) -> Limbs {
        limbs(&Self::element(a).mul(&Self::element(b)))
    }

    fn quotient(&self, dividend: &[Limb], divisor: &[Limb]) -> Limbs {
        // No element is zero, so the inverse exists.
        let inverse = Self::element(divisor).invert().unwrap_or(ConstMontyForm::ONE);
        limbs(&Self::element(dividend).mul(&inverse))
    }

    fn decode(&self, bytes: &[u8], check: ElementCheck) -> Option<Limbs> {
        if bytes.len() != self.element_bytes() {
            return None;
        }
        let value = Uint::from_be_slice(bytes);
        if value <= Uint::ONE || value >= Self::PRIME.wrapping_sub(&Uint::ONE) {
            return None;
        }
        let residue = ConstMontyForm::<P, L>::new(&value);
        let is_member = match (check, &self.membership) {
            (ElementCheck::Range, _) => true,
            (ElementCheck::Subgroup, SubgroupCheck::Order) => {
                residue.pow_vartime(Self::ORDER) == ConstMontyForm::ONE
            }
            (ElementCheck::Subgroup, SubgroupCheck::Squares) => {
                value.jacobi_symbol_vartime(P::PARAMS.modulus()) == JacobiSymbol::One
            }
        };
        is_member.then(|| limbs(&residue))
    }

    fn encode(&self, element: &[Limb], out: &mut Vec<u8>) {
        let mut value = Self::element(element).retrieve();
        for limb in value.as_limbs().iter().rev() {
            out.extend_from_slice(&limb.0.to_be_bytes());
        }
        value.zeroize();
    }
}

/// Length of the longest order, in bytes.
const LONGEST: usize = 3072 / 8;

fn uint<const L: usize>(limbs: &[Limb]) -> Uint<L> {
    let limbs = limbs.try_into().expect("a party works in one suite, so numbers are of one group");
    Uint::new(limbs)
}

fn limbs<P: ConstMontyParams<L>, const L: usize>(value: &ConstMontyForm<P, L>) -> Limbs {
    Box::from(value.as_montgomery().as_limbs().as_slice())
}

#[cfg(test)]
mod tests;
