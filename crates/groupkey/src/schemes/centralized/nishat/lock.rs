//! How k reaches the members and no other party.
//!
//! As published: gamma = a r_1 ... r_n - k over the integers, for primes r_i of one length and a
//! shorter k. The distance from gamma up to the next multiple of r_i is k. Repaired: the lock has a
//! random seed, from which k is derived, under a mask for each member, in the order of their slots.

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::Suite;
use crate::crypto::integer::{Integer, Prime};
use crate::crypto::pairing::Scalar;
use crate::error::{Error, Misbehaviour};
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::saved_state::{Saved, SavedState, require};
use crate::secret::Key;
use crate::wire::Reader;

/// The published lock, at the controller.
#[derive(Debug, Default)]
pub(super) struct PrimeLock {
    /// By slot. The prime of a member that left stays until the slot is used again.
    primes: Vec<Prime>,
    product: Integer,
    a: Integer,
    k: Integer,
}

impl PrimeLock {
    /// Appends the state. The product of the current members' primes follows from the primes.
    pub(super) fn save(&self, state: &mut SavedState) {
        self.primes.save(state);
        self.a.save(state);
        self.k.save(state);
    }

    /// Takes over the state that [`Self::save`] appended, of a group that was created or not yet.
    pub(super) fn restore(
        &mut self,
        state: &mut Reader<'_>,
        roster: &SlotRoster,
        created: bool,
    ) -> Result<(), Error> {
        self.primes = Saved::restore(state)?;
        self.a = Saved::restore(state)?;
        self.k = Saved::restore(state)?;
        require(self.primes.len() == roster.slots())?;
        let mut primes = roster.current_slots().map(|slot| &self.primes[slot as usize]);
        require(primes.all(|prime| !prime.is_unset()))?;
        if created {
            let primes = roster.current_slots().map(|slot| &self.primes[slot as usize]);
            self.product = Integer::product(primes);
        }
        Ok(())
    }

    pub(super) fn assign(&mut self, cx: &mut Context<'_>, slot: u32) -> Scalar {
        let slot = slot as usize;
        if self.primes.len() <= slot {
            self.primes.resize_with(slot + 1, Prime::default);
        }
        self.primes[slot] = cx.random_prime();
        cx.scalar(self.primes[slot].as_bytes())
    }

    pub(super) fn reserve(&mut self, slots: usize) {
        let more = slots.saturating_sub(self.primes.len());
        if more > self.primes.len() / 8 {
            self.primes.reserve_exact(more);
        }
    }

    pub(super) fn prime(&self, slot: u32) -> &Prime {
        &self.primes[slot as usize]
    }

    /// Locks for these slots and no others.
    pub(super) fn create(&mut self, cx: &mut Context<'_>, slots: impl Iterator<Item = u32>) {
        self.product = cx.multiply_primes(slots.map(|slot| &self.primes[slot as usize]));
        self.renew(cx, None);
    }

    pub(super) fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.product = cx.multiply_by_prime(&self.product, &self.primes[slot as usize]);
        self.renew(cx, None);
    }

    pub(super) fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let prime = &self.primes[slot as usize];
        self.product = cx.divide_by_prime(&self.product, prime).expect("it is a factor");
        self.renew(cx, Some(slot));
    }

    pub(super) fn exponent(&self, cx: &mut Context<'_>) -> Scalar {
        let mut bytes = self.k.to_bytes();
        let k = cx.scalar(&bytes);
        bytes.zeroize();
        k
    }

    /// Returns gamma, most significant byte first.
    pub(super) fn gamma(&self, cx: &mut Context<'_>) -> Vec<u8> {
        cx.multiply_integer(&self.product, &self.a).minus(&self.k).to_bytes()
    }

    /// Returns the bytes of this many members' primes and of all numbers that make up gamma.
    pub(super) fn key_bytes(&self, suite: Suite, members: usize) -> usize {
        let numbers = [&self.product, &self.a, &self.k].map(Integer::stored_bytes);
        members * Prime::length(suite) + numbers.iter().sum::<usize>()
    }

    /// Returns the bytes of gamma.
    pub(super) fn gamma_bytes(&self) -> usize {
        self.product.stored_bytes() + self.a.stored_bytes()
    }

    /// Redraws a and k. The prime of an evicted member must not be a factor of a.
    fn renew(&mut self, cx: &mut Context<'_>, without: Option<u32>) {
        let bits = Prime::bits(cx.suite());
        let without = without.map(|slot| &self.primes[slot as usize]);
        self.a = loop {
            let a = cx.random_integer(bits);
            if !without.is_some_and(|prime| a.is_multiple_of(prime)) {
                break a;
            }
        };
        self.k = cx.random_integer(k_bits(cx.suite()));
    }
}

