//! Whole numbers of any length, and the primes that are multiplied into them. Some schemes hide a
//! value behind a product of the members' primes.
//!
//! Long numbers are those of dashu-int, primes those of crypto-primes. Primes are sieved, then
//! tested as Baillie, Fiori and Wagstaff recommend (2021): Miller and Rabin's test to base 2, and
//! Lucas's test. The time of both libraries depends on the numbers. A party that can time the
//! controller to the microsecond learns how often the controller had to draw. It learns nothing
//! about a prime that the controller kept.
//!
//! A number is wiped when it is dropped. Intermediate values in dashu-int, the halves of numbers
//! that it multiplies, are freed without being wiped.

use alloc::vec::Vec;
use core::fmt;

use crypto_bigint::{U192, U256};
use crypto_primes::{Flavor, random_prime};
use dashu_base::{BitTest, DivExact};
use dashu_int::UBig;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Pairing, Suite};
use crate::error::{Error, Misbehaviour};
use crate::saved_state::{Saved, SavedState};
use crate::wire::Reader;

/// A secret prime, a little shorter than the order of the suite's pairing groups. All primes of a
/// suite have the same length.
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
pub struct Prime([u8; Self::BYTES]);

/// A number that is not negative.
#[derive(Clone, Default)]
pub struct Integer(UBig);

impl Prime {
    /// The number of bytes that hold a prime of any suite.
    const BYTES: usize = 32;

    pub(crate) fn random(suite: Suite, rng: &mut dyn CryptoRng) -> Self {
        let mut prime = Self::default();
        let bits = Self::bits(suite);
        match suite.pairing() {
            Pairing::Bls12381 => {
                let mut number: U256 = random_prime(rng, Flavor::Any, bits);
                prime.0.copy_from_slice(number.to_be_bytes().as_ref());
                number.zeroize();
            }
            Pairing::TypeA => {
                let mut number: U192 = random_prime(rng, Flavor::Any, bits);
                prime.0[Self::BYTES - U192::BYTES..].copy_from_slice(number.to_be_bytes().as_ref());
                number.zeroize();
            }
        }
        prime
    }

    /// Returns whether no prime was drawn yet.
    pub(crate) fn is_unset(&self) -> bool {
        self.0 == [0; Self::BYTES]
    }

    /// Reads the output of [`Self::encoded`]. Returns `None` unless the number has the length of
    /// the suite's primes and is odd. The maker is responsible for its primality.
    pub(crate) fn decode(suite: Suite, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::length(suite) {
            return None;
        }
        let mut prime = Self::default();
        prime.0[Self::BYTES - bytes.len()..].copy_from_slice(bytes);
        let top = 1 << ((Self::bits(suite) - 1) % 8);
        (bytes[0] / top == 1 && prime.0[Self::BYTES - 1] % 2 == 1).then_some(prime)
    }

    /// Returns the prime in [`Self::length`] bytes, most significant first.
    pub(crate) fn encoded(&self, suite: Suite) -> &[u8] {
        &self.0[Self::BYTES - Self::length(suite)..]
    }

    /// Returns the prime in 32 bytes, most significant first.
    pub(crate) const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Returns the length of every prime in bits: one bit less than the order of the pairing
    /// groups, so that all primes of this length are below the order.
    pub const fn bits(suite: Suite) -> u32 {
        match suite.pairing() {
            Pairing::Bls12381 => 254,
            Pairing::TypeA => 159,
        }
    }

    /// Returns the length of an encoded prime in bytes.
    pub const fn length(suite: Suite) -> usize {
        Self::bits(suite).div_ceil(8) as usize
    }

    fn number(&self) -> UBig {
        UBig::from_be_bytes(&self.0)
    }
}

impl Integer {
    /// Draws a random number from 1 to 2^bits - 1, of at most 256 bits.
    pub(crate) fn random(bits: u32, rng: &mut dyn CryptoRng) -> Self {
        let mut bytes = [0; 32];
        let kept = &mut bytes[32 - bits.div_ceil(8) as usize..];
        loop {
            rng.fill_bytes(kept);
            kept[0] &= u8::MAX >> (8 * kept.len() as u32 - bits);
            if kept.iter().any(|&byte| byte != 0) {
                break;
            }
        }
        let number = Self::from_bytes(kept);
        bytes.zeroize();
        number
    }

