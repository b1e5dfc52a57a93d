//! RiSeG, ring based secure group communication: the members of a subgroup form a ring that
//! begins and ends at their controller, and a new group key goes round, from neighbour to
//! neighbour. A change costs the subgroup's controller one message, however many they are. **A
//! sleeping member holds up those behind it, and a change takes as many hops as there are
//! members.**
//!
//! Source: Cheikhrouhou, Koubaa, Dini, Abid, "RiSeG: a ring based secure group communication
//! protocol for resource-constrained wireless sensor networks", Personal and Ubiquitous Computing
//! 15(8), 2011; how it was measured: S002. Class: hybrid. Provenance: reconstructed: from the
//! abstract; keys and messages are ours.
//!
//! S subgroups with members; n members, m of them in the subgroup in which one joins (after it
//! did) or leaves (before it does), r in any other:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 3m - 2 keys | the same | 1 unwrap |
//! | add | 2S + n unicasts | S wraps | 2 wraps of 5 keys, m + 1 derivations | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | remove | 2S + n - 1 unicasts | S wraps | at most 3 wraps of 8 keys, m derivations | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | rekey | 2S + n unicasts | S wraps | | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | catch up | 1 request, 1 unicast, 1 for each that was held up, 1 to confirm | | 1 wrap, derivations | | 1 unwrap, 1 wrap, 2 derivations |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 3m - 2 keys | | 1 unwrap |
//!
//! Resume: the subgroup's controller missed changes and comes back (`resumption.rs`), with m members.
//!
//! S is the number of subgroups that have members after the change. A subgroup controller opens
//! one wrapped key more. For each key that it wraps there is a hash, and a member computes one if it
//! is sent a place; an add of the first member takes 1 wrap of 1 key. The last member of a ring
//! wraps nothing. A member that catches up hands on to those it held up, one unicast for each;
//! whoever also missed that somebody came or went in its own subgroup asks for itself, 2 unicasts
//! more.
//!
//! Keys held: controller S + 1; subgroup controller m + 2; member 4, the first and the last 3.
//! S002 counts 2 bytes for each member at the controller, a list of node addresses that makes the
//! ring; here the ring is kept by the subgroups' controllers, 4 bytes for each, which are not keys
//! and not counted.
//!
//! Profiles: `published`: the last member confirms with the group key under its individual key, 1
//! unwrap and no derivation at the subgroup's controller, 1 wrap and none at the member. `sound`:
//! each member adds a tag of the key that it saw, by XOR, and the last sends the sum back; the
//! subgroup's controller makes the sum itself and refuses any other.
//!
//! A newcomer comes first and gets its place from the subgroup's controller. When a member leaves,
//! envelopes go to those who were before and behind it.
//!
//! Bodies: `relay` has letters and tokens; `sound`: a token also has who began with the tags, and
//! their sum. Confirmation: `{GK'}_individual`, or `who began, sum`. From the controller, after
//! the list of members that `domain` describes: `{GK'}_shared`.
//!
//! What breaks it: in `published` two members, one behind the other with a third between them,
//! give that one a key of their own, and the confirmation is as it should be. The tests show it.
//!
//! Deviations: edges come with the creation, where the source has them before, in which no key
//! goes round; new edges travel with the key that needs them, under a key for this place in this
//! epoch: one that an evicted member kept is good for no other. A silent member is not searched
//! for: that takes a timer. A member that missed rekeys asks its subgroup controller.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, SubgroupId};
use crate::mechanisms::subgroup::distributor::GROUP_KEY;
use crate::mechanisms::subgroup::relay::{Letter, Line, Link, REQUEST};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment,
};
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Law, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme,
};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub use crate::mechanisms::subgroup::distributor::Controller;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    id: "riseg",
    name: "RiSeG, ring based secure group communication",
    provenance: Provenance::Reconstructed,
    source: "Cheikhrouhou, Koubaa, Dini and Abid 2011; S002",
    operations: &[Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey],
    law: Law::OneKey,
    recovery: Recovery::Relay,
    claims: Claims::ALL,
    published_claims: Claims::ALL,
    parameters: &[SUBGROUPS],
    members: MEMBERS,
    growth: &[
        Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create]),
        Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add, Operation::Remove])
            .only(Profile::Sound),
        Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add, Operation::Remove])
            .only(Profile::Published),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
    ],
    parties: Parties::Hybrid {
        controller: |configuration| Box::new(Controller::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
};

/// A subgroup's controller.
#[derive(Debug)]
pub struct SubgroupController {
    profile: Profile,
    subgroup: Subgroup,
    ring: Line,
    confirmed: Epoch,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    profile: Profile,
    link: Link,
}

/// The tags of all members on the ring from one on, by XOR.
struct Sum {
    /// The slot of that one.
    began: u32,
    sum: Key,
}

/// The last member confirms: the key (published), or the sum of all tags (sound).
const CONFIRMATION: u8 = 3;

impl SubgroupController {
    /// A controller of a subgroup without members.
    pub fn new(profile: Profile, id: SubgroupId) -> Self {
        let (subgroup, ring) = (Subgroup::new(id), Line::new(1));
        Self { profile, subgroup, ring, confirmed: Epoch(0) }
    }

    /// The last epoch whose key went round the whole ring and was confirmed.
    pub const fn confirmed(&self) -> Epoch {
        self.confirmed
    }

    /// Refuses any sum but that of the members from one slot on.
    fn require_sum(&self, cx: &mut Context<'_>, began: u32, sum: &[u8]) -> Result<(), Error> {
        let sum: [u8; Key::BYTES] = sum.try_into().map_err(|_| Misbehaviour::Malformed)?;
        let start = self.ring.position_of(began).ok_or(Misbehaviour::InvalidRoster)?;
        let (epoch, group_key) = self.group_key().ok_or(Misbehaviour::UnexpectedMessage)?;
        let seen = seen(cx, epoch, group_key);
        let mut expected = Key::default();
        for &slot in &self.ring.order[start as usize..] {
            let tag = tag(cx, self.subgroup.roster.key(slot), &seen);
            expected = cx.xor(&expected, &tag);
        }
        if expected == Key::from_bytes(sum) { Ok(()) } else { Err(Misbehaviour::WrongKey.into()) }
    }
}

impl SubgroupServer for SubgroupController {
    type News = Key;

    const REQUEST: u8 = REQUEST;

    fn subgroup(&self) -> &Subgroup {
        &self.subgroup
    }

    fn subgroup_mut(&mut self) -> &mut Subgroup {
        &mut self.subgroup
    }

    fn open(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        body: Reader<'_>,
    ) -> Result<Key, Error> {
        open_key(&self.subgroup, cx, message, body, GROUP_KEY)
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        group_key: Key,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        self.subgroup.membership.enter(cx, epoch, group_key);
        let since = self.ring.changed;
        if change != LocalChange::Nobody {
            self.ring.changed = epoch;
        }
        // Besides the first, those whose neighbours are others than before.
        let affected = match change {
            LocalChange::Created | LocalChange::Resumed => {
                self.ring.order = self.subgroup.slots().collect();
                return self.ring.send_to_all(cx, &self.subgroup);
            }
            LocalChange::Joined(slot) => {
                self.ring.order.insert(0, slot);
                1..2
            }
            LocalChange::Left(slot) => {
                let Some(hole) = self.ring.position_of(slot) else { return };
                self.ring.order.remove(hole as usize);
                hole.saturating_sub(1)..hole + 1
            }
            LocalChange::Nobody => 0..0,
        };
        let mut positions = [0; 3];
        let mut count = usize::from(!self.ring.order.is_empty());
        let end = affected.end.min(self.ring.order.len() as u32);
        for position in affected.start.max(1)..end {
            positions[count] = position;
            count += 1;
        }
        if count > 0 {
            self.ring.send(cx, &self.subgroup, operation, (since, 0), &positions[..count]);
        }
    }

    fn hear(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        member: MemberId,
    ) -> Result<(), Error> {
        let (epoch, current) = (message.header().epoch, self.subgroup.membership.epoch());
        if message.header().kind != CONFIRMATION {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let roster = &self.subgroup.roster;
        let slot = roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        if self.ring.order.last() != Some(&slot) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if epoch != current {
            return Err(Misbehaviour::StaleEpoch { got: epoch, current }.into());
        }
        let mut body = message.body();
        let whole = if self.profile == Profile::Sound {
            let (began, sum) = (body.number32()?, body.bytes()?);
            body.finish()?;
            self.require_sum(cx, began, sum)?;
            self.ring.order.first() == Some(&began)
        } else {
            let wrapped = body.bytes()?;
            body.finish()?;
            let group_key = cx.unwrap_key(roster.key(slot), epoch, 1, wrapped)?;
            if self.group_key() != Some((epoch, &group_key)) {
                return Err(Misbehaviour::WrongKey.into());
            }
            true
        };
        if whole {
            self.confirmed = epoch;
        }
        Ok(())
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        if let Some(position) = self.ring.position_of(slot) {
            let since = self.ring.changed;
            self.ring.send(cx, &self.subgroup, Operation::CatchUp, (since, 0), &[position]);
        }
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        subgroup::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        // The group key, the edges of three places, and the key of an envelope.
        Footprint { permanent: self.subgroup.key_bytes(), temporary: 8 * Key::BYTES }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new(profile: Profile) -> Self {
        Self { profile, link: Link::new() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let from_member = message.from_member().is_ok();
        if !from_member && take_enrolment(&mut self.link.membership, cx, message)? {
            return Ok(());
        }
        let mut body = message.body();
        let letter = Letter::read(message, &mut body)?;
        let mut before = None;
        if from_member && self.profile == Profile::Sound {
            let began = body.number32()?;
            before = Some(Sum { began, sum: body.key()? });
        }
        body.finish()?;
        if self.link.take(cx, message, &letter)? {
            self.hand_on(cx, message, &letter, before);
        }
        Ok(())
    }

    fn hand_on(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        letter: &Letter<'_>,
        before: Option<Sum>,
    ) {
        let membership = &self.link.membership;
        let (Some((epoch, group_key)), Ok(enrolment)) =
            (membership.group_key(), membership.enrolment())
        else {
            return;
        };
        let sum = (self.profile == Profile::Sound).then(|| {
            let seen = seen(cx, epoch, group_key);
            let own = tag(cx, &enrolment.key, &seen);
            match &before {
                Some(Sum { began, sum }) => Sum { began: *began, sum: cx.xor(sum, &own) },
                None => Sum { began: enrolment.slot, sum: own },
            }
        });
        let taker = self.link.place.takers().next();
        let mut draft = match taker {
            Some(taker) => letter.draft(cx, message, &self.link, taker, |_| true),
            None => {
                let to = membership.server().into();
                cx.draft(to, epoch, message.header().operation, CONFIRMATION)
            }
        };
        if let Some(Sum { began, sum }) = sum {
            draft.number(u64::from(began)).bytes(sum.as_bytes());
        } else if taker.is_none() {
            draft.wrapped(&enrolment.key, epoch, 1, [group_key]);
        }
        draft.send();
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.link.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.link.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.link.key_bytes(), temporary: 5 * Key::BYTES }
    }
}

/// What anybody may know of a group key, and only who has it can tell.
fn seen(cx: &mut Context<'_>, epoch: Epoch, group_key: &Key) -> Key {
    cx.derive(group_key, "riseg seen", &epoch.0.to_be_bytes())
}

/// A member's word that it saw a key.
fn tag(cx: &mut Context<'_>, individual: &Key, seen: &Key) -> Key {
    cx.derive(individual, "riseg tag", seen.as_bytes())
}

#[cfg(test)]
mod tests;
