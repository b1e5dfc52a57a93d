//! Nishat, group-oriented encryption: all members share one encryption key pair, which one
//! broadcast replaces. The public key and ciphertexts have a constant size; the broadcast does not.
//! **As published, an evicted member and a joining member get the keys from which they are
//! excluded.**
//!
//! Source: Nishat et al., "Group-oriented encryption for dynamic groups with constant rekeying
//! cost", Security and Communication Networks 9(17), 2016, as revised in S004. Class: centralized.
//! Provenance: reconstructed: equations 1 to 12 of S004 with their errors corrected (see below).
//! The group key and the messages are ours, and so is the repair in the profile `sound`.
//!
//! gamma = a r_1 ... r_n - k over the integers hides k. A member gets k from gamma with its prime
//! r_i. k opens the encryption (`nishat/encryption.rs`). The controller encrypts a random element
//! to the group, and the group key is derived from that element.
//!
//! | operation | messages | controller, `published` | controller, `sound` | member |
//! |---|---|---|---|---|
//! | enrol, each | 2 confidential | 1 prime, 4 fixed-base powers and 1 product in G1 | the same without the prime | 6 elements of G1, 1 of G2 checked |
//! | create, n members | 1 broadcast | 1 product of n primes, E | n derivations, E | D |
//! | add | 1 broadcast | 1 product of integers, E | n + 1 derivations, E | D |
//! | remove | 1 broadcast | 1 exact division, E | n - 1 derivations, E | D |
//! | rekey, n members | 1 broadcast | E | n derivations, E | D |
//! | catch up | 1 request, 1 unicast | 1 product of integers | 2 derivations | D |
//!
//! E: 4 powers and 1 product in G2, and 128 products in GT: a power of e(g, g) by a table (2 powers
//! of 80 products each where c1 is sent). The first enrolment makes the table by 1 pairing and 208
//! products (136). In `published` E also has one product of integers, which is gamma; in `sound` it
//! has 4 derivations instead of one. D: 3 powers and 4 products in G1, 1 inversion, 2 Miller loops,
//! 1 final exponentiation, 4 elements of G2 checked. In `published` D also has 1 division of gamma
//! with remainder and 1 derivation, in `sound` 5 derivations.
//!
//! Held: the controller holds alpha, beta, eta, and n primes, their product, a and k (`published`),
//! or n individual keys (`sound`). A member holds 8 elements of G1, 3 of G2, and its prime or
//! individual key. While it takes a broadcast, it also holds gamma or the lock.
//!
//! Bodies. `published`: `gamma, PK, c`. `sound`: `lock, PK, c, confirmation`, where the lock is the
//! seed of k under a mask for each slot. In the answer to a request, the lock is the seed under the
//! member's mask. PK and c are elements one after the other. Secret keys come in an enrolment
//! message of their own: `s1 .. s6, h` and, in `published`, the prime.
//!
//! What breaks `published`: gamma' / (gamma + k) is a' / (a r_R), except for an error far smaller
//! than the recovery of such a fraction needs. An evicted member finds the fraction by continued
//! fractions, then the product of the others' primes, then k'. A joining member finds the k of the
//! epoch before its join in the same way, if there are at least four other members. The greatest
//! common divisors of gamma + k in three epochs are another member's prime. The tests do all this.
//! We know of no publication that says so; S003 and S004 claim forward and backward secrecy.
//!
//! The repair is ours. k follows from a random seed. For each member, the lock has the seed under a
//! mask derived from the member's individual key and the confirmation. An evicted or joining member has
//! individual keys and seeds of other epochs. In an epoch in which it is not a member, it cannot
//! tell the mask of any entry from a random one. This holds whatever masks of other epochs or
//! members it knows, so it learns nothing of the seed. The group key is derived from the seed
//! **and** the element that the ciphertext carries: it is secure even if the encryption is not. A
//! lock of residues (Chinese remainders) would hide the seed in a number again, and cost a product
//! tree at every change.
//!
//! Deviations. S004's equations: 7 and 9 divide integers exactly, not modulo p; a and k are
//! replaced at each change; 8 and 10 give the new PK; k is not zero. Primes have one length, one
//! bit less than the order. k is shorter, so that it is below all of them. Nothing but chance keeps
//! two primes from being equal. The group is of type 3 except in the suite `published`. With type
//! 3, c1 is left out. h is a power of a generator, with an exponent that the controller knows. The
//! controller keeps the product of the primes instead of gamma. In `sound` r is a random scalar and
//! not a prime, because nothing is locked with it.
//!
//! `groupkey bench --scheme nishat --profile published` gives S004's sizes: PK 2,048 bits, a
//! ciphertext 3,072, 159 bits of gamma a member. S004 counts 6,302 ± 2 bits for the secret key, ζ1
//! and ζ2; here they are eight elements, and r.

