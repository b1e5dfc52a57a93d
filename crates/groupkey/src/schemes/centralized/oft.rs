//! OFT, the one-way function tree: a binary tree of secrets in which a node's secret follows from
//! the blinded secrets of its children. A member holds its leaf's secret and, for each node above
//! it, the blinded secret of the half that it is not in. It computes the rest. A change then takes
//! one wrapped key a level, half of what LKH sends. **As published, an evicted party and a party
//! that joined later together have the keys of the epochs between.**
//!
//! Source: Sherman, McGrew, "Key establishment in large dynamic groups using one-way function
//! trees", IEEE TSE 29(5), 2003; the repair is Ku and Chen's, 2003, and the attacks are in Xu,
//! Wang, Youssef, Zhu, ACNS 2007. Class: centralized. Provenance: reconstructed: tree and
//! operations are published; the messages, the choice of leaves and the repair's details are ours.
//!
//! Let x_v be the secret of a node v. y_v = g(x_v) is its blinded secret, and x_v = y_left XOR
//! y_right. K_v = F(x_v) is the key under which the members below v are sent the blinded secret of
//! v's sibling. The group key is derived from the root's secret. Leaf secrets are random, and are
//! sent under individual keys. When a member leaves or joins, subtrees become the halves of other
//! nodes than before. In each of these subtrees a leaf is renewed, so that its old and its new
//! neighbours do not know the same blinded secret.
//!
//! The table counts wrapped keys. h key nodes are above the member (after an add, before a remove);
//! h = log_2 n in a complete tree. In the i-th half beside the member's path, from below, d_i key
//! nodes are above the leaf that is renewed. d_i is 0 if the half is a single leaf, i - 1 in a
//! complete tree. D is the sum of the d_i:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast | 3n - 2 wraps, 2n - 2 hashes, 2n - 1 derivations | h + 1 unwraps, h hashes, h + 1 derivations |
//! | add | 1 unicast, 1 broadcast | 2h + d_1 + 2 wraps, 3h + 2d_1 hashes, h + d_1 + 1 derivations | joining member h + 1 unwraps in 1 call, others 1, in the first half 2 |
//! | remove, published | 1 broadcast | h + d_1 wraps, 2(h + d_1 - 1) hashes, h + d_1 derivations | 1 unwrap |
//! | remove, sound | 1 broadcast | 3h + D - 2 wraps, 2(h + D - 1) hashes, 2h + D - 1 derivations | in the i-th half h - i + 2 unwraps, in the first h |
//! | rekey | 1 broadcast | h + 1 wraps, 2h hashes, h + 1 derivations | 1 unwrap |
//! | catch up | 1 request, 1 unicast | h + 1 wraps in 1 call, h hashes | h + 1 unwraps in 1 call |
//!
//! A rekey renews the leaf of the first member, below h key nodes, and so every secret above it.
//!
//! In a complete tree a removal takes h wraps in `published`, (h² + 5h - 4) / 2 in `sound`. A
//! member hashes once for each key node above it. It derives once for each blinded secret that it
//! unwraps, unless in one call, and once for the group key. In `sound` the confirmation of an update
//! takes one derivation more on either side.
//!
//! Keys held: the controller holds 3n (individual keys, secrets of leaves and nodes, group key); a
//! member at most ⌈log_2 n⌉ + 3. Profiles: when a member is evicted, `published` renews a leaf in
//! the first half. `sound` renews one in every half beside its path, so that every blinded secret
//! that it knew is replaced.
//!
//! Bodies. Update: the slot that changed (0 in a creation), a packed byte string of `leaf, {leaf's
//! new secret}_individual`, and one of `half, {half's new blinded secret}_K`. Both are sorted; K is
//! the key of the other half. In `sound` a confirmation of the group key follows, 16 bytes: a member
//! computes the root's secret from whatever secrets an update has, so that it must notice if one is
//! missing. Path: levels, and one wrap under the individual key. The wrap has the
//! leaf's secret and the blinded secrets beside the nodes of these levels.
//!
//! What breaks `published`: evict A and later add C, such that meanwhile neither the root's half
//! without A nor the half without C changes. A has the blinded secret of the first half, and C is
//! sent that of the second. They XOR to the root's secret of the epochs between. The tests do it.
//! Xu et al. repair only where the attack applies; later papers doubt their condition.
//!
//! Deviations: keys for wraps and the group key are derived, where the source uses secrets of nodes
//! directly. The secrets that a joining member gets by unicast are not broadcast under its leaf's
//! key. Nodes are contracted, and a member that missed changes asks for its path.
//!
//! That `sound` withstands it is an argument with ideal one-way functions, and a search of
//! coalitions of two to four in small groups (`oft/tests.rs`). It is not a proof.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{Continuation, KeyServer, ServedGroup, ServedMembership};
use crate::mechanisms::key_tree::LEVELS;
use crate::mechanisms::key_tree::{KeyTree, Node};
use crate::mechanisms::sorted_records::SortedRecords;
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, KeyFingerprint, KeyNode, Knowledge, Operation, Party};
use crate::saved_state::{PartyState, Saved, SavedState, require};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "oft",
    "OFT, one-way function tree",
    Provenance::Reconstructed,
    "Sherman and McGrew 2003; Ku and Chen 2003",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration.profile())),
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(Claims { collusion_resistance: false, ..Claims::ALL })
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add]),
    Growth::of(Role::Controller, Form::LogarithmSquared, &[Operation::Remove]).only_sound(),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Remove]).only_published(),
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    group: ServedGroup,
    leaves: List<Key>,
    /// The secrets of the nodes above the leaves.
    tree: KeyTree,
}

