//! Berkovits, group keys by secret sharing: each member has a point, the group key is the value at
//! zero of the polynomial through all of them, and other points of it are broadcast. **As
//! published, two broadcasts give every key to anybody who hears them.**
//!
//! Source: Berkovits, "How to broadcast a secret", EUROCRYPT 1991. Class: centralized. Provenance:
//! reconstructed: the paper was not at hand, and the protocol is made from descriptions of it.
//! Field, places, messages and the repair are ours.
//!
//! The field is that of the integers modulo 2^128 - 159. A member in slot i has the share `(i + 1,
//! y_i)`. P is the polynomial of the lowest degree through `(0, group key)` and the shares of the
//! n members. The controller broadcasts P(-1) to P(-n). With its own share a member has n + 1
//! points of P, as many as it takes. In `published` y_i is the individual key itself. In `sound`
//! it is a hash of it and the confirmation, and so a share of one group key.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast of 16n bytes | 1 inverse, 3n long products | 1 inverse, 8 long products |
//! | add, to n members | 1 broadcast of 16n + 16 bytes | the same for n + 1 | the same |
//! | remove, from n members | 1 broadcast of 16n - 16 bytes | the same for n - 1 | the same |
//! | rekey, n members | 1 broadcast of 16n bytes | the same for n | the same |
//! | catch up | 1 request, 1 unicast of a wrapped key | 1 wrap | 1 unwrap |
//!
//! A long product is one of n numbers of 16 bytes by numbers of 16 bytes, modulo the prime: the
//! controller's work grows as n². It also makes a table, by 3 products of the numbers up to n and
//! the highest slot together. An inverse is counted as one of a pairing's scalars, which is
//! longer. In `sound` the controller also computes a hash for each member and a derivation, a
//! member a hash and a derivation; an answer to a request has no confirmation.
//!
//! Keys held: controller n + 1, member 2. While it shares a key, the controller also holds n
//! shares and n + 1 values made of them. A member holds its share and the points, which are not
//! secret.
//!
//! ```text
//! POINTS,  to all:         P(-1) .. P(-n), 16 bytes each, [confirmation]
//! REQUEST, to the controller
//! KEY,     to a member:    {group key}_individual
//! ```
//!
//! The confirmation, 16 bytes that follow from group key and epoch, is in `sound` only.
//!
//! What breaks `published`: shares are used again. A member that has P has every other member's
//! share `P(i + 1)`, and with one of these all earlier and later keys, as long as that member is
//! there. It takes not even that. Every broadcast has n linear equations of n + 1 unknowns, the
//! shares and the key. Two broadcasts to groups of different sizes have the same shares in them.
//! Two members that are in both are enough: four equations between the two keys and their two
//! shares. So whoever heard both computes all of it. The audit does all three. We know of no
//! publication that says so.
//!
//! The repair is ours: in `sound` a broadcast has n equations of n + 1 unknowns that occur nowhere
//! else. Each value of the key goes with some shares, so they say nothing about it. An answer to a
//! request must not have another equation with these shares in it: it is a wrap. As with `crt`,
//! the points say in as many bytes what masked keys say, and cost more.
//!
//! Deviations: public places are negative, so that they never meet a member's. The source also
//! hides how many members there are, with shares that belong to nobody. It splits the members of a
//! large system into classes, which is left out. A member that missed changes asks.

use alloc::boxed::Box;

use crate::context::Context;
use crate::crypto::polynomial::VALUE_BYTES;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme::new(
    "berkovits",
    "Berkovits, group keys by secret sharing",
    Provenance::Reconstructed,
    "Berkovits 1991",
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
    /// Bytes of the last points.
    temporary: usize,
}

/// Most members of a group: each must have room for points of 64 KB, and the controller takes
/// about a second for them.
const CAPACITY: u32 = 4096;

const POINTS: u8 = 0;
const REQUEST: u8 = 1;
const KEY: u8 = 2;

/// The label of the wrap in an answer.
const ANSWER: u64 = 0;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, group: ServedGroup::default() }
    }

    /// Draws a group key and broadcasts points of the polynomial that has it at zero.
    fn change(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_value();
        self.group.enter_next(cx, group_key);
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        let confirmation = Confirmation::of(cx, self.profile, epoch, group_key);
        let roster = &self.group.roster;
        let mut shares = List::with_capacity(roster.len());
        for slot in roster.current_slots() {
            shares.push((place(slot), share(cx, roster.key(slot), &confirmation)));
        }
        let points = cx.points_through(group_key, &shares);
        let mut draft = cx.draft(Recipient::Group, epoch, operation, POINTS);
        confirmation.write(draft.bytes(&points));
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
        cx.draft(Recipient::Member(roster.member(slot)), epoch, Operation::CatchUp, KEY)
            .wrapped(roster.key(slot), epoch, ANSWER, [group_key])
            .send();
    }

    fn held(&self) -> Footprint {
        let shares = (2 * self.group.roster.len() + 1) * Key::BYTES;
        Footprint { permanent: self.group.key_bytes(), temporary: shares }
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, membership: ServedMembership::default(), temporary: 0 }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        let is_answer = match (header.operation, header.kind) {
            (Operation::CatchUp, KEY) => true,
            (Operation::CatchUp, _) => return Err(Misbehaviour::UnexpectedMessage.into()),
            (_, POINTS) => false,
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        self.membership.admit(message)?;
        let enrolment = self.membership.enrolment()?;
        let (epoch, mut body) = (header.epoch, message.body());
        let bytes = body.bytes()?;
        let (group_key, temporary) = if is_answer {
            body.finish()?;
            (cx.unwrap_key(&enrolment.key, epoch, ANSWER, bytes)?, Key::BYTES)
        } else {
            let confirmation = Confirmation::read(self.profile, &mut body)?;
            body.finish()?;
            require_points(bytes)?;
            let share = share(cx, &enrolment.key, &confirmation);
            let group_key = cx.value_at_zero(bytes, place(enrolment.slot), &share);
            confirmation.verify(cx, self.profile, epoch, &group_key)?;
            (group_key, bytes.len() + Key::BYTES)
        };
        self.temporary = temporary;
        self.membership.enter(cx, epoch, group_key);
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

/// Where a member's share lies. The group key lies at zero.
const fn place(slot: u32) -> u32 {
    slot.saturating_add(1)
}

/// The share of the member with this individual key. In `published` it is the individual key
/// itself, in every epoch.
fn share(cx: &mut Context<'_>, individual: &Key, confirmation: &Confirmation) -> Key {
    match confirmation.bytes() {
        Some(confirmed) => cx.hash_with(individual, "groupkey berkovits", confirmed),
        None => individual.clone(),
    }
}

/// Refuses what is not a whole number of points, of one member at least and of a full group at
/// most.
const fn require_points(bytes: &[u8]) -> Result<(), Error> {
    let count = bytes.len() / VALUE_BYTES;
    let fits = bytes.len().is_multiple_of(VALUE_BYTES) && count >= 1 && count <= CAPACITY as usize;
    if fits { Ok(()) } else { Err(Error::Misbehaved(Misbehaviour::Malformed)) }
}
