//! TKH, the topological key hierarchy: a key tree that has the shape of the network. Neighbours
//! under one parent form a sibling set and share a key. All members below one child of the sink
//! form a subtree and share another. So one key opens what one transmission reaches.
//!
//! Source: Son, Lee, Seo, "Topological key hierarchy for energy-efficient group key management in
//! wireless sensor networks", Wireless Personal Communications 52, 2010. Class: hybrid; the sink is
//! the controller, the heads of its subtrees are the subgroup controllers. Provenance:
//! reconstructed: the kinds of keys and an eviction's wraps from descriptions; messages, and a
//! join, are ours.
//!
//! S subtrees with members; n members. m is the number of members in the subtree that changes and b
//! that in its sibling set, after a join or before a leave. r is the number of other sibling sets
//! of that subtree with members:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 3 keys | m wraps of 3 keys | 1 unwrap |
//! | add | S + 1 unicasts, S multicasts | S wraps | 1 wrap each of 3, 2 and, if b > 1, 1 keys | 1 wrap | siblings 2 unwraps, others 1 |
//! | remove | S + b - 1 unicasts, S - 1 + r multicasts | S wraps | b - 1 wraps of 3 keys, r of 2 | 1 wrap | 1 unwrap |
//! | rekey | S unicasts, S multicasts | S wraps | | 1 wrap | 1 unwrap |
//! | catch up | 1 request, 1 unicast | | 1 wrap of 3 keys | | 1 unwrap |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 3 keys | | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! A subgroup controller also opens one wrapped key. Profiles: `sound` and `published` are the
//! same; S002 did not measure TKH. Keys held: controller S + 1; subgroup controller m + 3 and one
//! for each of its sibling sets; member 4: SK of its siblings, TK of its subtree, GK, and its
//! individual key.
//!
//! Bodies, after the list of members that `domain` describes: `{GK'}shared`. To members:
//! `{SK, TK, GK}_individual`. To a subtree that a member joins:
//! `its slot, {TK', GK'}TK, {SK'}SK or nothing`. To a sibling set that loses no member:
//! `{TK', GK'}SK`. To other subtrees: `{GK'}TK`.
//!
//! Deviations: in the source the sink holds all keys and the nodes forward them. Here the head of a
//! subtree holds the keys of its subtree. A sibling set is a run of slots, because the network
//! determines the routing tree. New keys that the same members need go in one message. The source
//! first attaches a leaving node's children elsewhere; here they join elsewhere. A member that
//! missed rekeys asks.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, PartyId, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::subgroup::distributor::GROUP_KEY;
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment, unwrap_own,
};
use crate::outbox::{Event, Recipient, SubsetId};
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parameter, Parties, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::schemes::hybrid::igkmp;
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(crate) use crate::mechanisms::subgroup::distributor::Distributor;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "tkh",
    "TKH, topological key hierarchy",
    Provenance::Reconstructed,
    "Son, Lee and Seo 2010",
    Parties::Hybrid {
        controller: |configuration| Box::new(Distributor::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(id, configuration.value(&SIBLINGS)))
        },
        member: |configuration, _| Box::new(Member::new(configuration.value(&SIBLINGS))),
    },
)
.with_operations(igkmp::SCHEME.operations)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_parameters(&[SUBGROUPS, SIBLINGS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

const SIBLINGS: Parameter = Parameter {
    name: "siblings",
    meaning: "members of a sibling set, at most",
    sound: 8,
    published: 8,
    range: (2, 256),
};

/// A subgroup's controller: the head of a subtree.
#[derive(Debug)]
pub(crate) struct SubgroupController {
    subgroup: Subgroup,
    siblings: u32,
    /// TK.
    subtree_key: Option<Key>,
    /// SK of each sibling set that has or had members.
    sibling_keys: List<Key>,
}

state!(SubgroupController { subgroup, subtree_key, sibling_keys } if is_whole);

#[derive(Debug)]
pub(crate) struct Member {
    membership: ServedMembership,
    siblings: u32,
    /// SK.
    sibling_key: Option<Key>,
    /// TK.
    subtree_key: Option<Key>,
}

/// Carries all keys that a member needs, under its individual key.
const KEYS: u8 = 0;
/// Tells a subtree that a member joins.
const REFRESH: u8 = 1;
/// Carries the group key under the subtree's key.
const REKEY: u8 = 2;
/// Asks for the current keys.
const REQUEST: u8 = 3;
/// Carries the keys that an eviction changes, under the key of a sibling set that lost no member.
const REPLACE: u8 = 4;

const fn siblings_topic(subgroup: SubgroupId, set: u32) -> SubsetId {
    SubsetId(1 << 31 | subgroup.0 << 16 | set)
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members. A sibling set has `siblings` at most.
    pub(crate) fn new(id: SubgroupId, siblings: u32) -> Self {
        Self { subgroup: Subgroup::new(id), siblings, subtree_key: None, sibling_keys: List::new() }
    }

    /// Whether every sibling set with a member of the group has a place for its key.
    fn is_whole(&self) -> bool {
        let has_place = |slot| ((slot / self.siblings) as usize) < self.sibling_keys.len();
        self.subgroup.slots().all(has_place)
    }

    /// Sends a member, under its individual key, all keys that it needs.
    fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let (Some((epoch, group_key)), Some(subtree_key)) =
            (self.subgroup.membership.group_key(), &self.subtree_key)
        else {
            return;
        };
        let roster = &self.subgroup.roster;
        let sibling_key = &self.sibling_keys[(slot / self.siblings) as usize];
        cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS)
            .wrapped(roster.key(slot), epoch, 0, [sibling_key, subtree_key, group_key])
            .send();
    }

    /// Returns the slots of a sibling set that have members.
    fn occupied(&self, set: u32) -> impl Iterator<Item = u32> {
        let slots = set * self.siblings..(set + 1) * self.siblings;
        slots.filter(|&slot| self.subgroup.roster.is_joined(slot))
    }

    fn draw_sibling_key(&mut self, cx: &mut Context<'_>, set: u32) -> Key {
        let place = set as usize;
        self.sibling_keys.extend_to(place + 1);
        core::mem::replace(&mut self.sibling_keys[place], cx.random_key())
    }

    fn create(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.subtree_key = Some(cx.random_key());
        let sets = (self.subgroup.roster.slots() as u32).div_ceil(self.siblings);
        for set in 0..sets {
            if self.occupied(set).next().is_some() {
                self.draw_sibling_key(cx, set);
            }
        }
        cx.reserve(self.subgroup.roster.len(), cx.wrapped_length(3) + 2);
        self.subgroup.slots().for_each(|slot| self.send_keys(cx, slot, operation));
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32, epoch: Epoch, group_key: &Key) {
        let set = slot / self.siblings;
        let old_sibling_key = self.draw_sibling_key(cx, set);
        let subtree_key = cx.random_key();
        let old_subtree_key = self.subtree_key.replace(subtree_key.clone());
        self.send_keys(cx, slot, Operation::Add);
        // If the subgroup had no members, no member holds the old key, if there ever was one.
        let Some(old_subtree_key) = old_subtree_key.filter(|_| self.subgroup.roster.len() > 1)
        else {
            return;
        };
        let has_siblings = self.occupied(set).count() > 1;
        let mut draft = cx.draft(self.subgroup.everybody(), epoch, Operation::Add, REFRESH);
        draft.number(u64::from(slot)).wrapped(
            &old_subtree_key,
            epoch,
            0,
            [&subtree_key, group_key],
        );
        if has_siblings {
            let sibling_key = &self.sibling_keys[set as usize];
            draft.wrapped(&old_sibling_key, epoch, 0, [sibling_key]);
        } else {
            draft.bytes(&[]);
        }
        draft.send();
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32, epoch: Epoch, group_key: &Key) {
        let bereaved = slot / self.siblings;
        let subtree_key = cx.random_key();
        self.subtree_key = Some(subtree_key.clone());
        self.draw_sibling_key(cx, bereaved);
        for slot in self.occupied(bereaved) {
            self.send_keys(cx, slot, Operation::Remove);
        }
        for (set, sibling_key) in (0..).zip(&self.sibling_keys) {
            if set == bereaved || self.occupied(set).next().is_none() {
                continue;
            }
            let to = Recipient::Subset(siblings_topic(self.subgroup.id, set));
            cx.draft(to, epoch, Operation::Remove, REPLACE)
                .wrapped(sibling_key, epoch, 0, [&subtree_key, group_key])
                .send();
        }
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
        self.subgroup.membership.enter(cx, epoch, group_key.clone());
        match change {
            LocalChange::Created | LocalChange::Resumed => self.create(cx, operation),
            LocalChange::Joined(slot) => self.add(cx, slot, epoch, &group_key),
            LocalChange::Left(slot) => self.remove(cx, slot, epoch, &group_key),
            LocalChange::Nobody => {
                let Some(subtree_key) = &self.subtree_key else { return };
                cx.draft(self.subgroup.everybody(), epoch, operation, REKEY)
                    .wrapped(subtree_key, epoch, 1, [&group_key])
                    .send();
            }
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_keys(cx, slot, Operation::CatchUp);
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
        let zero = Key::default();
        let sibling_keys = self.sibling_keys.iter().filter(|&key| *key != zero).count();
        let own = sibling_keys + usize::from(self.group_key().is_some());
        let permanent = self.subgroup.key_bytes() + own * Key::BYTES;
        Footprint { permanent, temporary: 2 * Key::BYTES }
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet. A sibling set has `siblings` at most.
    pub(crate) fn new(siblings: u32) -> Self {
        Self {
            membership: ServedMembership::of_a_subgroup(),
            siblings,
            sibling_key: None,
            subtree_key: None,
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if take_enrolment(&mut self.membership, cx, message)? {
            self.listen(cx);
            return Ok(());
        }
        let slot = self.membership.enrolment()?.slot;
        let header = message.header();
        let mut body = message.body();
        let newcomer = if header.kind == REFRESH { Some(body.number32()?) } else { None };
        let wrapped = body.bytes()?;
        let for_siblings = if header.kind == REFRESH { body.bytes()? } else { &[] };
        body.finish()?;
        if let Some(newcomer) = newcomer
            && self.membership.is_own_joining(message, newcomer)?
        {
            return Ok(());
        }
        let epoch = header.epoch;
        if header.kind == KEYS {
            self.membership.admit(message)?;
            let [sibling_key, subtree_key, group_key] =
                unwrap_own(&self.membership, cx, message, 0, wrapped)?;
            self.enter(cx, epoch, sibling_key, subtree_key, group_key);
            return Ok(());
        }
        self.membership.require_continuation(message)?;
        let (Some(sibling_key), Some(subtree_key)) = (&self.sibling_key, &self.subtree_key) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let mut new_sibling_key = sibling_key.clone();
        let mut new = [subtree_key.clone(), Key::default()];
        match (header.operation, header.kind, newcomer) {
            (Operation::Add, REFRESH, Some(newcomer)) => {
                cx.unwrap_keys(subtree_key, epoch, 0, wrapped, &mut new)?;
                if newcomer / self.siblings == slot / self.siblings {
                    new_sibling_key = cx.unwrap_key(sibling_key, epoch, 0, for_siblings)?;
                }
            }
            (Operation::Remove, REPLACE, _) => {
                cx.unwrap_keys(sibling_key, epoch, 0, wrapped, &mut new)?;
            }
            (Operation::Add | Operation::Remove | Operation::Rekey, REKEY, _) => {
                new[1] = cx.unwrap_key(subtree_key, epoch, 1, wrapped)?;
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        let [subtree_key, group_key] = new;
        self.enter(cx, epoch, new_sibling_key, subtree_key, group_key);
        Ok(())
    }

    /// Subscribes to its sibling set, as it does to its subgroup.
    fn listen(&self, cx: &mut Context<'_>) {
        if let (PartyId::SubgroupController(subgroup), Ok(enrolment)) =
            (self.membership.server(), self.membership.enrolment())
        {
            let topic = siblings_topic(subgroup, enrolment.slot / self.siblings);
            cx.event(Event::Subscribed(topic));
        }
    }

    fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        sibling_key: Key,
        subtree_key: Key,
        group_key: Key,
    ) {
        self.sibling_key = Some(sibling_key);
        self.subtree_key = Some(subtree_key);
        self.membership.enter(cx, epoch, group_key);
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
        let shared = if self.group_key().is_some() { 2 } else { 0 };
        let permanent = self.membership.key_bytes() + shared * Key::BYTES;
        Footprint { permanent, temporary: 3 * Key::BYTES }
    }
}
