//! The subset-cover framework of stateless broadcast encryption. Slots are the leaves of a binary tree
//! whose depth never changes. A family names subsets of slots, each with a key of its own. A member gets
//! secrets in the deployment phase, once, from which it has the keys of the subsets that it is in. The
//! controller covers the current members with disjoint subsets, and broadcasts the group key under the
//! key of each. A member needs this one message, whatever it missed.
//!
//! Source: Naor, Naor, Lotspiech, "Revocation and tracing schemes for stateless receivers", CRYPTO
//! 2001, section 2. It revokes receivers that had the keys from the start. Here **every slot without a
//! current member counts as revoked, and no slot is given out twice**. So a subset that was ever
//! used had members only, and a new member's secrets open no earlier message.

pub(crate) mod occupancy;
#[cfg(test)]
pub(crate) mod tests;

use alloc::vec::Vec;
use core::fmt;

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::key_server::enrolment::ENROLMENT;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::mechanisms::subset_cover::occupancy::Occupancy;
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{PartyState, Saved, SavedState, require};
use crate::scheme::Parameter;
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

/// Subsets of the slots, and their keys.
pub(crate) trait SubsetFamily: fmt::Debug + Send {
    /// How many nodes of the tree name a subset.
    const NODES: usize;

    fn secrets_held(&self) -> usize;

    fn secrets(&self, cx: &mut Context<'_>, master: &Key, slot: u32) -> List<Key>;

    fn cover(&self, occupancy: &Occupancy) -> Vec<Subset>;

    fn key(&self, cx: &mut Context<'_>, master: &Key, subset: Subset) -> Key;

    fn has(&self, subset: Subset, slot: u32) -> bool;

    /// Derives the key of a subset that the member in a slot is in, from its secrets.
    fn key_of_member(
        &self,
        cx: &mut Context<'_>,
        secrets: &[Key],
        slot: u32,
        subset: Subset,
    ) -> Key;
}

/// The slots below a node, without those below another one. Nodes are numbered from the root, 1; those
/// below node `i` are `2 i` and `2 i + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subset {
    /// The node.
    pub(crate) top: u32,
    /// The node below it whose slots are left out; 0 for none.
    pub(crate) hole: u32,
}

/// The size of the tree.
pub(crate) const BITS: Parameter = Parameter {
    name: "bits",
    meaning: "depth of the tree; 2^bits members at most are ever enrolled",
    sound: 17,
    published: 17,
    range: (7, 24),
};

#[derive(Debug)]
pub(crate) struct StatelessController<F> {
    family: F,
    bits: u32,
    group: ServedGroup,
    /// The subsets' keys follow from it. Drawn with the first enrolment.
    master: Option<Key>,
    occupancy: Occupancy,
}

#[derive(Debug)]
pub(crate) struct StatelessMember<F> {
    family: F,
    bits: u32,
    membership: ServedMembership,
    assignment: Option<Assignment>,
}

/// What a member gets in the deployment phase.
#[derive(Debug)]
struct Assignment {
    slot: u32,
    secrets: List<Key>,
}

/// Carries the group key under the keys of subsets.
const COVER: u8 = 0;
/// Asks for the current group key.
const REQUEST: u8 = 1;

impl<F: SubsetFamily> StatelessController<F> {
    /// Creates a controller without members, for at most 2^`bits` members.
    pub(crate) fn new(family: F, bits: u32) -> Self {
        let group = ServedGroup::with_retired_slots();
        Self { family, bits, group, master: None, occupancy: Occupancy::new(bits) }
    }

    fn change(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        let cover = self.family.cover(&self.occupancy);
        self.send(cx, Recipient::Group, operation, &cover);
    }

