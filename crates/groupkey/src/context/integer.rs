//! Access to long integers and primes.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::trace::TraceValue;
use crate::context::tracer::Rule;
use crate::crypto::integer::{Integer, Prime};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour};

impl Context<'_> {
    /// Draws a new random prime, a little below the order of the suite's pairing groups.
    pub fn random_prime(&mut self) -> Prime {
        self.probe.record(Primitive::GeneratePrime, Prime::length(self.setting.suite));
        let prime = Prime::random(self.setting.suite, self.rng);
        self.trace(Rule::Random, &[], &[&prime]);
        prime
    }

    /// Reads a prime from [`Prime::length`] bytes.
    pub fn prime(&mut self, bytes: &[u8]) -> Result<Prime, Error> {
        Prime::decode(self.setting.suite, bytes).ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Draws a new random number from 1 to 2^bits - 1, of at most 256 bits.
    pub fn random_integer(&mut self, bits: u32) -> Integer {
        self.probe.record(Primitive::Random, bits.div_ceil(8) as usize);
        let integer = Integer::random(bits, self.rng);
        self.trace(Rule::Random, &[], &[&integer]);
        integer
    }

    /// Multiplies many primes.
    pub fn multiply_primes<'p>(&mut self, primes: impl IntoIterator<Item = &'p Prime>) -> Integer {
        let (is_traced, mut traced) = (self.is_traced(), Vec::new());
        let product = Integer::product(primes.into_iter().inspect(|&prime| {
            if is_traced {
                traced.push(prime as &dyn TraceValue);
            }
        }));
        self.probe.record(Primitive::MultiplyPrimes, product.stored_bytes());
        self.trace(Rule::OneWay, &traced, &[&product]);
        product
    }

    /// Multiplies a long number by a short one.
    pub fn multiply_integer(&mut self, long: &Integer, short: &Integer) -> Integer {
        self.probe.record(Primitive::MultiplyInteger, long.stored_bytes());
        let product = long.times(short);
        self.trace(Rule::OneWay, &[long, short], &[&product]);
        product
    }

    /// Multiplies a long number by a prime.
    pub fn multiply_by_prime(&mut self, long: &Integer, prime: &Prime) -> Integer {
        self.probe.record(Primitive::MultiplyInteger, long.stored_bytes());
        let product = long.times_prime(prime);
        self.trace(Rule::OneWay, &[long, prime], &[&product]);
        product
    }

    /// Divides a long number by a prime, if the prime divides it.
    pub fn divide_by_prime(&mut self, long: &Integer, prime: &Prime) -> Option<Integer> {
        self.probe.record(Primitive::DivideInteger, long.stored_bytes());
        let quotient = long.over(prime)?;
        self.trace(Rule::OneWay, &[long, prime], &[&quotient]);
        Some(quotient)
    }

    /// Returns the difference between a long number and the next multiple of a prime;
    /// zero for a multiple.
    pub fn short_of_multiple(&mut self, long: &Integer, prime: &Prime) -> Integer {
        self.probe.record(Primitive::DivideInteger, long.stored_bytes());
        let short = long.short_of_multiple(prime);
        self.trace(Rule::OneWay, &[long, prime], &[&short]);
        short
    }
}

impl TraceValue for Prime {
    fn traced(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl TraceValue for Integer {
    fn traced(&self) -> Vec<u8> {
        self.to_bytes()
    }
}
