//! Polynomials over the integers modulo a prime of 128 bits: a secret and the shares of its
//! holders are points of one, and other points of it are public.
//!
//! The arithmetic is crypto-bigint's. It takes the same time for all secrets. A secret is the
//! value at zero. The share of a holder is the value at its place, a small positive number. Public
//! are the values at -1, -2 and so on, 16 bytes each, one for each holder: with its share, a
//! holder has one value more than the degree.

use alloc::vec::Vec;

use crypto_bigint::U128;
use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams};
use zeroize::{Zeroize, Zeroizing};

use self::prime::Prime128;
use crate::secret::Key;

/// The length of a value in bytes.
pub const VALUE_BYTES: usize = Key::BYTES;

/// Returns whether a key, as a number with its most significant byte first, is below the prime.
pub fn is_value(key: &Key) -> bool {
    let mut number = U128::from_be_slice(key.as_bytes());
    let is_below = number < *Prime128::PARAMS.modulus().as_ref();
    number.zeroize();
    is_below
}

/// Returns the values at -1, -2 and so on of the polynomial of the lowest degree through `secret`
/// at zero and each share at its place: as many as there are shares, 16 bytes each. A secret or
/// share that is not below the prime stands for the rest that it leaves. Places are different and
/// not zero.
///
/// It takes three products of as many numbers for each share (Lagrange's formula), and for places
/// up to m a table of 2(m + n) numbers, with one inverse.
pub fn points(secret: &Key, shares: &[(u32, Key)]) -> Vec<u8> {
    let count = shares.len();
    let highest = shares.iter().map(|&(place, _)| place as usize).max().unwrap_or(0);
    let small = SmallNumbers::up_to(highest + count);
    let places = || shares.iter().map(|&(place, _)| place as usize);
    // The values at zero and at the places, each over the differences of its place from all
    // others.
    let mut weighted = Zeroizing::new(Vec::with_capacity(count + 1));
    let at_zero = places().fold(number(secret), |value, place| value.mul(&small.inverses[place]));
    weighted.push((0, if count.is_multiple_of(2) { at_zero } else { at_zero.neg() }));
    for (own, share) in shares {
        let own = *own as usize;
        let (mut value, mut is_negative) = (number(share).mul(&small.inverses[own]), false);
        for place in places().filter(|&place| place != own) {
            value = value.mul(&small.inverses[own.abs_diff(place)]);
            is_negative ^= place > own;
        }
        weighted.push((own, if is_negative { value.neg() } else { value }));
    }
    let mut values = Vec::with_capacity(count * VALUE_BYTES);
    for below in 1..=count {
        let sum = weighted.iter().fold(FieldNumber::ZERO, |sum, (place, value)| {
            sum.add(&value.mul(&small.inverses[below + place]))
        });
        let product = places().fold(small.numbers[below], |product, place| {
            product.mul(&small.numbers[below + place])
        });
        let value = sum.mul(&product);
        let value = if count.is_multiple_of(2) { value } else { value.neg() };
        values.extend_from_slice(value.retrieve().to_be_bytes().as_ref());
    }
    values
}

/// Returns the value at zero of the polynomial through these values at -1, -2 and so on, and the
/// share at its place. Bytes that fill no value are left out.
///
/// It takes eight products for each value and, in the end, one inverse.
pub fn value_at_zero(values: &[u8], place: u32, share: &Key) -> Key {
    let (values, _) = values.as_chunks::<VALUE_BYTES>();
    let place = FieldNumber::new(&U128::from(place));
    // Lagrange's formula. The sum of the terms so far is `sum / divisor`. So nothing is divided by
    // until the end, and nothing is kept for each value.
    let (mut sum, mut divisor) = (FieldNumber::ZERO, FieldNumber::ONE);
    let mut factorial = FieldNumber::ONE;
    // What the next value is multiplied by, but for its sign.
    let mut factor = place;
    let mut left = FieldNumber::new(&U128::from(values.len() as u64));
    let (mut below, mut beyond) = (FieldNumber::ONE, place.add(&FieldNumber::ONE));
    for (number, value) in values.iter().enumerate() {
        let value = FieldNumber::new(&U128::from_be_slice(value));
        factor = factor.mul(&left);
        let step = below.mul(&beyond);
        let term = value.mul(&factor);
        sum = sum.mul(&step);
        sum = if number.is_multiple_of(2) { sum.add(&term) } else { sum.sub(&term) };
        divisor = divisor.mul(&step);
        factorial = factorial.mul(&below);
        factor = factor.mul(&beyond);
        left = left.sub(&FieldNumber::ONE);
        below = below.add(&FieldNumber::ONE);
        beyond = beyond.add(&FieldNumber::ONE);
    }
    let mut own = number(share).mul(&factorial.square());
    // The divisor is a product of numbers below the prime that are not zero.
    let inverse = divisor.invert().unwrap_or(FieldNumber::ZERO);
    let mut value = sum.add(&own).mul(&inverse);
    own.zeroize();
    let bytes = Zeroizing::new(value.retrieve().to_be_bytes());
    value.zeroize();
    let mut secret = Key::default();
    secret.as_bytes_mut().copy_from_slice(bytes.as_ref().as_ref());
    secret
}

