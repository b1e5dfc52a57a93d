//! Access to polynomials: the public values for a secret that has shares, and what a share finds.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::crypto::meter::Primitive;
use crate::crypto::polynomial::{self, VALUE_BYTES};
use crate::secret::Key;

impl Context<'_> {
    /// Draws a new random key that is a value of a polynomial.
    pub fn random_value(&mut self) -> Key {
        loop {
            let key = self.random_key();
            if polynomial::is_value(&key) {
                return key;
            }
        }
    }

    /// Makes the public values of the polynomial through a secret and shares
    /// ([`polynomial::points`]). Counts an inverse, three products of a table's numbers, and three
    /// products of as many numbers as there are shares for each share.
    pub fn points_through(&mut self, secret: &Key, shares: &[(u32, Key)]) -> Vec<u8> {
        let highest = shares.iter().map(|&(place, _)| place as usize).max().unwrap_or(0);
        self.probe.record(Primitive::InvertScalar, 1);
        for _ in 0..3 {
            self.probe.record(Primitive::MultiplyInteger, (highest + shares.len()) * VALUE_BYTES);
        }
        for _ in 0..3 * shares.len() {
            self.probe.record(Primitive::MultiplyInteger, shares.len() * VALUE_BYTES);
        }
        polynomial::points(secret, shares)
    }

    /// Finds the secret of a polynomial from its public values and a share at its place
    /// ([`polynomial::value_at_zero`]). Counts an inverse, and eight products of the values.
    pub fn value_at_zero(&mut self, values: &[u8], place: u32, share: &Key) -> Key {
        self.probe.record(Primitive::InvertScalar, 1);
        for _ in 0..8 {
            self.probe.record(Primitive::MultiplyInteger, values.len());
        }
        let secret = polynomial::value_at_zero(values, place, share);
        if self.is_traced() {
            // With the public values, the secret gives each share, and each share the secret. In
            // the trace these values are what a public mask between share and secret would be.
            let between = self.xor(&secret, share);
            self.trace(Rule::Public, &[], &[&between]);
        }
        secret
    }
}
