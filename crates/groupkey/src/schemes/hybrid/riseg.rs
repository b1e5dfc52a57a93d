//! RiSeG, ring based secure group communication: the members of a subgroup form a ring that begins
//! and ends at their controller. A new group key goes round the ring, from neighbour to neighbour.
//! A change costs the subgroup's controller one message, however many members there are. **A
//! sleeping member holds up the members behind it, and a change takes as many hops as there are
//! members.**
//!
//! Source: Cheikhrouhou, Koubaa, Dini, Abid, "RiSeG: a ring based secure group communication
//! protocol for resource-constrained wireless sensor networks", Personal and Ubiquitous Computing
//! 15(8), 2011; how it was measured: S002. Class: hybrid. Provenance: reconstructed: from the
//! abstract; keys and messages are ours.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave; r is the number in any other:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 3m - 2 keys | the same | 1 unwrap |
//! | add | 2S + n unicasts | S wraps | 2 wraps of 5 keys, m + 1 derivations | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | remove | 2S + n - 1 unicasts | S wraps | at most 3 wraps of 8 keys, m derivations | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | rekey | 2S + n unicasts | S wraps | | 1 wrap, r + 1 derivations | 1 unwrap, 1 wrap, 2 derivations |
//! | catch up | 1 request, 1 unicast, 1 for each member that was held up, 1 to confirm | | 1 wrap, derivations | | 1 unwrap, 1 wrap, 2 derivations |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 3m - 2 keys | | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! S is the number of subgroups that have members after the change. A subgroup controller also
//! opens one wrapped key. Each key that it wraps takes a hash, and a member computes one if it is
//! sent a place. An add of the first member takes 1 wrap of 1 key. The last member of a ring wraps
//! nothing. A member that catches up hands on to the members that it held up, one unicast for each.
//! A member that also missed a join or leave in its own subgroup asks for itself, 2 more unicasts.
//!
//! Keys held: controller S + 1; subgroup controller m + 2; member 4, the first and the last
//! member 3. S002 counts 2 bytes for each member at the controller, a list of node addresses that
//! makes the ring. Here the subgroups' controllers keep the ring, 4 bytes for each member. These
//! bytes are not keys and not counted.
//!
//! Profiles: in `published` the last member confirms with the group key under its individual key: 1
//! unwrap and no derivation at the subgroup's controller, 1 wrap and no derivation at the member.
//! In `sound` each member adds a tag of the key that it saw, by XOR, and the last member sends the
//! sum back. The subgroup's controller computes the sum itself and refuses any other.
//!
//! A joining member becomes the first and gets its place from the subgroup's controller. When a
//! member leaves, envelopes go to the members that were before and behind it.
//!
//! Bodies: `relay` describes letters and tokens. In `sound` a token also has the slot of the member
//! that began with the tags, and their sum. Confirmation: `{GK'}_individual`, or `who began, sum`.
//! From the controller, after the list of members that `domain` describes: `{GK'}_shared`.
//!
//! What breaks it: in `published` two members with a third between them give the third a key of
//! their own, and the confirmation is still correct. The tests show this.
//!
//! Deviations: edges come with the creation, in which no key goes round. The source has edges
//! before the creation. New edges travel with the key that needs them, under a key for this place
//! in this epoch. So a place that an evicted member kept is valid for no other. The scheme does not
//! search for a silent member, because that takes a timer. A member that missed rekeys asks its
//! subgroup controller.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::subgroup::Subgroup;
use crate::mechanisms::subgroup::distributor::Distributor;
use crate::mechanisms::subgroup::relay::parties::{
    Positions, RelayMember, RelayScheme, SubgroupController,
};
use crate::mechanisms::subgroup::relay::{Letter, RelayLink, RelayOrder};
use crate::party::Operation;
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "riseg",
    "RiSeG, ring based secure group communication",
    Provenance::Reconstructed,
    "Cheikhrouhou, Koubaa, Dini and Abid 2011; S002",
    Parties::Hybrid {
        controller: |configuration| Box::new(Distributor::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(Ring::new(configuration.profile()), id))
        },
        member: |configuration, _| Box::new(RelayMember::new(Ring::new(configuration.profile()))),
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
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add, Operation::Remove])
        .only_sound(),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add, Operation::Remove])
        .only_published(),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// Members in a ring, in which the last member confirms.
#[derive(Debug)]
struct Ring {
    profile: Profile,
    /// The last epoch whose key went round the whole ring and was confirmed.
    confirmed: Epoch,
}

