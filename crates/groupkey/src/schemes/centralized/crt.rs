//! CRT, group keys by Chinese remainders: one broadcast number has, modulo the number of each member,
//! the group key under that member's mask. **As published, an evicted member and a joining member
//! compute every key.**
//!
//! Source: Zheng, Huang and Matthews, "Chinese remainder theorem based group key management", ACM
//! Southeast 2007: the protocol CRGK. Its idea is the lock of Chiou and Chen, IEEE Transactions on
//! Software Engineering 15(8), 1989. Class: centralized. Provenance: reconstructed: only abstracts
//! could be read. They say what a member computes, a remainder and a XOR, and how much the controller
//! does; moduli, messages and the repair are ours.
//!
//! A member has a key `k_i` and a modulus `m_i`. The lock is the smallest `X` with `X = r_i mod m_i`
//! for all members. In `published` `r_i` is the group key XOR `k_i`. In `sound` it is the group key
//! XOR a mask derived from `k_i` and the confirmation. A member takes the remainder and the mask off.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol, each | 2 confidential | 0 | 0 |
//! | create, n members | 1 broadcast of 16n bytes | n inverses, 2n long divisions and products | 1 long division |
//! | add, to n members | 1 broadcast of 16n + 16 bytes | the same for n + 1 | 1 long division |
//! | remove, from n members | 1 broadcast of 16n - 16 bytes | the same for n - 1 | 1 long division |
//! | rekey, n members | 1 broadcast of 16n bytes | the same for n | 1 long division |
//! | catch up | 1 request, 1 unicast of a masked key | 0 | 0 |
//!
//! In `sound` the controller also computes a hash for each member and a derivation, a member a hash
//! and a derivation; both do so when the member catches up, too. A long division is of a number of 16
//! bytes for each member before this one, so a change takes time that grows as n². An inverse is
//! counted as one of a pairing's scalars, which is longer by half.
//!
//! Keys held: controller n + 1, member 2. While a lock is made the controller also holds `X` and the
//! product of the moduli, 16 bytes a member each; while it takes one, a member holds `X`. Nothing in
//! these is secret.
//!
//! ```text
//! MODULUS, confidential:  2^128 - m_i, the second message of an enrolment
//! LOCK,    to all:        X, [confirmation]
//! REQUEST, to the controller
//! KEY,     to a member:   the group key under its mask, [confirmation]
//! ```
//!
//! The confirmation, 16 bytes that follow from group key and epoch, is in `sound` only.
//!
//! What breaks `published`: who knows one group key and the lock that carried it has `k_j = (X mod
//! m_j) XOR K` of **every** member, and with it every group key that any of them ever got or gets. An
//! evicted member reads on, a newcomer reads back, and a single key that leaks gives all. The audit
//! does it with a remainder and a XOR. We know of no publication that says so. It counts on public
//! moduli; the abstract does not say whether the source keeps them secret.
//!
//! The repair is ours: masks that depend on the confirmation, and so on the key, are those of one
//! epoch. It repairs the secrecy and not the scheme: residues are public anyway, so the same masked
//! keys beside each other say the same in as many bytes, and cost no arithmetic.
//!
//! Deviations: moduli are 2^128 less a small number, the same for a slot at all times, without a
//! common divisor because no small prime divides them (`crypto/residues.rs`). A masked key is not
//! below its modulus once in 2^111 times; that member is then refused its key and catches up. The fast
//! protocol of the source, which keeps coefficients between changes, is not implemented: it computes
//! the same lock. A member that missed changes asks.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::residues::{Modulus, RESIDUE_BYTES};
use crate::error::{Error, Misbehaviour, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme::new(
    "crt",
    "CRT, group keys by Chinese remainders",
    Provenance::Reconstructed,
    "Zheng, Huang and Matthews 2007; Chiou and Chen 1989",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration.profile())),
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(Claims::NONE)
.with_members((2, CAPACITY))
.with_growth(&[
    Growth::of(Role::Controller, Form::Quadratic, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
]);

/// The controller.
#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    group: ServedGroup,
}

state!(Controller { group });

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    membership: ServedMembership,
    modulus: Option<Modulus>,
    /// Bytes of the last lock.
    temporary: usize,
}

/// Most members of a group: each must have room for a lock of 64 KB.
const CAPACITY: u32 = 4096;

const LOCK: u8 = 0;
const REQUEST: u8 = 1;
const KEY: u8 = 2;