mod encryption;
mod lock;
mod member;
mod messages;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use zeroize::Zeroize;

use self::encryption::MasterKey;
use self::lock::{PrimeLock, mask, mask_all, seeded_exponent};
pub(crate) use self::member::Member;
use self::messages::{CAPACITY, GAMMA, LOCK, REQUEST, SECRET_KEY, confirmation, group_key};
use crate::context::Context;
use crate::crypto::Suite;
use crate::error::{Error, Unsupported};
use crate::identity::MemberId;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::outbox::Recipient;
use crate::party::{Footprint, Operation};
use crate::saved_state::{PartyState, Saved, SavedState, require};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Assumption, Claims, Configuration, Parties, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Reader;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "nishat",
    "Nishat, group-oriented encryption",
    Provenance::Reconstructed,
    "Nishat et al. 2016, revised in S004",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration)),
        member: |configuration, _| Box::new(Member::new(configuration)),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_assumption(Assumption::Pairing)
.with_claims(Claims::ALL)
.with_published_claims(Claims::NONE)
.with_parameters(&[CAPACITY])
.with_members((2, CAPACITY.range.1))
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    capacity: u32,
    group: ServedGroup,
    /// Drawn with the first enrolment, and the suite with it.
    master: Option<MasterKey>,
    suite: Option<Suite>,
    lock: Lock,
    /// The public key and, below, the ciphertext that the last broadcast carried beside the lock.
    public_key: Vec<u8>,
    ciphertext: Vec<u8>,
}

/// How the controller hands out k.
#[derive(Debug)]
enum Lock {
    /// Under a mask for each member: the repaired form.
    Masks(Key),
    /// Behind the product of the members' primes: the published form.
    Primes(PrimeLock),
}

impl PartyState for Controller {
    fn save_state(&self, state: &mut SavedState) {
        self.group.save_state(state);
        self.suite.save(state);
        if let Some(master) = &self.master {
            master.save(state);
        }
        match &self.lock {
            Lock::Masks(seed) => seed.save(state),
            Lock::Primes(lock) => lock.save(state),
        }
        self.public_key.save(state);
        self.ciphertext.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        self.group.restore_state(state)?;
        self.suite = Saved::restore(state)?;
        if let Some(suite) = self.suite {
            self.master = Some(MasterKey::restore(state, suite)?);
        }
        let (roster, created) = (&self.group.roster, self.group.group_key().is_some());
        require(self.master.is_some() || roster.slots() == 0)?;
        match &mut self.lock {
            Lock::Masks(seed) => *seed = Saved::restore(state)?,
            Lock::Primes(lock) => lock.restore(state, roster, created)?,
        }
        self.public_key = Saved::restore(state)?;
        self.ciphertext = Saved::restore(state)?;
        Ok(())
    }
}

