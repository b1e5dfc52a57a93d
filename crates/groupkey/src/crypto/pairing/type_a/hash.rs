//! Hashes to points of Type A, by trial: the hash of a message and a counter is the x of a point, or
//! the next counter is tried. PBC does it in the same manner, by another hash.
//!
//! How many trials it takes shows in the time. What is hashed is public.

use crypto_bigint::modular::ConstMontyParams;
use crypto_bigint::{U384, U512};
use sha2::{Digest, Sha512};

use super::super::curve::Curve;
use super::super::field::{Field512, FieldElement};
use super::{Affine, COFACTOR, COFACTOR_BITS, JacobianPoint, TypeA};

/// Returns the element of the group that a message hashes to. It is not the identity.
pub(in super::super) fn hashed(domain: &[u8], message: &[u8]) -> Affine {
    // Half of all numbers are the x of a point: 2^32 trials do not all fail.
    let mut candidates = (0..=u32::MAX).filter_map(|counter| point(counter, domain, message));
    candidates.next().unwrap_or_else(TypeA::generator)
}

fn point(counter: u32, domain: &[u8], message: &[u8]) -> Option<Affine> {
    let digest = Sha512::new().chain_update((domain.len() as u64).to_be_bytes());
    let digest = digest.chain_update(domain).chain_update(counter.to_be_bytes());
    let digest = digest.chain_update(message).finalize();
    let x = FieldElement::new(&U512::from_be_slice(&digest));
    let right = x.square().mul(&x).add(&x);
    // The prime is 3 modulo 4, so a square's root is its power by a quarter of the prime plus 1.
    let prime: &U512 = Field512::PARAMS.modulus().as_ref();
    let y = right.pow(&prime.shr(2).wrapping_add(&U512::ONE));
    if y.square() != right {
        return None;
    }
    let cleared = TypeA::affine(&cofactor_times(&Affine { x, y }));
    (!bool::from(cleared.is_identity())).then_some(cleared)
}

fn cofactor_times(point: &Affine) -> JacobianPoint {
    let cofactor: &U384 = &COFACTOR;
    let bits = (0..COFACTOR_BITS).rev().map(|place| bool::from(cofactor.bit(place)));
    bits.fold(TypeA::extended(&TypeA::identity()), |sum, bit| {
        let twice = TypeA::doubled(&sum);
        if bit { TypeA::sum(&twice, point) } else { twice }
    })
}