/// In the deployment phase: carries the modulus.
const MODULUS: u8 = 1;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, group: ServedGroup::default() }
    }

    /// Draws a group key and broadcasts it in a lock.
    fn change(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        let confirmation = Confirmation::of(cx, self.profile, epoch, group_key);
        let roster = &self.group.roster;
        let moduli = Modulus::first(roster.slots());
        let residues: Vec<_> = roster
            .current_slots()
            .filter_map(|slot| {
                let modulus = moduli.get(slot as usize)?;
                let masked = mask(cx, roster.key(slot), &confirmation, group_key);
                Some((*modulus, *masked.as_bytes()))
            })
            .collect();
        let lock = cx.lock_residues(&residues);
        let mut draft = cx.draft(Recipient::Group, epoch, operation, LOCK);
        confirmation.write(draft.bytes(&lock));
        draft.send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn limit(&self) -> Option<u32> {
        Some(CAPACITY)
    }

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let ServedGroup { roster, epoch, .. } = &mut self.group;
        if roster.enrolled() + members.len() > CAPACITY as usize {
            return Err(Unsupported::TooManyMembers { limit: CAPACITY }.into());
        }
        roster.enroll(cx, *epoch, members)?;
        let moduli = Modulus::first(roster.slots());
        for &member in members {
            let slot = roster.enrolled_slot(member);
            let Some(modulus) = slot.and_then(|slot| moduli.get(slot as usize)) else { continue };
            let to = Recipient::Member(member);
            let mut draft = cx.confidential_draft(to, *epoch, Operation::Enroll, MODULUS);
            draft.number(u64::from(modulus.distance())).send();
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.change(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.change(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.change(cx, Operation::Remove);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.change(cx, Operation::Rekey);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        let roster = &self.group.roster;
        let confirmation = Confirmation::of(cx, self.profile, epoch, group_key);
        let masked = mask(cx, roster.key(slot), &confirmation, group_key);
        let to = Recipient::Member(roster.member(slot));
        let mut draft = cx.draft(to, epoch, Operation::CatchUp, KEY);
        confirmation.write(draft.bytes(masked.as_bytes()));
        draft.send();
    }

    fn held(&self) -> Footprint {
        let lock = 2 * self.group.roster.len() * RESIDUE_BYTES;
        Footprint { permanent: self.group.key_bytes(), temporary: lock }
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, membership: ServedMembership::default(), modulus: None, temporary: 0 }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        if (header.operation, header.kind) == (Operation::Enroll, MODULUS) {
            return self.take_modulus(message);
        }
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        match (header.operation, header.kind) {
            (Operation::CatchUp, KEY) => {}
            (Operation::CatchUp, _) => return Err(Misbehaviour::UnexpectedMessage.into()),
            (_, LOCK) => {}
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        self.membership.admit(message)?;
        let modulus = self.modulus.ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let bytes = body.bytes()?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        let masked = match header.kind {
            KEY => Key::from_bytes(bytes.try_into().map_err(|_| Misbehaviour::Malformed)?),
            _ => {
                let limbs = bytes.len() / RESIDUE_BYTES;
                let fits = bytes.len() % RESIDUE_BYTES == 0 && limbs <= CAPACITY as usize;
                if limbs == 0 || !fits {
                    return Err(Misbehaviour::Malformed.into());
                }
                cx.masked_residue(bytes, modulus)
            }
        };
        let group_key = mask(cx, &self.membership.enrolment()?.key, &confirmation, &masked);
        confirmation.verify(cx, self.profile, header.epoch, &group_key)?;
        self.temporary = bytes.len();
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }

    fn take_modulus(&mut self, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        if self.modulus.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let distance = body.number()?;
        body.finish()?;
        self.modulus = Some(Modulus::at_distance(distance).ok_or(Misbehaviour::Malformed)?);
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.membership.key_bytes(), temporary: self.temporary }
    }
}

/// Puts a member's mask on the group key, or takes it off. In `published` the mask is the individual
/// key itself, in every epoch.
fn mask(cx: &mut Context<'_>, individual: &Key, confirmation: &Confirmation, key: &Key) -> Key {
    match confirmation.bytes() {
        Some(confirmed) => {
            let mask = cx.hash_with(individual, "groupkey crt mask", confirmed);
            cx.xor(key, &mask)
        }
        None => cx.xor(key, individual),
    }
}
