//! LNT, logical neighbour tree: the members of a subgroup form a tree in heap order. A new group
//! key travels down from neighbour to neighbour by unicasts. The subgroup's controller sends to the
//! root, and the network need not support multicast. **A sleeping member holds up the members below
//! it.**
//!
//! Source: Cheikhrouhou, Koubaa, Dini, Alzaid, Abid, "LNT: a logical neighbor tree secure group
//! communication scheme for wireless sensor networks", Ad Hoc Networks, 2012; how it was measured:
//! S002. Class: hybrid. Provenance: reconstructed: from the abstract; order, keys, messages are
//! ours.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave. The last member is the member at the last position:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 3m - 2 keys | the same | 1 unwrap |
//! | add | S + n unicasts | S wraps | 2 wraps, a third if the joining member's giver is not the root | 1 wrap | 1 unwrap, at most 2 wraps |
//! | remove | S + n - 1 unicasts | S wraps | at most 6 wraps | 1 wrap | 1 unwrap, at most 2 wraps |
//! | rekey | S + n unicasts | S wraps | 1 wrap | 1 wrap | 1 unwrap, at most 2 wraps |
//! | catch up | 1 request, 1 unicast, 1 for each member that was held up | | 1 wrap | | 1 unwrap, at most 2 wraps |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 3m - 2 keys | | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! A subgroup controller also opens one wrapped key. Its wraps in a change are of at most 4 keys,
//! with a hash for each key. A member computes one hash if it is sent a place. From the subgroup
//! controller, a change takes 1 + log2 m hops, rounded down. A member that catches up hands the key
//! on to the members that it held up, and they hand it on in turn: one unicast for each. A member
//! that also missed a join or leave in its own subgroup asks for itself: 2 more unicasts.
//!
//! Keys held: controller S + 1; subgroup controller m + 2; member 2 and its edges, 5 at most.
//!
//! Profiles: `sound` is the above. `published` is what S002 measured: the subgroup's controller
//! sends the group key to each of its members singly, S + n messages. A member then holds two keys,
//! 32 bytes, as in S002: the group key, and the key that it shares with its giver.
//!
//! A joining member takes the next position, and gets its place from the subgroup's controller at
//! once. When a member leaves, the member at the last position takes its place. Envelopes go to
//! this member, its giver, its takers, and the former giver of the last member, unless they are the
//! root.
//!
//! Bodies: `relay` describes letters and tokens. From the controller, after the list of members
//! that `domain` describes: `{GK'}_shared`. `published`: `{GK'}_individual`.
//!
//! What a captured inner member can do: leave the members below it without keys, or give them a key
//! of its own, which the tests show. It knows the edges with its neighbours. These are dead once it
//! is evicted and the neighbours have heard of that. A neighbour that slept takes its key, of any
//! epoch, until the neighbour asks.
//!
//! Deviations: edges come with the creation, where the source has them before, and are made of the
//! individual keys of both neighbours. New edges travel with the key that needs them, not ahead of
//! it. They are under a key for this place in this epoch, so a place that an evicted member kept is
//! valid for no other.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::mechanisms::subgroup::distributor::Distributor;
use crate::mechanisms::subgroup::relay::parties::{
    Positions, RelayMember, RelayScheme, SubgroupController,
};
use crate::mechanisms::subgroup::relay::{ENVELOPES, Letter, RelayLink, RelayOrder};
use crate::mechanisms::subgroup::{Subgroup, unwrap_own};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "lnt",
    "LNT, logical neighbour tree",
    Provenance::Reconstructed,
    "Cheikhrouhou, Koubaa, Dini, Alzaid and Abid 2012; S002",
    Parties::Hybrid {
        controller: |configuration| Box::new(Distributor::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(Tree(configuration.profile()), id))
        },
        member: |configuration, _| Box::new(RelayMember::new(Tree(configuration.profile()))),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Relay)
