//! LNT, logical neighbour tree: the members of a subgroup form a tree, in heap order, and a
//! new group key travels down from neighbour to neighbour by unicasts. The subgroup's controller
//! sends to the root, and no network that can multicast is needed. **A sleeping member holds up
//! those below it.**
//!
//! Source: Cheikhrouhou, Koubaa, Dini, Alzaid, Abid, "LNT: a logical neighbor tree secure group
//! communication scheme for wireless sensor networks", Ad Hoc Networks, 2012; how it was measured:
//! S002. Class: hybrid. Provenance: reconstructed: from the abstract; order, keys, messages are
//! ours.
//!
//! S subgroups with members; n members, m of them in the subgroup in which one joins (after it
//! did) or leaves (before it does). The last member is the one at the last position:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 3m - 2 keys | the same | 1 unwrap |
//! | add | S + n unicasts | S wraps | 2 wraps, a third where the newcomer's giver is not the root | 1 wrap | 1 unwrap, at most 2 wraps |
//! | remove | S + n - 1 unicasts | S wraps | at most 6 wraps | 1 wrap | 1 unwrap, at most 2 wraps |
//! | rekey | S + n unicasts | S wraps | 1 wrap | 1 wrap | 1 unwrap, at most 2 wraps |
//! | catch up | 1 request, 1 unicast, 1 for each that was held up | | 1 wrap | | 1 unwrap, at most 2 wraps |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 3m - 2 keys | | 1 unwrap |
//!
//! Resume: the subgroup's controller missed changes and comes back (`resumption.rs`), with m members.
//!
//! A subgroup controller opens one wrapped key more. Its wraps in a change are of at most 4 keys,
//! with a hash for each key; a member computes one if it is sent a place. A change takes
//! 1 + log2 m hops from it, rounded down. A member that catches up hands on to those it held up,
//! and they to others: one unicast for each. Whoever also missed that somebody came or went in its
//! own subgroup asks for itself: 2 unicasts more.
//!
//! Keys held: controller S + 1; subgroup controller m + 2; member 2 and its edges, 5 at most.
//!
//! Profiles: `sound` is the above. `published` is what S002 measured: the subgroup's controller
//! sends the group key to each of its members singly, S + n messages. A member then holds two
//! keys, 32 bytes, as in S002: the group key, and the one that it shares with its giver.
//!
//! A newcomer takes the next position, and gets its place from the subgroup's controller at once.
//! When a member leaves, the one at the last position takes its place. Envelopes go to the member
//! there, its giver, its takers, and who was the last one's giver, if they are not the root.
//!
//! Bodies: `relay` has letters and tokens. From the controller, after the list of members that
//! `domain` describes: `{GK'}_shared`. `published`: `{GK'}_individual`.
//!
//! What a captured inner member can do: leave those below it without keys, or give them one of its
//! own, which the tests show. It knows the edges of its neighbours, which are dead once it is evicted
//! and they have heard of that: one that slept takes its key, of whatever epoch, until it asks.
//!
//! Deviations: edges come with the creation, where the source has them before, and are made of the
//! individual keys of both; new edges travel with the key that needs them, and not ahead of it, under
//! a key for this place in this epoch: a place that an evicted member kept is good for no other.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, SubgroupId};
use crate::mechanisms::subgroup::distributor::GROUP_KEY;
use crate::mechanisms::subgroup::relay::{ENVELOPES, Letter, Line, Link, REQUEST};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment, unwrap_own,
};
use crate::outbox::Recipient;
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
    id: "lnt",
    name: "LNT, logical neighbour tree",
    provenance: Provenance::Reconstructed,
    source: "Cheikhrouhou, Koubaa, Dini, Alzaid and Abid 2012; S002",
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
        Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add, Operation::Remove])
            .only(Profile::Sound),
        Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add, Operation::Remove])
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
    line: Line,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    profile: Profile,
    link: Link,
}

/// Carries the group key under a member's individual key, in the published profile.
const KEYS: u8 = 3;