    /// Returns the product of primes. Multiplies numbers of about the same length with each other,
    /// because fast multiplication works best on these.
    pub(crate) fn product<'p>(primes: impl IntoIterator<Item = &'p Prime>) -> Self {
        // As in a binary counter: each entry is the product of 2^level primes, longest first.
        let mut products: Vec<(u32, Self)> = Vec::new();
        for prime in primes {
            let mut product = (0, Self(prime.number()));
            while let Some((_, last)) = products.pop_if(|(level, _)| *level == product.0) {
                product = (product.0 + 1, last.times(&product.1));
            }
            products.push(product);
        }
        let shortest_first = products.iter().rev();
        shortest_first.fold(Self(UBig::ONE), |product, (_, factor)| factor.times(&product))
    }

    /// Makes a number of these bytes, most significant first.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self(UBig::from_be_bytes(bytes))
    }

    /// Returns the number in as few bytes as possible, most significant first.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().into_vec()
    }

    /// Returns how many bits the number takes.
    pub(crate) fn bits(&self) -> usize {
        self.0.bit_len()
    }

    /// Returns how many bytes the number takes.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Multiplies the number by another.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0)
    }

    pub(crate) fn times_prime(&self, prime: &Prime) -> Self {
        self.times(&Self(prime.number()))
    }

    /// Returns the number minus a smaller one.
    ///
    /// # Panics
    ///
    /// If the other number is larger.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    pub(crate) fn over(&self, prime: &Prime) -> Option<Self> {
        (&self.0).div_exact(prime.number(), &()).map(Self)
    }

    /// Returns the difference between this number and the next multiple of a prime; zero for a
    /// multiple.
    pub(crate) fn short_of_multiple(&self, prime: &Prime) -> Self {
        let prime = Self(prime.number());
        let rest = Self(&self.0 % &prime.0);
        if rest.0.is_zero() { rest } else { prime.minus(&rest) }
    }

    pub(crate) fn is_multiple_of(&self, prime: &Prime) -> bool {
        self.0.is_multiple_of(&Self(prime.number()).0)
    }
}

impl Saved for Prime {
    fn save(&self, state: &mut SavedState) {
        state.bytes(&self.0);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        state.bytes()?.try_into().map(Self).map_err(|_| Misbehaviour::Malformed.into())
    }
}

impl Saved for Integer {
    fn save(&self, state: &mut SavedState) {
        let mut bytes = self.to_bytes();
        state.bytes(&bytes);
        bytes.zeroize();
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let bytes = state.bytes()?;
        let number = Self::from_bytes(bytes);
        let mut shortest = number.to_bytes();
        let is_shortest = shortest == bytes;
        shortest.zeroize();
        if is_shortest { Ok(number) } else { Err(Misbehaviour::Malformed.into()) }
    }
}

impl Drop for Integer {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Prime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prime(..)")
    }
}

/// Prints no number, because it may be a secret.
impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Integer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn primes(suite: Suite, count: usize) -> Vec<Prime> {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        (0..count).map(|_| Prime::random(suite, &mut rng)).collect()
    }

    #[test]
    fn primes_have_their_length_and_pass_fermats_test() {
        for suite in Suite::ALL.into_iter().filter(|suite| suite.has_pairing()) {
            for prime in primes(suite, 5) {
                let number = prime.number();
                assert_eq!(number.bit_len() as u32, Prime::bits(suite));
                let ring = dashu_int::fast_div::ConstDivisor::new(number.clone());
                for base in [2u8, 3, 5, 7] {
                    let power = ring.reduce(base).pow(&(&number - 1u8));
                    assert_eq!(power.residue(), UBig::ONE);
                }
            }
        }
    }

    #[test]
    fn primes_survive_encoding() {
        for suite in Suite::ALL.into_iter().filter(|suite| suite.has_pairing()) {
            let prime = &primes(suite, 1)[0];
            let encoded = prime.encoded(suite).to_vec();
            assert_eq!(encoded.len(), Prime::length(suite));
            assert_eq!(Prime::decode(suite, &encoded).unwrap().0, prime.0);
            assert!(Prime::decode(suite, &encoded[1..]).is_none());
            for (place, change) in [(0, 0x80), (0, 0x7f), (encoded.len() - 1, 1)] {
                let mut changed = encoded.clone();
                changed[place] ^= change;
                assert!(Prime::decode(suite, &changed).is_none(), "{place}, {change}");
            }
        }
    }

    #[test]
    fn products_are_those_of_one_factor_after_the_other() {
        let primes = primes(Suite::Published, 21);
        for count in [0, 1, 2, 3, 4, 7, 8, 9, 21] {
            let product = Integer::product(&primes[..count]);
            let mut rest = primes[..count]
                .iter()
                .fold(Integer(UBig::ONE), |product, prime| product.times_prime(prime));
            assert_eq!(product.0, rest.0);
            for prime in &primes[..count] {
                assert!(rest.is_multiple_of(prime));
                assert_eq!(rest.short_of_multiple(prime).0, UBig::ZERO);
                rest = rest.over(prime).expect("it is a factor");
                assert!(rest.over(prime).is_none() && !rest.is_multiple_of(prime));
            }
            assert_eq!(rest.0, UBig::ONE);
        }
    }

    #[test]
    fn what_is_taken_off_a_multiple_is_found_again() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let primes = primes(Suite::Standard, 3);
        let secret = Integer::random(253, &mut rng);
        let lock = Integer::product(&primes).minus(&secret);
        for prime in &primes {
            assert_eq!(lock.short_of_multiple(prime).0, secret.0);
        }
        assert_eq!(Integer::from_bytes(&lock.to_bytes()).0, lock.0);
    }

    #[test]
    fn random_numbers_are_as_long_as_asked_for() {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for bits in [1, 7, 8, 9, 158, 253, 256] {
            let longest = (0..200).map(|_| Integer::random(bits, &mut rng).bits()).max();
            assert_eq!(longest, Some(bits as usize));
        }
    }
}