.with_claims(Claims::ALL)
.with_parameters(&[SUBGROUPS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create]),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add, Operation::Remove])
        .only_sound(),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add, Operation::Remove])
        .only_published(),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// Members in heap order; in the published profile a star.
#[derive(Debug)]
struct Tree(Profile);

state!(Tree {});

/// Carries the group key under a member's individual key, in the published profile.
const KEYS: u8 = 3;

impl RelayScheme for Tree {
    const WIDTH: u32 = 2;

    type Carried = ();

    fn insert(line: &mut RelayOrder, slot: u32) -> Positions {
        line.order.push(slot);
        [line.giver(line.order.len() as u32 - 1), None, None, None, None]
    }

    /// Moves the last member to the place that became free.
    fn close(line: &mut RelayOrder, hole: u32) -> Positions {
        let last = line.order.len() as u32 - 1;
        line.order.swap_remove(hole as usize);
        let mut takers = line.takers(hole);
        let (first, second) = (takers.next(), takers.next());
        [line.giver(hole), (hole < last).then_some(hole), first, second, line.giver(last)]
    }

    fn newcomer(line: &RelayOrder) -> u32 {
        line.order.len() as u32 - 1
    }

    fn send_directly(
        &self,
        cx: &mut Context<'_>,
        subgroup: &Subgroup,
        operation: Operation,
        slot: Option<u32>,
    ) -> bool {
        if self.0 == Profile::Sound {
            return false;
        }
        if let Some(slot) = slot {
            send_key(cx, subgroup, slot, operation);
        } else {
            cx.reserve(subgroup.roster.len(), cx.wrapped_length(1) + 2);
            subgroup.slots().for_each(|slot| send_key(cx, subgroup, slot, operation));
        }
        true
    }

    fn read_carried(&self, _: bool, _: &mut Reader<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn hand_on(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        link: &RelayLink,
        letter: &Letter<'_>,
        (): (),
    ) {
        let first = 2 * u64::from(link.place.position) + 1;
        for (position, taker) in (first..).zip(link.place.takers()) {
            if position == u64::from(letter.newcomer) {
                continue;
            }
            let goes_there = |target: u32| is_in_tree_of(position, target.into());
            letter.draft(cx, message, link, taker, |envelope| goes_there(envelope.position)).send();
        }
    }

    fn receive_directly(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        link: &mut RelayLink,
    ) -> Option<Result<(), Error>> {
        self.0.is_published().then(|| receive_key(cx, message, link))
    }

    /// Returns the bytes of the edges of all places in a letter and of the key of an envelope.
    fn temporary(&self) -> usize {
        let places = if self.0 == Profile::Sound { 3 * ENVELOPES + 1 } else { 0 };
        (1 + places) * Key::BYTES
    }
}

fn send_key(cx: &mut Context<'_>, subgroup: &Subgroup, slot: u32, operation: Operation) {
    let Some((epoch, group_key)) = subgroup.membership.group_key() else { return };
    let roster = &subgroup.roster;
    cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS)
        .wrapped(roster.key(slot), epoch, 0, [group_key])
        .send();
}

fn receive_key(
    cx: &mut Context<'_>,
    message: &Message<'_>,
    link: &mut RelayLink,
) -> Result<(), Error> {
    link.membership.enrolment()?;
    let mut body = message.body();
    let wrapped = body.bytes()?;
    body.finish()?;
    if message.from_member().is_ok() || message.header().kind != KEYS {
        return Err(Misbehaviour::UnexpectedMessage.into());
    }
    link.membership.admit(message)?;
    let [group_key] = unwrap_own(&link.membership, cx, message, 0, wrapped)?;
    link.membership.enter(cx, message.header().epoch, group_key);
    Ok(())
}

fn is_in_tree_of(top: u64, mut position: u64) -> bool {
    while position > top {
        position = (position - 1) / 2;
    }
    position == top
}

#[cfg(test)]
mod tests;
