//! The door to long integers and primes.

use super::Context;
use crate::crypto::integer::{Integer, Prime};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour};

impl Context<'_> {
    /// A new random prime, a little below the order of the suite's pairing groups.
    pub fn random_prime(&mut self) -> Prime {
        self.probe.record(Primitive::GeneratePrime, Prime::length(self.setting.suite));
        Prime::random(self.setting.suite, self.rng)
    }

    /// Reads a prime that [`Prime::length`] bytes encode.
    pub fn prime(&mut self, bytes: &[u8]) -> Result<Prime, Error> {
        Prime::decode(self.setting.suite, bytes).ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// A new random number from 1 to 2^bits - 1, of at most 256 bits.
    pub fn random_integer(&mut self, bits: u32) -> Integer {
        self.probe.record(Primitive::Random, bits.div_ceil(8) as usize);
        Integer::random(bits, self.rng)
    }

    /// The product of many primes.
    pub fn multiply_primes<'p>(&mut self, primes: impl IntoIterator<Item = &'p Prime>) -> Integer {
        let product = Integer::product(primes);
        self.probe.record(Primitive::MultiplyPrimes, product.stored_bytes());
        product
    }

    /// The product of a long number and a short one.
    pub fn multiply_integer(&mut self, long: &Integer, short: &Integer) -> Integer {
        self.probe.record(Primitive::MultiplyInteger, long.stored_bytes());
        long.times(short)
    }

    /// The product of a long number and a prime.
    pub fn multiply_by_prime(&mut self, long: &Integer, prime: &Prime) -> Integer {
        self.probe.record(Primitive::MultiplyInteger, long.stored_bytes());
        long.times_prime(prime)
    }

    /// A long number divided by a prime, if the prime divides it.
    pub fn divide_by_prime(&mut self, long: &Integer, prime: &Prime) -> Option<Integer> {
        self.probe.record(Primitive::DivideInteger, long.stored_bytes());
        long.over(prime)
    }

    /// What a long number lacks to the next multiple of a prime.
    pub fn short_of_multiple(&mut self, long: &Integer, prime: &Prime) -> Integer {
        self.probe.record(Primitive::DivideInteger, long.stored_bytes());
        long.short_of_multiple(prime)
    }
}