impl SubgroupController {
    /// A controller of a subgroup without members.
    pub fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { profile, subgroup: Subgroup::new(id), line: Line::new(2) }
    }

    /// Puts the tree into order. Returns the positions of those whose place is another than before
    /// and who need not be told by themselves.
    fn rearrange(&mut self, change: LocalChange) -> [Option<u32>; 5] {
        let line = &mut self.line;
        match change {
            LocalChange::Created | LocalChange::Resumed => {
                line.order = self.subgroup.slots().collect();
                [None; 5]
            }
            LocalChange::Joined(slot) => {
                line.order.push(slot);
                [line.giver(line.order.len() as u32 - 1), None, None, None, None]
            }
            LocalChange::Left(slot) => {
                let Some(hole) = line.position_of(slot) else { return [None; 5] };
                let last = line.order.len() as u32 - 1;
                line.order.swap_remove(hole as usize);
                let mut takers = line.takers(hole);
                let (first, second) = (takers.next(), takers.next());
                [line.giver(hole), (hole < last).then_some(hole), first, second, line.giver(last)]
            }
            LocalChange::Nobody => [None; 5],
        }
    }

    fn send_key(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some((epoch, group_key)) = self.group_key() else { return };
        let roster = &self.subgroup.roster;
        cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS)
            .wrapped(roster.key(slot), epoch, 0, [group_key])
            .send();
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
        if self.profile == Profile::Published {
            cx.reserve(self.subgroup.roster.len(), cx.wrapped_length(1) + 2);
            return self.subgroup.slots().for_each(|slot| self.send_key(cx, slot, operation));
        }
        let since = self.line.changed;
        let affected = self.rearrange(change);
        if change != LocalChange::Nobody {
            self.line.changed = epoch;
        }
        if matches!(change, LocalChange::Created | LocalChange::Resumed) {
            return self.line.send_to_all(cx, &self.subgroup);
        }
        // The root first; and nobody twice.
        let mut positions = [0; ENVELOPES];
        let mut count = usize::from(!self.line.order.is_empty());
        for position in affected.into_iter().flatten() {
            if !positions[..count].contains(&position) {
                positions[count] = position;
                count += 1;
            }
        }
        let newcomer = match change {
            LocalChange::Joined(_) => self.line.order.len() as u32 - 1,
            _ => 0,
        };
        let news = (since, newcomer);
        if count > 0 {
            self.line.send(cx, &self.subgroup, operation, news, &positions[..count]);
        }
        if newcomer > 0 {
            self.line.send(cx, &self.subgroup, operation, news, &[newcomer]);
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        if self.profile == Profile::Published {
            return self.send_key(cx, slot, Operation::CatchUp);
        }
        if let Some(position) = self.line.position_of(slot) {
            let since = self.line.changed;
            self.line.send(cx, &self.subgroup, Operation::CatchUp, (since, 0), &[position]);
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
        // The edges of all places in a letter, and the key of an envelope.
        let places = if self.profile == Profile::Sound { 3 * ENVELOPES + 1 } else { 0 };
        Footprint { permanent: self.subgroup.key_bytes(), temporary: (1 + places) * Key::BYTES }
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
        if self.profile == Profile::Sound {
            let letter = Letter::read(message, &mut body)?;
            body.finish()?;
            if self.link.take(cx, message, &letter)? {
                self.hand_on(cx, message, &letter);
            }
            return Ok(());
        }
        let membership = &mut self.link.membership;
        membership.enrolment()?;
        let wrapped = body.bytes()?;
        body.finish()?;
        if from_member || message.header().kind != KEYS {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        membership.admit(message)?;
        let [group_key] = unwrap_own(membership, cx, message, 0, wrapped)?;
        membership.enter(cx, message.header().epoch, group_key);
        Ok(())
    }

    fn hand_on(&self, cx: &mut Context<'_>, message: &Message<'_>, letter: &Letter<'_>) {
        let place = &self.link.place;
        let first = 2 * u64::from(place.position) + 1;
        for (position, taker) in (first..).zip(place.takers()) {
            if position == u64::from(letter.newcomer) {
                continue;
            }
            let goes_there = |target: u32| is_in_tree_of(position, target.into());
            letter
                .draft(cx, message, &self.link, taker, |envelope| goes_there(envelope.position))
                .send();
        }
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

/// Whether a position is `top` or below it.
fn is_in_tree_of(top: u64, mut position: u64) -> bool {
    while position > top {
        position = (position - 1) / 2;
    }
    position == top
}

#[cfg(test)]
mod tests;