/// Returns the exponent k that a member finds in gamma.
pub(super) fn open(
    cx: &mut Context<'_>,
    gamma: &[u8],
    prime: &Prime,
    capacity: u32,
) -> Result<Scalar, Error> {
    // A number has only one encoding. It is not longer than gamma of the largest group.
    let longest = (capacity as usize + 1) * Prime::length(cx.suite());
    if gamma.first().is_none_or(|&byte| byte == 0) || gamma.len() > longest {
        return Err(Misbehaviour::Malformed.into());
    }
    let k = cx.short_of_multiple(&Integer::from_bytes(gamma), prime);
    if !(1..=k_bits(cx.suite()) as usize).contains(&k.bits()) {
        return Err(Misbehaviour::WrongKey.into());
    }
    let mut bytes = k.to_bytes();
    let exponent = cx.scalar(&bytes);
    bytes.zeroize();
    Ok(exponent)
}

/// Returns the length of k in bits. k is less than every prime, because it is shorter.
const fn k_bits(suite: Suite) -> u32 {
    Prime::bits(suite) - 1
}

/// Returns the seed under the mask of each slot, in the order of the slots. Slots without a current
/// member have zeros, which reveal nothing.
pub(super) fn mask_all(
    cx: &mut Context<'_>,
    roster: &SlotRoster,
    confirmation: &Key,
    seed: &Key,
) -> Vec<u8> {
    let mut entries = alloc::vec![0; roster.slots() * Key::BYTES];
    for slot in roster.current_slots() {
        let masked = mask(cx, roster.key(slot), confirmation, seed);
        entries[slot as usize * Key::BYTES..][..Key::BYTES].copy_from_slice(masked.as_bytes());
    }
    entries
}

/// Puts a member's mask on the seed, or removes it. The mask depends on the confirmation, which follows
/// from the seed and the epoch. So two seeds of one epoch, as a copy of a controller draws them, have
/// two masks.
pub(super) fn mask(cx: &mut Context<'_>, individual: &Key, confirmation: &Key, seed: &Key) -> Key {
    let mask = cx.derive(individual, "groupkey nishat mask", confirmation.as_bytes());
    cx.xor(seed, &mask)
}

/// Returns the seed, from the masked seeds of all slots.
pub(super) fn unmask_own(
    cx: &mut Context<'_>,
    individual: &Key,
    confirmation: &Key,
    entries: &[u8],
    slot: u32,
    capacity: u32,
) -> Result<Key, Error> {
    let (entries, rest) = entries.as_chunks::<{ Key::BYTES }>();
    if !rest.is_empty() || entries.len() > capacity as usize {
        return Err(Misbehaviour::Malformed.into());
    }
    let own = entries.get(slot as usize).ok_or(Misbehaviour::NothingForUs)?;
    Ok(mask(cx, individual, confirmation, &Key::from_bytes(*own)))
}

pub(super) fn seeded_exponent(cx: &mut Context<'_>, seed: &Key) -> Scalar {
    cx.scalar_from_key(seed, "groupkey nishat k")
}
