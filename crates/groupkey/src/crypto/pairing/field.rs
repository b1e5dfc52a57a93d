//! The field of Type A's curve: numbers modulo the 512-bit prime of PBC's `a.param`. With a root i
//! of -1, it is the field of the pairing's values.

use alloc::vec::Vec;

use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams};
use crypto_bigint::{U512, Uint, Word, const_monty_params};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

const_monty_params!(
    Field512,
    U512,
    "a7a73868e95fba886edef8ce96e7217e364bb946f5ed839628d1f80010940622\
     a7afdaf9b049744a459e54dab7ba5be92539e8ff9b4f30a3cf6230c28e284d97",
    "the field of PBC's a.param"
);

pub(super) type FieldElement = ConstMontyForm<Field512, { U512::LIMBS }>;

/// Length of an encoded element of the field.
pub(super) const FIELD_BYTES: usize = 64;

/// Appends a field element, most significant byte first.
pub(super) fn encode_field(value: &FieldElement, out: &mut Vec<u8>) {
    out.extend_from_slice(value.retrieve().to_be_bytes().as_ref());
}

pub(super) fn decode_field(bytes: &[u8]) -> Option<FieldElement> {
    if bytes.len() != FIELD_BYTES {
        return None;
    }
    let value = U512::from_be_slice(bytes);
    (value < *Field512::PARAMS.modulus().as_ref()).then(|| FieldElement::new(&value))
}

/// Returns the inverse; zero for zero. Valid elements never need the inverse of zero.
pub(super) fn invert(value: &FieldElement) -> FieldElement {
    value.invert().unwrap_or(FieldElement::ZERO)
}

/// real + i imaginary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Quadratic {
    pub(super) real: FieldElement,
    pub(super) imaginary: FieldElement,
}

impl Quadratic {
    pub(super) const ONE: Self = Self { real: FieldElement::ONE, imaginary: FieldElement::ZERO };

    pub(super) fn times(&self, other: &Self) -> Self {
        // Karatsuba: three products instead of four.
        let real = self.real.mul(&other.real);
        let imaginary = self.imaginary.mul(&other.imaginary);
        let sums = self.real.add(&self.imaginary).mul(&other.real.add(&other.imaginary));
        Self { real: real.sub(&imaginary), imaginary: sums.sub(&real).sub(&imaginary) }
    }

    pub(super) fn square(&self) -> Self {
        let sum = self.real.add(&self.imaginary);
        let difference = self.real.sub(&self.imaginary);
        Self { real: sum.mul(&difference), imaginary: self.real.mul(&self.imaginary).double() }
    }

    pub(super) fn conjugate(&self) -> Self {
        Self { real: self.real, imaginary: self.imaginary.neg() }
    }

    /// Returns the inverse; zero for zero.
    pub(super) fn inverse(&self) -> Self {
        let norm = self.real.square().add(&self.imaginary.square());
        let inverse = invert(&norm);
        Self { real: self.real.mul(&inverse), imaginary: self.imaginary.neg().mul(&inverse) }
    }

    /// Raises to a number of this many bits, in a time that does not depend on the number.
    pub(super) fn power<const LIMBS: usize>(&self, number: &Uint<LIMBS>, bits: u32) -> Self {
        let mut multiples = [Self::ONE; 16];
        for i in 1..16 {
            multiples[i] = multiples[i - 1].times(self);
        }
        let digits = Word::BITS / 4;
        let digit = |i: u32| {
            let word = number.as_words()[(i / digits) as usize];
            (word >> (4 * (i % digits))) as u8 & 15
        };
        let mut result = Self::ONE;
        for i in (0..bits.div_ceil(4)).rev() {
            for _ in 0..4 {
                result = result.square();
            }
            let mut picked = Self::ONE;
            for (j, multiple) in (0u8..).zip(&multiples) {
                let meant = digit(i).ct_eq(&j);
                picked.real.conditional_assign(&multiple.real, meant);
                picked.imaginary.conditional_assign(&multiple.imaginary, meant);
            }
            result = result.times(&picked);
        }
        result
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        encode_field(&self.real, out);
        encode_field(&self.imaginary, out);
    }
}

impl Zeroize for Quadratic {
    fn zeroize(&mut self) {
        self.real.zeroize();
        self.imaginary.zeroize();
    }
}