    fn send(&self, cx: &mut Context<'_>, to: Recipient, operation: Operation, cover: &[Subset]) {
        let (Some((epoch, group_key)), Some(master)) = (self.group.group_key(), &self.master)
        else {
            return;
        };
        let names = cover.iter().flat_map(|subset| subset.name(F::NODES)).collect::<Vec<_>>();
        let wrapped = cover.len() * cx.wrapped_length(1);
        cx.reserve(1, names.len() + wrapped + 10);
        let keys: List<_> = cover.iter().map(|&of| self.family.key(cx, master, of)).collect();
        let mut draft = cx.draft(to, epoch, operation, COVER);
        draft.bytes(&names).packed(wrapped);
        for key in &keys {
            draft.packed_wrapped(key, epoch, 0, [group_key]);
        }
        draft.send();
    }
}

impl<F: SubsetFamily> KeyServer for StatelessController<F> {
    const REQUEST: u8 = REQUEST;
    const BATCHES: bool = true;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let (roster, limit) = (&mut self.group.roster, 1 << self.bits);
        if roster.slots() + members.len() > limit as usize {
            return Err(Unsupported::TooManyMembers { limit }.into());
        }
        let slots = roster.admit(members)?;
        let master = self.master.get_or_insert_with(|| cx.random_key());
        for (&member, slot) in members.iter().zip(slots) {
            let secrets = self.family.secrets(cx, master, slot);
            let (to, epoch) = (Recipient::Member(member), self.group.epoch);
            let mut draft = cx.confidential_draft(to, epoch, Operation::Enroll, ENROLMENT);
            draft.number(u64::from(slot));
            for secret in &secrets {
                draft.secret(secret);
            }
            draft.send();
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.occupancy.fill(self.group.roster.current_slots());
        self.change(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.occupancy.set(slot, true);
        self.change(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.occupancy.set(slot, false);
        self.change(cx, Operation::Remove);
    }

    fn batch(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        joined.iter().for_each(|&slot| self.occupancy.set(slot, true));
        left.iter().for_each(|&slot| self.occupancy.set(slot, false));
        self.change(cx, Operation::Batch);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.change(cx, Operation::Rekey);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        let to = Recipient::Member(self.group.roster.member(slot));
        let mut cover = self.family.cover(&self.occupancy);
        cover.retain(|&subset| self.family.has(subset, slot));
        self.send(cx, to, Operation::CatchUp, &cover);
    }

    fn held(&self) -> Footprint {
        let master = usize::from(self.master.is_some()) * Key::BYTES;
        Footprint { permanent: self.group.key_bytes() + master, temporary: Key::BYTES }
    }
}

/// The members and the master key. Which slots are occupied follows from the members.
impl<F: SubsetFamily> PartyState for StatelessController<F> {
    fn save_state(&self, state: &mut SavedState) {
        self.group.save_state(state);
        self.master.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        self.group.restore_state(state)?;
        self.master = Saved::restore(state)?;
        let roster = &self.group.roster;
        require(self.master.is_some() == (roster.slots() > 0))?;
        require(roster.slots() <= 1 << self.bits)?;
        self.occupancy.fill(roster.current_slots());
        Ok(())
    }
}

impl<F: SubsetFamily> StatelessMember<F> {
    /// Creates a member that is not enrolled yet, of a tree of this depth.
    pub(crate) fn new(family: F, bits: u32) -> Self {
        Self { family, bits, membership: ServedMembership::default(), assignment: None }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let (bits, held) = (self.bits, self.family.secrets_held());
        let taken = self.assignment.is_some();
        let read = |body: &mut Reader<'_>| Assignment::read(body, bits, held);
        if let Some(assignment) = self.membership.take_enrolment_by(message, taken, read)? {
            self.assignment = Some(assignment);
            return Ok(());
        }
        if message.header().kind != COVER {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let assignment = self.assignment.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let group_key = self.open(cx, assignment, message)?;
        self.membership.enter(cx, message.header().epoch, group_key);
        Ok(())
    }

    /// Opens the group key of an epoch after the member's own: no key of an earlier one is needed.
    fn open(
        &self,
        cx: &mut Context<'_>,
        Assignment { slot, secrets }: &Assignment,
        message: &Message<'_>,
    ) -> Result<Key, Error> {
        let mut body = message.body();
        let (names, packed) = (body.bytes()?, body.bytes()?);
        body.finish()?;
        let (name, wrapped) = (4 * F::NODES, cx.wrapped_length(1));
        if !names.len().is_multiple_of(name) || packed.len() != names.len() / name * wrapped {
            return Err(Misbehaviour::Malformed.into());
        }
        self.membership.require_lead(message)?;
        let mut subsets = names.chunks_exact(name).map(Subset::of_name).zip(packed.chunks(wrapped));
        let (subset, wrapped) = subsets
            .find(|&(subset, _)| self.family.has(subset, *slot))
            .ok_or(Misbehaviour::NothingForUs)?;
        let key = self.family.key_of_member(cx, secrets, *slot, subset);
        cx.unwrap_key(&key, message.header().epoch, 0, wrapped)
    }
}

impl<F: SubsetFamily> Party for StatelessMember<F> {
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
        let secrets = self.assignment.as_ref().map_or(0, |assignment| assignment.secrets.len());
        let permanent = self.membership.key_bytes() + secrets * Key::BYTES;
        Footprint { permanent, temporary: Key::BYTES }
    }
}

impl Assignment {
    /// Reads a slot of a tree of this depth, and this many secrets.
    fn read(body: &mut Reader<'_>, bits: u32, secrets: usize) -> Result<Self, Error> {
        let slot = body.number32()?;
        require(slot >> bits == 0)?;
        let mut list = List::with_capacity(secrets);
        for _ in 0..secrets {
            list.push(body.key()?);
        }
        Ok(Self { slot, secrets: list })
    }
}

impl Subset {
    /// The bytes that name it in a message: its nodes, 4 bytes each.
    fn name(self, nodes: usize) -> impl Iterator<Item = u8> {
        [self.top, self.hole].into_iter().take(nodes).flat_map(u32::to_be_bytes)
    }

    fn of_name(name: &[u8]) -> Self {
        let mut nodes = name
            .chunks(4)
            .map(|node| node.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)));
        Self { top: nodes.next().unwrap_or(0), hole: nodes.next().unwrap_or(0) }
    }
}

/// Returns how far a node is below the root. There is no node 0.
pub(crate) const fn depth(node: u32) -> u32 {
    node.ilog2()
}

/// Returns the node at a depth above another one, or that node itself.
pub(crate) const fn above(node: u32, at: u32) -> u32 {
    node >> (depth(node) - at)
}

pub(crate) const fn is_within(node: u32, top: u32) -> bool {
    top != 0 && depth(node) >= depth(top) && above(node, depth(top)) == top
}
