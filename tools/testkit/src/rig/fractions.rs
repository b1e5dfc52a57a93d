//! What continued fractions and common divisors reveal about numbers that are almost products of
//! primes: the arithmetic of the attacks on Nishat's published lock, `gamma = a r_1 .. r_n - k`.
//!
//! All numbers are bytes, most significant first.

use alloc::vec::Vec;

use dashu_base::{BitTest, Gcd};
use dashu_int::UBig;

/// Factors below this belong to the random `a`, not to a member's prime.
const SMALL_FACTORS: u32 = 5_000;

/// Returns the difference between a number and the next multiple of a prime. For a member this is
/// k.
pub fn lacking(gamma: &[u8], prime: &[u8]) -> Vec<u8> {
    let (gamma, prime) = (UBig::from_be_bytes(gamma), UBig::from_be_bytes(prime));
    bytes(&((&prime - gamma % &prime) % &prime))
}

/// Returns the sum of two numbers: `gamma + k`, which the product of all primes divides.
pub fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    bytes(&(UBig::from_be_bytes(a) + UBig::from_be_bytes(b)))
}

/// Returns the quotient of two numbers, rounded down. A division by zero gives no bytes.
pub fn quotient(dividend: &[u8], divisor: &[u8]) -> Vec<u8> {
    let divisor = UBig::from_be_bytes(divisor);
    if divisor.is_zero() {
        return Vec::new();
    }
    bytes(&(UBig::from_be_bytes(dividend) / divisor))
}

/// Returns candidates for the `k` behind a gamma that is not for the adversary. The adversary knows
/// a multiple of the product of primes behind it. The convergents of gamma over that multiple have
/// the excess factors of the multiple in their denominators. Primes and `k` have `bits` bits.
pub fn lacking_by_fractions(gamma: &[u8], multiple: &[u8], bits: u32) -> Vec<Vec<u8>> {
    let (gamma, multiple) = (UBig::from_be_bytes(gamma), UBig::from_be_bytes(multiple));
    let bits = bits as usize;
    let (mut dividend, mut divisor) = (gamma.clone(), multiple.clone());
    let (mut last, mut denominator) = (UBig::ONE, UBig::ZERO);
    let mut found = Vec::new();
    while !divisor.is_zero() {
        let (quotient, rest) = (&dividend / &divisor, &dividend % &divisor);
        (dividend, divisor) = (divisor, rest);
        (last, denominator) = (denominator.clone(), quotient * denominator + last);
        if !denominator.is_zero() && (&multiple % &denominator).is_zero() {
            let product = &multiple / &denominator;
            let k = (&product - &gamma % &product) % &product;
            if !k.is_zero() && k.bit_len() < bits && product.bit_len() > 2 * bits {
                found.push(bytes(&k));
            }
        }
    }
    found
}

/// Returns the prime of a member that joined between the first and the second of three epochs. The
/// adversary was a member in all three. `multiples` are numbers that it knows to be multiples of
/// the members' primes in each epoch.
pub fn newcomers_prime(multiples: [&[u8]; 3]) -> Vec<u8> {
    let [first, second, third] = multiples.map(UBig::from_be_bytes);
    if second.is_zero() {
        return Vec::new();
    }
    let (old, new) = ((&first).gcd(&second), (&second).gcd(&third));
    // Common factors of the random numbers are left beside the prime.
    let mut prime = &new / (&old).gcd(&new);
    for factor in 2..SMALL_FACTORS {
        while prime.is_multiple_of(&factor.into()) {
            prime /= factor;
        }
    }
    bytes(&prime)
}

fn bytes(number: &UBig) -> Vec<u8> {
    number.to_be_bytes().into_vec()
}