/// Number of secret keys that are made together. They share an inversion in the field.
const BATCH: usize = 64;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(configuration: &Configuration) -> Self {
        let (group, lock) = if configuration.profile().is_published() {
            // Nothing is ever sent under an individual key.
            (ServedGroup::with_derived_keys(), Lock::Primes(PrimeLock::default()))
        } else {
            (ServedGroup::default(), Lock::Masks(Key::default()))
        };
        Self {
            capacity: configuration.value(&CAPACITY),
            group,
            master: None,
            lock,
            public_key: Vec::new(),
            ciphertext: Vec::new(),
            suite: None,
        }
    }

    fn send_secret_keys(&mut self, cx: &mut Context<'_>, slots: &[u32]) {
        let mut exponents = Vec::with_capacity(slots.len());
        for &slot in slots {
            exponents.push(match &mut self.lock {
                Lock::Masks(_) => cx.random_scalar(),
                Lock::Primes(lock) => lock.assign(cx, slot),
            });
        }
        let suite = *self.suite.get_or_insert_with(|| cx.suite());
        let master = self.master.get_or_insert_with(|| MasterKey::new(cx));
        let mut keys = master.secret_keys(cx, &exponents);
        for (&slot, elements) in slots.iter().zip(&mut keys) {
            let to = Recipient::Member(self.group.roster.member(slot));
            let epoch = self.group.epoch;
            let mut draft = cx.confidential_draft(to, epoch, Operation::Enroll, SECRET_KEY);
            draft.g1s(&*elements).g2(&master.h);
            if let Lock::Primes(lock) = &self.lock {
                draft.bytes(lock.prime(slot).encoded(suite));
            }
            draft.send();
            elements.iter_mut().for_each(Zeroize::zeroize);
        }
    }

    /// Makes the keys that go with the changed lock, and broadcasts the lock and the keys.
    fn renew(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let Some(master) = &self.master else { return };
        let epoch = self.group.epoch.next();
        let k = match &mut self.lock {
            Lock::Masks(seed) => {
                *seed = cx.random_key();
                seeded_exponent(cx, seed)
            }
            Lock::Primes(lock) => lock.exponent(cx),
        };
        let public_key = master.public_key(cx, &k);
        let (element, ciphertext) = master.encrypt(cx, &k, &public_key);
        self.public_key = public_key.encode();
        self.ciphertext = ciphertext;
        let group_key = group_key(cx, epoch, element, self.lock.seed());
        self.group.enter_next(cx, group_key);
        self.send(cx, None, operation);
    }

    /// Sends lock and keys to the member in a slot, or to all.
    fn send(&self, cx: &mut Context<'_>, slot: Option<u32>, operation: Operation) {
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        let roster = &self.group.roster;
        let to = slot.map_or(Recipient::Group, |slot| Recipient::Member(roster.member(slot)));
        match &self.lock {
            Lock::Masks(seed) => {
                let confirmation = confirmation(cx, epoch, group_key);
                let lock = match slot {
                    Some(slot) => {
                        mask(cx, roster.key(slot), &confirmation, seed).as_bytes().to_vec()
                    }
                    None => mask_all(cx, roster, &confirmation, seed),
                };
                cx.draft(to, epoch, operation, LOCK)
                    .bytes(&lock)
                    .bytes(&self.public_key)
                    .bytes(&self.ciphertext)
                    .bytes(confirmation.as_bytes())
                    .send();
            }
            Lock::Primes(lock) => {
                let gamma = lock.gamma(cx);
                cx.draft(to, epoch, operation, GAMMA)
                    .bytes(&gamma)
                    .bytes(&self.public_key)
                    .bytes(&self.ciphertext)
                    .send();
            }
        }
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let ServedGroup { roster, epoch, .. } = &mut self.group;
        if roster.enrolled() + members.len() > self.capacity as usize {
            return Err(Unsupported::TooManyMembers { limit: self.capacity }.into());
        }
        roster.enroll(cx, *epoch, members)?;
        if let Lock::Primes(lock) = &mut self.lock {
            lock.reserve(roster.slots());
        }
        for members in members.chunks(BATCH) {
            let slots = members.iter().filter_map(|&id| self.group.roster.enrolled_slot(id));
            let slots: Vec<_> = slots.collect();
            self.send_secret_keys(cx, &slots);
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        if let Lock::Primes(lock) = &mut self.lock {
            lock.create(cx, self.group.roster.current_slots());
        }
        self.renew(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        if let Lock::Primes(lock) = &mut self.lock {
            lock.add(cx, slot);
        }
        self.renew(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        if let Lock::Primes(lock) = &mut self.lock {
            lock.remove(cx, slot);
        }
        self.renew(cx, Operation::Remove);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.renew(cx, Operation::Rekey);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send(cx, Some(slot), Operation::CatchUp);
    }

    fn held(&self) -> Footprint {
        let roster = &self.group.roster;
        let (of_lock, temporary) = match &self.lock {
            Lock::Masks(_) => (Key::BYTES, roster.slots() * Key::BYTES),
            Lock::Primes(lock) => {
                let of_primes = |suite| lock.key_bytes(suite, roster.enrolled());
                (self.suite.map_or(0, of_primes), lock.gamma_bytes())
            }
        };
        let of_master = self.suite.map_or(0, MasterKey::key_bytes);
        Footprint { permanent: self.group.key_bytes() + of_lock + of_master, temporary }
    }
}

impl Lock {
    fn seed(&self) -> Option<&Key> {
        match self {
            Self::Masks(seed) => Some(seed),
            Self::Primes(_) => None,
        }
    }
}