/// The numbers from 1 on, and the inverse of each, at the place of its value.
struct SmallNumbers {
    numbers: Vec<FieldNumber>,
    inverses: Vec<FieldNumber>,
}

impl SmallNumbers {
    /// Three products for each number, and one inverse.
    fn up_to(highest: usize) -> Self {
        let mut numbers = Vec::with_capacity(highest + 1);
        let mut inverses = Vec::with_capacity(highest + 1);
        // Zero has no inverse: its place is only filled.
        numbers.push(FieldNumber::ZERO);
        inverses.push(FieldNumber::ZERO);
        let (mut next, mut factorial) = (FieldNumber::ONE, FieldNumber::ONE);
        for _ in 0..highest {
            numbers.push(next);
            // For now, the product of all numbers before.
            inverses.push(factorial);
            factorial = factorial.mul(&next);
            next = next.add(&FieldNumber::ONE);
        }
        let mut inverse = factorial.invert().unwrap_or(FieldNumber::ZERO);
        for place in (1..=highest).rev() {
            inverses[place] = inverses[place].mul(&inverse);
            inverse = inverse.mul(&numbers[place]);
        }
        Self { numbers, inverses }
    }
}

/// The rest that a key leaves, divided by the prime.
fn number(key: &Key) -> FieldNumber {
    let mut bits = U128::from_be_slice(key.as_bytes());
    let number = FieldNumber::new(&bits);
    bits.zeroize();
    number
}

/// An element of the field.
type FieldNumber = ConstMontyForm<Prime128, { U128::LIMBS }>;

/// The prime, whose type the macro makes public.
mod prime {
    use crypto_bigint::{U128, const_monty_params};

    const_monty_params!(
        Prime128,
        U128,
        "ffffffffffffffffffffffffffffff61",
        "the largest prime below 2^128, which is 2^128 - 159"
    );
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn every_holder_finds_the_secret_and_no_other_does() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for count in [1, 2, 3, 4, 5, 16, 33] {
            let secret = draw(&mut rng);
            // With holes between them.
            let shares: Vec<_> = (1..=count).map(|i| (i + i / 3, draw(&mut rng))).collect();
            let values = points(&secret, &shares);
            assert_eq!(values.len(), count as usize * VALUE_BYTES);
            for (place, share) in &shares {
                assert!(value_at_zero(&values, *place, share) == secret, "{count}, {place}");
            }
            assert!(value_at_zero(&values, count + 20, &shares[0].1) != secret);
            assert!(value_at_zero(&values, 1, &draw(&mut rng)) != secret);
        }
    }

    /// A line by hand: 7 at zero and 10 at 1 make 4 at -1.
    #[test]
    fn a_line_goes_on_straight() {
        let values = points(&small(7), &[(1, small(10))]);
        assert_eq!(values, small(4).as_bytes());
        assert!(value_at_zero(&values, 1, &small(10)) == small(7));
    }

    /// A parabola by hand: 1, 4 and 9 at 0, 1 and 2 are (z + 1)^2, which is 0 at -1 and 1 at -2.
    #[test]
    fn a_parabola_turns() {
        let values = points(&small(1), &[(1, small(4)), (2, small(9))]);
        assert_eq!(values, [*small(0).as_bytes(), *small(1).as_bytes()].concat());
    }

    #[test]
    fn numbers_from_the_prime_on_are_no_values() {
        let mut bytes = [0xff; VALUE_BYTES];
        for (last, is_one) in [(0x60, true), (0x61, false), (0xff, false)] {
            bytes[VALUE_BYTES - 1] = last;
            assert_eq!(is_value(&Key::from_bytes(bytes)), is_one);
        }
        // The prime stands for zero.
        bytes[VALUE_BYTES - 1] = 0x61;
        assert_eq!(points(&Key::from_bytes(bytes), &[(1, small(0))]), vec![0; VALUE_BYTES]);
    }

    proptest! {
        #[test]
        fn no_points_and_no_place_make_it_panic(
            values in proptest::collection::vec(any::<u8>(), 0..100),
            place: u32,
            share: [u8; VALUE_BYTES],
        ) {
            let found = value_at_zero(&values, place, &Key::from_bytes(share));
            prop_assert!(is_value(&found));
        }
    }

    fn draw(rng: &mut ChaCha20Rng) -> Key {
        let mut key = Key::default();
        rng.fill_bytes(key.as_bytes_mut());
        key.as_bytes_mut()[0] &= 0x7f;
        key
    }

    fn small(number: u8) -> Key {
        let mut key = Key::default();
        key.as_bytes_mut()[VALUE_BYTES - 1] = number;
        key
    }
}