state!(Ring { confirmed });

/// The XOR of the tags of all members from one member of the ring on.
struct Sum {
    /// The slot of the first of these members.
    began: u32,
    sum: Key,
}

/// The last member's confirmation: the key (published), or the sum of all tags (sound).
const CONFIRMATION: u8 = 3;

impl Ring {
    const fn new(profile: Profile) -> Self {
        Self { profile, confirmed: Epoch(0) }
    }
}

impl RelayScheme for Ring {
    const WIDTH: u32 = 1;

    type Carried = Option<Sum>;

    fn insert(line: &mut RelayOrder, slot: u32) -> Positions {
        line.order.insert(0, slot);
        [Some(1), None, None, None, None]
    }

    fn close(line: &mut RelayOrder, hole: u32) -> Positions {
        line.order.remove(hole as usize);
        [hole.checked_sub(1), Some(hole), None, None, None]
    }

    fn hear(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        subgroup: &Subgroup,
        line: &RelayOrder,
    ) -> Result<(), Error> {
        let (epoch, current) = (message.header().epoch, subgroup.membership.epoch());
        if message.header().kind != CONFIRMATION {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let roster = &subgroup.roster;
        let member = message.from_member()?;
        let slot = roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        if line.order.last() != Some(&slot) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if epoch != current {
            return Err(Misbehaviour::StaleEpoch { got: epoch, current }.into());
        }
        let mut body = message.body();
        let whole = if self.profile == Profile::Sound {
            let (began, sum) = (body.number32()?, body.bytes()?);
            body.finish()?;
            require_sum(cx, subgroup, line, began, sum)?;
            line.order.first() == Some(&began)
        } else {
            let wrapped = body.bytes()?;
            body.finish()?;
            let group_key = cx.unwrap_key(roster.key(slot), epoch, 1, wrapped)?;
            if subgroup.membership.group_key() != Some((epoch, &group_key)) {
                return Err(Misbehaviour::WrongKey.into());
            }
            true
        };
        if whole {
            self.confirmed = epoch;
        }
        Ok(())
    }

    fn read_carried(&self, from_member: bool, body: &mut Reader<'_>) -> Result<Option<Sum>, Error> {
        if !from_member || self.profile.is_published() {
            return Ok(None);
        }
        let began = body.number32()?;
        Ok(Some(Sum { began, sum: body.key()? }))
    }

    fn hand_on(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        link: &RelayLink,
        letter: &Letter<'_>,
        before: Option<Sum>,
    ) {
        let membership = &link.membership;
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
        let taker = link.place.takers().next();
        let mut draft = match taker {
            Some(taker) => letter.draft(cx, message, link, taker, |_| true),
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

    /// Returns the bytes of the group key, the edges of three places, and the key of an envelope.
    fn temporary(&self) -> usize {
        8 * Key::BYTES
    }
}

/// Refuses any sum except that of the members from one slot on.
fn require_sum(
    cx: &mut Context<'_>,
    subgroup: &Subgroup,
    line: &RelayOrder,
    began: u32,
    sum: &[u8],
) -> Result<(), Error> {
    let sum: [u8; Key::BYTES] = sum.try_into().map_err(|_| Misbehaviour::Malformed)?;
    let start = line.position_of(began).ok_or(Misbehaviour::InvalidRoster)?;
    let (epoch, group_key) =
        subgroup.membership.group_key().ok_or(Misbehaviour::UnexpectedMessage)?;
    let seen = seen(cx, epoch, group_key);
    let mut expected = Key::default();
    for &slot in &line.order[start as usize..] {
        let tag = tag(cx, subgroup.roster.key(slot), &seen);
        expected = cx.xor(&expected, &tag);
    }
    if expected == Key::from_bytes(sum) { Ok(()) } else { Err(Misbehaviour::WrongKey.into()) }
}

/// Derives a value that only a holder of the group key can compute, and that any party may know.
fn seen(cx: &mut Context<'_>, epoch: Epoch, group_key: &Key) -> Key {
    cx.derive(group_key, "riseg seen", &epoch.0.to_be_bytes())
}

/// Derives a member's tag, its statement that it saw a key.
fn tag(cx: &mut Context<'_>, individual: &Key, seen: &Key) -> Key {
    cx.derive(individual, "riseg tag", seen.as_bytes())
}

#[cfg(test)]
mod tests;
