//! The field of Type A's curve: numbers modulo the 512-bit prime of PBC's `a.param`.

use alloc::vec::Vec;

use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams};
use crypto_bigint::{U512, const_monty_params};

const_monty_params!(
    Field512,
    U512,
    "a7a73868e95fba886edef8ce96e7217e364bb946f5ed839628d1f80010940622\
     a7afdaf9b049744a459e54dab7ba5be92539e8ff9b4f30a3cf6230c28e284d97",
    "the field of PBC's a.param"
);

/// An element of the field.
pub(super) type FieldElement = ConstMontyForm<Field512, { U512::LIMBS }>;

/// Length of an encoded element of the field.
pub(super) const FIELD_BYTES: usize = 64;

/// Appends a field element, most significant byte first.
pub(super) fn encode_field(value: &FieldElement, out: &mut Vec<u8>) {
    out.extend_from_slice(value.retrieve().to_be_bytes().as_ref());
}

/// Reads the output of [`encode_field`].
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
