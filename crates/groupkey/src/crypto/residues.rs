//! A number that has given residues modulo numbers without a common divisor: what Chinese remainders
//! make of a list of 16 bytes for each member.
//!
//! Moduli are a little below 2^128, and public. So are the residues of a lock: everybody can compute
//! them. What is in them must be masked before. Nothing here is secret, and the time of a computation
//! may depend on the numbers.

use alloc::vec;
use alloc::vec::Vec;

/// A modulus: 2^128 less an odd number below [`Self::BOUND`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus(u32);

/// The length of a residue in bytes.
pub const RESIDUE_BYTES: usize = 16;

impl Modulus {
    /// The maximum distance of a modulus from 2^128.
    pub const BOUND: u32 = 1 << 17;

    /// The first `count` moduli, largest first; fewer if `count` is more than 6,000. No prime below
    /// [`Self::BOUND`] divides one of them. A common divisor would divide the difference of two, which
    /// is below that bound: so there is none.
    pub fn first(count: usize) -> Vec<Self> {
        let distances = Self::BOUND as usize;
        let mut has_small_factor = vec![false; distances];
        let mut is_composite = vec![false; distances];
        for prime in 2..distances {
            if is_composite[prime] {
                continue;
            }
            for multiple in (2 * prime..distances).step_by(prime) {
                is_composite[multiple] = true;
            }
            // 2^128 is this much above a multiple of the prime.
            let rest = (u128::MAX % prime as u128 + 1) % prime as u128;
            for distance in (rest as usize..distances).step_by(prime) {
                has_small_factor[distance] = true;
            }
        }
        let coprime = (1..).zip(&has_small_factor[1..]).filter(|(_, has)| !**has);
        coprime.map(|(distance, _)| Self(distance)).take(count).collect()
    }

    /// The modulus at this distance from 2^128. `None` if it is too far, or even.
    pub fn at_distance(distance: u64) -> Option<Self> {
        let distance = u32::try_from(distance).ok()?;
        (distance < Self::BOUND && distance % 2 == 1).then_some(Self(distance))
    }

    /// The distance from 2^128.
    pub const fn distance(self) -> u32 {
        self.0
    }

    /// The residue of a number of whole limbs of 16 bytes, most significant first. Bytes that fill no
    /// limb are left out.
    pub fn residue(self, number: &[u8]) -> [u8; RESIDUE_BYTES] {
        let (limbs, _) = number.as_chunks::<RESIDUE_BYTES>();
        let limbs = limbs.iter().map(|&limb| u128::from_be_bytes(limb));
        self.residue_of(limbs).to_be_bytes()
    }

    const fn value(self) -> u128 {
        (self.0 as u128).wrapping_neg()
    }

    /// The residue of the number of these limbs, most significant first.
    fn residue_of(self, limbs: impl Iterator<Item = u128>) -> u128 {
        limbs.fold(0, |high, low| self.reduce(high, low))
    }

    /// The residue of `high 2^128 + low`.
    fn reduce(self, high: u128, low: u128) -> u128 {
        let distance = u128::from(self.0);
        let (mut high, mut low) = (high, low);
        // 2^128 is the distance, modulo this. Each turn makes the upper half shorter by 111 bits.
        while high > 0 {
            let (above, below) = wide_product(high, distance);
            let (sum, carry) = low.overflowing_add(below);
            (high, low) = (above + u128::from(carry), sum);
        }
        if low >= self.value() { low - self.value() } else { low }
    }

    fn product(self, a: u128, b: u128) -> u128 {
        let (high, low) = wide_product(a, b);
        self.reduce(high, low)
    }

    /// The residue of the difference of two residues.
    fn difference(self, a: u128, b: u128) -> u128 {
        if a >= b { a - b } else { self.value() - (b - a) }
    }

    /// The inverse of a number that has no divisor in common with this, by Euclid's algorithm.
    fn inverse(self, number: u128) -> u128 {
        let (mut before, mut now) = ((self.value(), 0), (number, 1));
        while now.0 > 1 {
            let (quotient, rest) = (before.0 / now.0, before.0 % now.0);
            let factor = self.difference(before.1, self.product(quotient, now.1));
            (before, now) = (now, (rest, factor));
        }
        now.1
    }
}

/// The number that has each of these residues modulo the number beside it, less than the product of
/// all these numbers: as many limbs of 16 bytes as there are residues, most significant first. A
/// residue that is not below its modulus stands for the rest that it leaves.
///
/// The algorithm is Garner's: each residue adds a multiple of the product of the moduli before it.
pub fn lock(residues: &[(Modulus, [u8; RESIDUE_BYTES])]) -> Vec<u8> {
    // Least significant limb first.
    let mut number: Vec<u128> = Vec::with_capacity(residues.len());
    let mut product: Vec<u128> = Vec::with_capacity(residues.len() + 1);
    product.push(1);
    for &(modulus, residue) in residues {
        let residue = modulus.reduce(0, u128::from_be_bytes(residue));
        let so_far = modulus.residue_of(number.iter().rev().copied());
        let step = modulus.residue_of(product.iter().rev().copied());
        let lacking = modulus.difference(residue, so_far);
        number.resize(product.len(), 0);
        add_multiple(&mut number, &product, modulus.product(lacking, modulus.inverse(step)));
        if number.len() < residues.len() {
            multiply(&mut product, modulus);
        }
    }
    number.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect()
}