impl PartyState for Controller {
    fn save_state(&self, state: &mut SavedState) {
        self.group.save_state(state);
        self.leaves.save(state);
        self.tree.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        self.group.restore_state(state)?;
        self.leaves = Saved::restore(state)?;
        let roster = &self.group.roster;
        require(roster.current_slots().all(|slot| (slot as usize) < self.leaves.len()))?;
        self.tree.restore(state, roster)
    }
}

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    membership: ServedMembership,
    leaf: Key,
    /// For each key node above the member, lowest first, its level and the blinded secret of the
    /// half that the member is not in.
    blinded: List<(u8, Key)>,
}

/// Carries the changes to the tree.
const UPDATE: u8 = 0;
/// Carries all secrets that a member holds, under its individual key.
const PATH: u8 = 1;
/// Asks for the member's path.
const REQUEST: u8 = 2;

const DEGREE: u32 = 2;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(profile: Profile) -> Self {
        let group = ServedGroup::default();
        Self { profile, group, leaves: List::new(), tree: KeyTree::new(DEGREE) }
    }

    /// Makes room for a leaf secret in each slot. A secret is drawn when it is needed.
    fn make_leaves(&mut self) {
        self.leaves.extend_to(self.group.roster.slots());
    }

    /// Draws new secrets for these leaves. Wraps each for its member, except for a joining member.
    fn renew_leaves(
        &mut self,
        cx: &mut Context<'_>,
        slots: &[u32],
        newcomer: Option<u32>,
    ) -> Vec<u8> {
        let epoch = self.group.epoch.next();
        let mut records = Vec::with_capacity(slots.len() * record_length(cx));
        for &slot in slots {
            let secret = &mut self.leaves[slot as usize];
            *secret = cx.random_key();
            if newcomer != Some(slot) {
                let leaf = Node::leaf(slot);
                records.extend_from_slice(&leaf.id().to_be_bytes());
                let kek = self.group.roster.key(slot);
                cx.wrap_keys(kek, epoch, label(leaf), [&*secret], &mut records);
            }
        }
        records
    }

    /// Computes the secrets of these key nodes, which must be in ascending order. A blinded secret
    /// is new if a leaf below was renewed. Wraps each new one for the members in the other half.
    fn climb(
        &mut self,
        cx: &mut Context<'_>,
        nodes: &[Node],
        renewed: &[u32],
        newcomer: Option<u32>,
    ) -> Vec<u8> {
        let epoch = self.group.epoch.next();
        let mut records = Vec::with_capacity(2 * nodes.len() * record_length(cx));
        for &node in nodes {
            let Some([left, right]) = self.children(node) else { continue };
            let secrets = [left, right].map(|child| self.secret(child).clone());
            let blinded = secrets.each_ref().map(|secret| blind(cx, secret));
            self.tree.set_key(node, cx.xor(&blinded[0], &blinded[1]));
            for (side, other, readers) in [(0, 1, right), (1, 0, left)] {
                let index = node.index * DEGREE + side as u32;
                let half = Node { level: node.level - 1, index };
                // A joining member gets the same with its path.
                if is_above_any(half, renewed) && newcomer.map(Node::leaf) != Some(readers) {
                    let kek = wrapping_key(cx, &secrets[other]);
                    records.extend_from_slice(&half.id().to_be_bytes());
                    cx.wrap_keys(&kek, epoch, label(half), [&blinded[side]], &mut records);
                }
            }
        }
        records
    }

    /// Renews leaves and the secrets that follow from them. Sends the changes to all members.
    fn update(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        changed: u32,
        mut renewed: Vec<u32>,
    ) {
        renewed.sort_unstable();
        let newcomer = (operation == Operation::Add).then_some(changed);
        let mut nodes: Vec<_> = match operation {
            Operation::Create => {
                (1..=self.tree.height()).flat_map(|level| self.tree.key_nodes(level)).collect()
            }
            _ => renewed.iter().flat_map(|&slot| self.tree.path(slot)).collect(),
        };
        nodes.sort_unstable();
        nodes.dedup();
        let leaves = self.renew_leaves(cx, &renewed, newcomer);
        let blinded = self.climb(cx, &nodes, &renewed, newcomer);
        let epoch = self.group.epoch.next();
        let group_key = group_key(cx, epoch, self.secret(self.tree.root(&self.group.roster)));
        self.group.enter_next(cx, group_key);
        if newcomer.is_some() {
            self.send_path(cx, changed, operation);
        }
        let confirmation = Confirmation::of_held(cx, self.profile, self.group.group_key());
        cx.reserve(1, leaves.len() + blinded.len() + 33);
        let mut draft = cx.draft(Recipient::Group, epoch, operation, UPDATE);
        draft.number(u64::from(changed)).bytes(&leaves).bytes(&blinded);
        confirmation.write(&mut draft);
        draft.send();
    }

    fn send_path(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let roster = &self.group.roster;
        let mut levels = Vec::with_capacity(LEVELS);
        let mut keys = Vec::with_capacity(LEVELS + 1);
        keys.push(self.leaves[slot as usize].clone());
        for node in self.tree.path(slot) {
            let others = self.children(node).into_iter().flatten();
            for other in others.filter(|child| !child.is_above(slot, DEGREE)) {
                levels.push(node.level);
                keys.push(blind(cx, self.secret(other)));
            }
        }
        let to = Recipient::Member(roster.member(slot));
        cx.draft(to, self.group.epoch, operation, PATH)
            .bytes(&levels)
            .wrapped(roster.key(slot), self.group.epoch, PATH_LABEL, &keys)
            .send();
    }

    /// Returns the member whose leaf secret is renewed to give a half a new blinded secret.
    fn first_below(&self, half: Node) -> Option<u32> {
        self.tree.members_below(half, &self.group.roster).next()
    }

    fn children(&self, node: Node) -> Option<[Node; 2]> {
        let mut children = self.tree.children(node, &self.group.roster);
        Some([children.next()?, children.next()?])
    }

    fn secret(&self, node: Node) -> &Key {
        match node.level {
            0 => &self.leaves[node.index as usize],
            _ => self.tree.key(node, &self.group.roster),
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

    fn create(&mut self, cx: &mut Context<'_>) {
        self.make_leaves();
        let roster = &self.group.roster;
        self.tree.fill(roster);
        let everybody = (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot)).collect();
        self.update(cx, Operation::Create, 0, everybody);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.tree.occupy(slot);
        self.make_leaves();
        // The joining member and the half beside it become the halves of a node that had no secret.
        let lowest = self.tree.path(slot).next();
        let beside = lowest.and_then(|node| self.first_below(half_beside(slot, node.level)));
        self.update(cx, Operation::Add, slot, [slot].into_iter().chain(beside).collect());
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let before: Vec<_> = self.tree.path(slot).collect();
        self.tree.vacate(slot);
        self.leaves[slot as usize] = Key::default();
        // The lowest node has lost a child; it is contracted.
        if let Some(&lowest) = before.first() {
            self.tree.set_key(lowest, Key::default());
        }
        let halves = before.iter().map(|node| half_beside(slot, node.level));
        let known = if self.profile.is_published() { 1 } else { before.len() };
        let renewed = halves.take(known).filter_map(|half| self.first_below(half)).collect();
        self.update(cx, Operation::Remove, slot, renewed);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        // A new secret of any leaf changes the root's.
        let first = self.group.roster.current_slots().next();
        self.update(cx, Operation::Rekey, 0, first.into_iter().collect());
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_path(cx, slot, Operation::CatchUp);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        let leaves = if self.group_key().is_some() { self.group.roster.len() } else { 0 };
        let secrets = (leaves + self.tree.key_count()) * Key::BYTES;
        // Two children's secrets, plain and blinded, and a key for a wrap.
        Footprint { permanent: self.group.key_bytes() + secrets, temporary: 5 * Key::BYTES }
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.tree.shown(&self.group.roster, |node| {
            let secret = match node.level {
                0 => &self.leaves[node.index as usize],
                _ => self.tree.key(node, &self.group.roster),
            };
            KeyFingerprint::of(cx, secret.as_bytes())
        })
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        let (membership, leaf, blinded) =
            (ServedMembership::default(), Key::default(), List::new());
        Self { profile, membership, leaf, blinded }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::Create | Operation::Add | Operation::Remove | Operation::Rekey, UPDATE) => {
                self.follow(cx, message)
            }
            (Operation::Add | Operation::CatchUp, PATH) => self.take_path(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Takes the new blinded secrets beside the path, and computes the rest from the leaf upwards.
    fn follow(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let enrolment = self.membership.enrolment()?;
        let mut body = message.body();
        let changed = body.number32()?;
        let wrapped_length = cx.wrapped_length(1);
        let leaves = SortedRecords::parse_some(body.bytes()?, wrapped_length)?;
        let blinded = SortedRecords::parse_some(body.bytes()?, wrapped_length)?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        if header.operation == Operation::Add && self.membership.is_own_joining(message, changed)? {
            return Ok(());
        }
        let admission = self.membership.admit(message)?;
        let kept = match (admission, header.operation) {
            (Continuation::Continues, _) => &self.blinded[..],
            (Continuation::StartsAnew, Operation::Create) => &[],
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let own = Node::leaf(enrolment.slot);
        let leaf = match leaves.find(own.id()) {
            Some(wrapped) => cx.unwrap_key(&enrolment.key, header.epoch, label(own), wrapped)?,
            None if admission == Continuation::Continues => self.leaf.clone(),
            None => return Err(Misbehaviour::NothingForUs.into()),
        };
        let mut secret = leaf.clone();
        let mut is_new = leaf != self.leaf;
        let mut path = List::with_capacity(self.blinded.len() + 1);
        for level in 1..LEVELS as u8 {
            let half = half_beside(enrolment.slot, level);
            let held = kept.iter().find(|(held, _)| *held == level);
            // If the evicted member was alone in the half, the node above the half is gone.
            let gone = header.operation == Operation::Remove && half.is_above(changed, DEGREE);
            let value = match (blinded.find(half.id()), held) {
                (Some(wrapped), _) => {
                    is_new = true;
                    let kek = wrapping_key(cx, &secret);
                    cx.unwrap_key(&kek, header.epoch, label(half), wrapped)?
                }
                (None, Some((_, value))) if !gone => value.clone(),
                _ => continue,
            };
            secret = parent_secret(cx, &secret, &value);
            path.push((level, value));
        }
        if path.is_empty() || !is_new {
            return Err(Misbehaviour::NothingForUs.into());
        }
        let group_key = group_key(cx, header.epoch, &secret);
        confirmation.verify(cx, self.profile, header.epoch, &group_key)?;
        self.enter(cx, header.epoch, leaf, path, group_key);
        Ok(())
    }

    fn take_path(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.membership.admit(message)?;
        let enrolment = self.membership.enrolment()?;
        let mut body = message.body();
        let (levels, wrapped) = (body.bytes()?, body.bytes()?);
        body.finish()?;
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let (Some(&lowest), Some(&highest)) = (levels.first(), levels.last()) else {
            return Err(Misbehaviour::Malformed.into());
        };
        if !ascending || lowest == 0 || usize::from(highest) >= LEVELS {
            return Err(Misbehaviour::Malformed.into());
        }
        let epoch = message.header().epoch;
        let mut keys = List::zeros(levels.len() + 1);
        cx.unwrap_keys(&enrolment.key, epoch, PATH_LABEL, wrapped, &mut keys)?;
        let (leaf, keys) = keys.split_first().ok_or(Misbehaviour::Malformed)?;
        let path: List<_> = levels.iter().copied().zip(keys.iter().cloned()).collect();
        let mut secret = leaf.clone();
        for (_, value) in &path {
            secret = parent_secret(cx, &secret, value);
        }
        let group_key = group_key(cx, epoch, &secret);
        self.enter(cx, epoch, leaf.clone(), path, group_key);
        Ok(())
    }

    fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        leaf: Key,
        blinded: List<(u8, Key)>,
        group_key: Key,
    ) {
        (self.leaf, self.blinded) = (leaf, blinded);
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
        let held = if self.group_key().is_some() { self.blinded.len() + 1 } else { 0 };
        let permanent = self.membership.key_bytes() + held * Key::BYTES;
        // The new leaf secret and blinded secrets, a node's secret and the key for a wrap.
        Footprint { permanent, temporary: (held + 2) * Key::BYTES }
    }
}

/// Returns the half of a slot's ancestor that the slot is not in. The level is the ancestor's, from
/// 1 on. Messages name blinded secrets by the half, because the inner shape of a half does not
/// concern the members outside.
const fn half_beside(slot: u32, level: u8) -> Node {
    let level = level - 1;
    Node { level, index: slot >> level ^ 1 }
}

/// Returns whether one of these slots, which are ascending, is below a node.
fn is_above_any(node: Node, slots: &[u32]) -> bool {
    let place = slots.partition_point(|&slot| slot >> node.level < node.index);
    slots.get(place).is_some_and(|&slot| node.is_above(slot, DEGREE))
}

const fn record_length(cx: &Context<'_>) -> usize {
    4 + cx.wrapped_length(1)
}

/// Returns the label that binds a wrap to the node whose secret is wrapped.
const fn label(node: Node) -> u64 {
    node.id() as u64
}

/// The label of a member's path. No node has this label.
const PATH_LABEL: u64 = 1 << 32;

/// Returns the blinded secret of a node. Members in the other half of the node above may know it.
fn blind(cx: &mut Context<'_>, secret: &Key) -> Key {
    cx.hash(secret, "groupkey oft blind")
}

/// Returns the secret of the node above, from one half's secret and the other half's blinded
/// secret.
fn parent_secret(cx: &mut Context<'_>, own: &Key, other: &Key) -> Key {
    let own = blind(cx, own);
    cx.xor(&own, other)
}

/// Returns the key for wraps that all members below a node can open.
fn wrapping_key(cx: &mut Context<'_>, secret: &Key) -> Key {
    cx.derive(secret, "groupkey oft wrap", &[])
}

fn group_key(cx: &mut Context<'_>, epoch: Epoch, root: &Key) -> Key {
    cx.derive_for(epoch, root, "groupkey oft group key")
}

#[cfg(test)]
mod tests;
