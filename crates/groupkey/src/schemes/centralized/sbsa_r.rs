//! SBSA-R, a stand-in for SBSA: a star whose controller stores no individual keys, and masks the
//! group key for each member instead of wrapping it.
//!
//! Source: none. S002 measures a scheme SBSA, which could not be identified; this is one of ours
//! with the same profile of costs. Class: centralized. Provenance: stand-in. What S002 section 5.1
//! says of SBSA, and how it is met here:
//!
//! - C1, it is centralized and can create, add and remove: so it is, and does.
//! - C2, the controller's add and remove are the third slowest, so linear in n: a derivation and
//!   two hashes a member.
//! - C3, the controller stores a constant amount below 0.1 MB: two keys.
//! - C4, a member stores less than 0.5 KB and is not among the three slowest: two keys, two
//!   hashes.
//! - C5, creation is not among the three slowest: it costs what an add costs.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 masked key | n derivations, 2n hashes | 2 hashes |
//! | add, to n members | n + 1 unicasts | n + 1 derivations, 2n + 2 hashes | 2 hashes |
//! | remove, from n members | n - 1 unicasts | n - 1 derivations, 2n - 2 hashes | 2 hashes |
//! | catch up | 1 request, 1 unicast | 1 derivation, 2 hashes | 2 hashes |
//!
//! In `published` one confirmation is for all: a hash for each member, and one more.
//!
//! Keys held: controller 2, the master key and the group key; member 2. Individual keys are
//! derived from the master key (`individual_keys.rs`).
//!
//! Profiles: in `published` one confirmation, derived from the group key, goes to everybody; in
//! `sound` each member's entry is confirmed under its individual key (`masking.rs`).
//!
//! Body of a rekey message: `group key' XOR mask, confirmation`.
//!
//! What breaks it: in `published` a member alters another's entry into one for a key of its
//! choice, and confirms it; nobody else holds that key. The tests show it. In `sound` that is
//! refused.
//!
//! Deviations: there is nothing to deviate from. Entries are unicasts, not one broadcast: a
//! broadcast for 55,000 members would have 1.1 MB, and every member would need room for all of it.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::{KeyServer, Membership, ServedGroup};
use crate::mechanisms::masking::{ENTRY, ENTRY_BYTES, Masking};
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Law, MEMBERS, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    id: "sbsa-r",
    name: "SBSA-R, stand-in for SBSA: a star that masks",
    provenance: Provenance::StandIn,
    source: "none: costs as S002 section 5.1 reports of SBSA",
    operations: &Operation::MEASURED,
    law: Law::OneKey,
    recovery: Recovery::Request,
    claims: Claims::ALL,
    published_claims: Claims::ALL,
    parameters: &[],
    members: MEMBERS,
    growth: &[
        Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
    ],
    parties: Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration.profile())),
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
};

/// The controller.
#[derive(Debug)]
pub struct Controller {
    masking: Masking,
    group: ServedGroup,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    masking: Masking,
    membership: Membership,
}

/// Asks for the current group key; `masking` has the other kind.
const REQUEST: u8 = 1;

/// A mask is one hash.
const ITERATIONS: u32 = 1;

/// While a key is masked, the individual key and the mask; while it is taken, the mask and the
/// key.
const TEMPORARY: usize = 2 * Key::BYTES;

impl Controller {
    /// A controller without members.
    pub fn new(profile: Profile) -> Self {
        let masking = Masking::new(profile, ITERATIONS);
        Self { masking, group: ServedGroup::with_derived_keys() }
    }

    fn rekey(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        cx.reserve(self.group.roster.len(), ENTRY_BYTES);
        self.send(cx, operation, self.group.roster.current_slots());
    }

    fn send(
        &self,
        cx: &mut Context<'_>,
        operation: Operation,
        slots: impl IntoIterator<Item = u32>,
    ) {
        let Some((_, group_key)) = self.group.group_key() else { return };
        self.masking.send(cx, &self.group, operation, slots, group_key);
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

    fn create(&mut self, cx: &mut Context<'_>) {
        self.rekey(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.rekey(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.rekey(cx, Operation::Remove);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send(cx, Operation::CatchUp, [slot]);
    }

    fn held(&self) -> Footprint {
        Footprint { permanent: self.group.key_bytes(), temporary: TEMPORARY }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new(profile: Profile) -> Self {
        let masking = Masking::new(profile, ITERATIONS);
        Self { masking, membership: Membership::default() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        if header.kind != ENTRY {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.membership.admit(message)?;
        let individual = &self.membership.enrolment()?.key;
        let group_key = self.masking.receive(cx, individual, header.epoch, message.body())?;
        self.membership.enter(cx, header.epoch, group_key);
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
        Footprint { permanent: self.membership.key_bytes(), temporary: TEMPORARY }
    }
}

#[cfg(test)]
mod tests;