/// Adds a multiple of a number to another one. The sum needs one limb more at most, and gets it.
fn add_multiple(sum: &mut Vec<u128>, number: &[u128], factor: u128) {
    let mut carry = 0;
    for (limb, &other) in sum.iter_mut().zip(number) {
        let (high, low) = wide_product(other, factor);
        let (total, first) = limb.overflowing_add(low);
        let (total, second) = total.overflowing_add(carry);
        *limb = total;
        carry = high + u128::from(first) + u128::from(second);
    }
    if carry > 0 {
        sum.push(carry);
    }
}

/// Multiplies a number by a modulus: shifts it up by a limb, and takes the distance times itself off.
fn multiply(number: &mut Vec<u128>, modulus: Modulus) {
    let distance = u128::from(modulus.distance());
    let (mut above, mut owed) = (0_u128, 0);
    number.push(0);
    for limb in number {
        let (high, low) = wide_product(*limb, distance);
        let (owed_here, carry) = low.overflowing_add(owed);
        let (rest, borrow) = above.overflowing_sub(owed_here);
        above = core::mem::replace(limb, rest);
        owed = high + u128::from(carry) + u128::from(borrow);
    }
}

/// The product of two numbers: its upper and its lower half.
const fn wide_product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & HALF);
    (a_high * b_high + (middle >> 64) + (other >> 64), (other << 64) | (low & HALF))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn no_two_moduli_have_a_common_divisor() {
        let moduli = Modulus::first(6_000);
        assert_eq!(moduli.len(), 6_000);
        assert!(moduli.windows(2).all(|pair| pair[0].distance() < pair[1].distance()));
        for (place, &a) in moduli.iter().enumerate().step_by(97) {
            for &b in &moduli[place + 1..] {
                assert_eq!(divisor(a.value(), b.value()), 1, "{a:?}, {b:?}");
            }
        }
        assert_eq!(Modulus::first(3), moduli[..3]);
    }

    #[test]
    fn a_distance_is_odd_and_below_the_bound() {
        for (distance, is_one) in [(1, true), (2, false), (131_071, true), (131_073, false)] {
            assert_eq!(Modulus::at_distance(distance).is_some(), is_one, "{distance}");
        }
        assert_eq!(Modulus::at_distance(u64::MAX), None);
    }

    #[test]
    fn a_lock_has_the_residues_that_went_in() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        for count in [0, 1, 2, 3, 10, 257] {
            let mut residues: Vec<_> =
                Modulus::first(count).into_iter().map(|m| (m, [0; 16])).collect();
            residues.iter_mut().for_each(|(_, residue)| rng.fill_bytes(residue));
            let lock = lock(&residues);
            assert_eq!(lock.len(), count * RESIDUE_BYTES);
            for (modulus, residue) in &residues {
                assert_eq!(modulus.residue(&lock), *residue);
            }
        }
    }

    #[test]
    fn the_extremes_come_out_too() {
        for limb in [0, 1, u128::MAX - Modulus::BOUND as u128] {
            let residues: Vec<_> =
                Modulus::first(40).into_iter().map(|m| (m, limb.to_be_bytes())).collect();
            let lock = lock(&residues);
            assert!(
                residues.iter().all(|(modulus, _)| modulus.residue(&lock) == limb.to_be_bytes())
            );
        }
    }

    proptest! {
        #[test]
        fn products_and_inverses_are_right(a in 1_u128.., b: u128, distance in 0_u32..1_000) {
            let modulus = Modulus::first(1_000)[distance as usize];
            let [a, b] = [a, b].map(|number| modulus.reduce(0, number));
            // By doubling and adding.
            let mut slow = 0;
            for bit in (0..128).rev() {
                slow = sum(modulus, slow, slow);
                if b >> bit & 1 == 1 {
                    slow = sum(modulus, slow, a);
                }
            }
            prop_assert_eq!(modulus.product(a, b), slow);
            if divisor(a, modulus.value()) == 1 {
                prop_assert_eq!(modulus.product(a, modulus.inverse(a)), 1);
            }
        }
    }

    fn sum(modulus: Modulus, a: u128, b: u128) -> u128 {
        modulus.difference(a, modulus.difference(0, b))
    }

    fn divisor(a: u128, b: u128) -> u128 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
}
