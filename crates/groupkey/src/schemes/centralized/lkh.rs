//! LKH, the logical key hierarchy: a tree of keys, with the members at its leaves and the group key
//! at its root. A member holds the keys on its path; a change replaces the keys on one path.
//!
//! Source: Wong, Gouda, Lam, "Secure group communications using key graphs", IEEE/ACM ToN 8(1),
//! 2000; Wallner, Harder, Agee, RFC 2627; creation in one go and the number of messages of the
//! `published` profile: S000 section 5.2. Class: centralized. Provenance: specified.
//!
//! The three strategies differ in how new keys are put into messages: `lkh-user` wraps all that a
//! member needs in one call; `lkh-key` wraps each new key once and gives every member those it
//! needs; `lkh-group` puts everything into one broadcast.
//!
//! For a complete tree of degree d and height h = log_d n (n members after an add, before a
//! remove), in wrapped keys; p is the number of key nodes on the path, h when the tree is complete:
//!
//! | operation | lkh-user | lkh-key | lkh-group |
//! |---|---|---|---|
//! | create, wrapped keys | n·h | 2n-2 for d=2, edges of the tree (published: n·h) | edges |
//! | create, messages | n unicasts | n unicasts | 1 broadcast |
//! | add, wrapped keys | p(p+1)/2 + p | 2p | 2p |
//! | add, messages | 1 unicast, 1 multicast per sibling (published: 1 broadcast) | as lkh-user | 1 unicast, 1 broadcast |
//! | remove, wrapped keys | (d-1)·h(h+1)/2 | d·h-1 | d·h-1 |
//! | remove, messages | 1 multicast per sibling, (d-1)h (published: n-1 unicasts) | as lkh-user | 1 broadcast |
//! | member, unwraps | 1 | at most h | at most h |
//!
//! With d = 2 a removal contracts the lowest node: its row is then that of a tree of height h-1 with
//! the sibling moved up, 2(h-1) wrapped keys in lkh-key and lkh-group, h(h-1)/2 in lkh-user.
//!
//! Keys held: controller n individual keys and one per key node; member at most h + 2.
//!
//! Profiles: `published` has degree 2, uses the root key as group key, computes the wraps of
//! `lkh-key` for every member anew, sends an add as one unicast and one broadcast and the messages
//! of a remove to every member singly (S000 sections 5.2.1 to 5.2.3). `sound` has degree 4, derives
//! the group key from the root key, and sends to the topics of subtrees.
//!
//! Bodies, after the slot that changed (0 in a creation): records, a packed byte string of
//! `under, target, {target's key}_under` sorted by `under`, or an array of bundles
//! `under, levels, {keys}_under`. A key node without a second child has no key (see `key_tree`).
//!
//! Deviations: a member that missed rekeys asks for its path; a node that a removal leaves with one
//! child is contracted at once; WGL sends an add of `lkh-user` and `lkh-key` once per path node to
//! those whose lowest new key it is, which is here one message to each sibling subtree.

use alloc::vec;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::outbox::{Event, Recipient, SubsetId};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::Profile;
use crate::schemes::centralized::enrolment::{Enrolment, Roster};
use crate::schemes::centralized::key_tree::{KeyTree, Node};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// How new keys are put into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One broadcast for all.
    Group,
    /// Each new key wrapped once; each member is sent those it needs.
    Key,
    /// All that a member needs, wrapped in one call.
    User,
}

/// The controller.
#[derive(Debug)]
pub struct Controller {
    strategy: Strategy,
    profile: Profile,
    roster: Roster,
    tree: KeyTree,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    strategy: Strategy,
    profile: Profile,
    degree: u32,
    enrolment: Option<Enrolment>,
    /// The keys above the member's slot, lowest first.
    path: Vec<(Node, Key)>,
    /// The level up to which the member listens to its subtrees' topics.
    listening: u8,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// Carries records.
const RECORDS: u8 = 0;
/// Carries bundles.
const BUNDLES: u8 = 1;
/// Asks for the current keys of the path.
const REQUEST: u8 = 2;

impl Controller {
    /// A controller without members, for trees of a degree from 2 on.
    pub fn new(strategy: Strategy, profile: Profile, degree: u32) -> Self {
        Self {
            strategy,
            profile,
            roster: Roster::new(),
            tree: KeyTree::new(degree),
            epoch: Epoch(0),
            group_key: None,
        }
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.group_key.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.roster.join_all(members)?;
        self.tree.fill(&self.roster);
        for level in 1..=self.tree.height() {
            let nodes: Vec<_> = self.tree.key_nodes(level, &self.roster).collect();
            for node in nodes {
                self.tree.set_key(node, cx.random_key());
            }
        }
        self.begin_epoch(cx);
        match self.strategy {
            Strategy::Group => self.broadcast_tree(cx),
            Strategy::Key => self.send_chains(cx),
            Strategy::User => self.send_paths(cx),
        }
        Ok(())
    }

    fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        let slot = self.roster.join(member)?;
        self.tree.occupy(slot);
        let (tree, roster) = (&self.tree, &self.roster);
        // A node that gets its second child now had no key before.
        let newly_keyed =
            tree.path(slot, roster).next().filter(|&node| tree.children(node, roster).count() == 2);
        let path: Vec<_> = tree.path(slot, roster).collect();
        let mut changes = Vec::with_capacity(path.len());
        for node in path {
            let old = self.tree.set_key(node, cx.random_key());
            let from = match newly_keyed {
                Some(new) if new == node => self.sibling(node, slot),
                _ => node,
            };
            let old = if from == node { old } else { self.key(from).clone() };
            changes.push(Change { node, from, old });
        }
        self.begin_epoch(cx);
        self.welcome(cx, slot, member, Operation::Add);
        match (self.strategy, self.profile) {
            (Strategy::Group, _) | (Strategy::Key, Profile::Published) => {
                let mut records = Vec::new();
                changes.iter().for_each(|change| self.refresh_record(cx, change, &mut records));
                self.send_records(cx, Recipient::Group, Operation::Add, slot, &records);
            }
            (Strategy::User, Profile::Published) => {
                let bundles: Vec<_> =
                    (0..changes.len()).map(|lowest| self.bundle(cx, &changes[lowest..])).collect();
                send_bundles(cx, Recipient::Group, self.epoch, Operation::Add, slot, &bundles);
            }
            (Strategy::Key | Strategy::User, Profile::Sound) => {
                self.send_to_siblings(cx, slot, &changes);
            }
        }
        Ok(())
    }

    fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        let slot = self.roster.current(member)?;
        if self.roster.len() == 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        let before: Vec<_> = self.tree.path(slot, &self.roster).collect();
        self.roster.evict(member);
        self.tree.vacate(slot);
        let path: Vec<_> = self.tree.path(slot, &self.roster).collect();
        for &node in &before {
            let key = if path.contains(&node) { cx.random_key() } else { Key::default() };
            self.tree.set_key(node, key);
        }
        if path.is_empty() {
            self.replace_root(cx, slot);
            return Ok(());
        }
        self.begin_epoch(cx);
        let mut wraps: Vec<_> = path
            .iter()
            .flat_map(|&target| {
                self.tree.children(target, &self.roster).map(move |under| (under, target))
            })
            .collect();
        wraps.sort_unstable();
        match self.strategy {
            Strategy::Group => {
                let mut records = Vec::new();
                for (under, target) in wraps {
                    self.record(cx, under, target, &mut records);
                }
                self.send_records(cx, Recipient::Group, Operation::Remove, slot, &records);
            }
            Strategy::Key => self.remove_by_key(cx, slot, &path, &wraps),
            Strategy::User => self.remove_by_user(cx, slot, &path, &wraps),
        }
        Ok(())
    }

    /// The evicted member shared nothing but the old root, which is gone. The node below it becomes
    /// the root, and because its key may have been the group key before, it gets a new one.
    fn replace_root(&mut self, cx: &mut Context<'_>, slot: u32) {
        let node = self.tree.root(&self.roster);
        let old = self.tree.set_key(node, cx.random_key());
        self.begin_epoch(cx);
        let change = Change { node, from: node, old };
        let mut records = Vec::new();
        self.refresh_record(cx, &change, &mut records);
        let to_all = [Recipient::Group];
        let to_each = self.recipients(node);
        let recipients = if self.strategy == Strategy::Group { &to_all[..] } else { &to_each };
        for &to in recipients {
            self.send_records(cx, to, Operation::Remove, slot, &records);
        }
    }

    fn remove_by_user(
        &self,
        cx: &mut Context<'_>,
        slot: u32,
        path: &[Node],
        wraps: &[(Node, Node)],
    ) {
        for &(under, target) in wraps.iter().filter(|(under, _)| !path.contains(under)) {
            let from_target = path.iter().position(|&node| node == target).unwrap_or(0);
            let bundle = [Bundle::new(cx, self, under, self.key(under), &path[from_target..])];
            for to in self.recipients(under) {
                send_bundles(cx, to, self.epoch, Operation::Remove, slot, &bundle);
            }
        }
    }

    fn remove_by_key(
        &self,
        cx: &mut Context<'_>,
        slot: u32,
        path: &[Node],
        wraps: &[(Node, Node)],
    ) {
        let mut records = Vec::new();
        for &(under, target) in wraps {
            self.record(cx, under, target, &mut records);
        }
        let record_length = record_length(cx);
        let record = |place: usize| &records[place * record_length..][..record_length];
        for (place, &(under, target)) in wraps.iter().enumerate() {
            if path.contains(&under) {
                continue;
            }
            // The sibling's own record first, then those that lead from its target to the root.
            let mut needed = record(place).to_vec();
            for (later, &(under, _)) in wraps.iter().enumerate() {
                if under.level >= target.level && path.contains(&under) {
                    needed.extend_from_slice(record(later));
                }
            }
            for to in self.recipients(under) {
                self.send_records(cx, to, Operation::Remove, slot, &needed);
            }
        }
    }

    /// Sends what changed to each subtree that hangs off the path of a newcomer.
    fn send_to_siblings(&self, cx: &mut Context<'_>, slot: u32, changes: &[Change]) {
        let mut records = Vec::new();
        if self.strategy == Strategy::Key {
            changes.iter().for_each(|change| self.refresh_record(cx, change, &mut records));
        }
        let record_length = record_length(cx);
        for (place, change) in changes.iter().enumerate() {
            let bundle =
                (self.strategy == Strategy::User).then(|| [self.bundle(cx, &changes[place..])]);
            for child in self.tree.children(change.node, &self.roster) {
                if self.leads_to(child, slot) {
                    continue;
                }
                for to in self.recipients(child) {
                    match &bundle {
                        Some(bundle) => {
                            send_bundles(cx, to, self.epoch, Operation::Add, slot, bundle);
                        }
                        None => {
                            let needed = &records[place * record_length..];
                            self.send_records(cx, to, Operation::Add, slot, needed);
                        }
                    }
                }
            }
        }
    }

    /// The new keys of these nodes, bundled for those who hold what the lowest was wrapped under.
    fn bundle(&self, cx: &mut Context<'_>, changes: &[Change]) -> Bundle {
        let targets: Vec<_> = changes.iter().map(|change| change.node).collect();
        Bundle::new(cx, self, changes[0].from, &changes[0].old, &targets)
    }

    /// Every key, wrapped under each child's: one broadcast for the whole tree.
    fn broadcast_tree(&self, cx: &mut Context<'_>) {
        let wraps = self.wraps();
        let length = record_length(cx) * wraps.len();
        cx.reserve(1, length + 16);
        let wrapped_length = cx.wrapped_length(1);
        debug_assert_eq!(record_length(cx), wrapped_length + 8);
        let mut draft = cx.draft(Recipient::Group, self.epoch, Operation::Create, RECORDS);
        draft.number(0).packed(length);
        for (under, target) in wraps {
            draft.packed_number(under.id()).packed_number(target.id()).packed_wrapped(
                self.key(under),
                self.epoch,
                label(under, target),
                [self.key(target)],
            );
        }
        draft.send();
    }

    /// To every member the keys of its path, all wrapped in one call.
    fn send_paths(&self, cx: &mut Context<'_>) {
        let height = usize::from(self.tree.height());
        cx.reserve(self.roster.len(), cx.wrapped_length(height) + height + 12);
        for slot in self.joined_slots() {
            self.welcome(cx, slot, self.roster.member(slot), Operation::Create);
        }
    }

    /// To every member the records that lead from its own key to the root.
    fn send_chains(&self, cx: &mut Context<'_>) {
        let record_length = record_length(cx);
        let height = usize::from(self.tree.height());
        cx.reserve(self.roster.len(), record_length * height + 6);
        let mut chain = Vec::with_capacity(record_length * height);
        // Each key is wrapped under each child's once, however many members need it.
        let mut shared = Vec::new();
        let mut wraps = Vec::new();
        if self.profile == Profile::Sound {
            wraps = self.wraps();
            shared.reserve_exact(wraps.len() * record_length);
            for &(under, target) in &wraps {
                self.record(cx, under, target, &mut shared);
            }
        }
        let levels = LevelStarts::of(&wraps, self.tree.height());
        for slot in self.joined_slots() {
            chain.clear();
            let mut under = Node::leaf(slot);
            for target in self.tree.path(slot, &self.roster) {
                if self.profile == Profile::Sound {
                    let place = levels.find(&wraps, under);
                    chain.extend_from_slice(&shared[place * record_length..][..record_length]);
                } else {
                    self.record(cx, under, target, &mut chain);
                }
                under = target;
            }
            let to = Recipient::Member(self.roster.member(slot));
            self.send_records(cx, to, Operation::Create, 0, &chain);
        }
    }

    /// To one member all keys of its path, under its individual key.
    fn welcome(&self, cx: &mut Context<'_>, slot: u32, member: MemberId, operation: Operation) {
        let to = Recipient::Member(member);
        let leaf = Node::leaf(slot);
        if self.strategy == Strategy::Key && operation == Operation::Add {
            let mut records = Vec::new();
            let mut under = leaf;
            for target in self.tree.path(slot, &self.roster) {
                self.record(cx, under, target, &mut records);
                under = target;
            }
            return self.send_records(cx, to, operation, slot, &records);
        }
        let mut nodes = [leaf; LEVELS];
        let mut count = 0;
        for node in self.tree.path(slot, &self.roster) {
            nodes[count] = node;
            count += 1;
        }
        let nodes = &nodes[..count];
        let mut levels = [0; LEVELS];
        levels.iter_mut().zip(nodes).for_each(|(level, node)| *level = node.level);
        let changed = if operation == Operation::Create { 0 } else { slot };
        cx.draft(to, self.epoch, operation, BUNDLES)
            .number(u64::from(changed))
            .array(1)
            .array(3)
            .number(u64::from(leaf.id()))
            .bytes(&levels[..count])
            .wrapped(
                self.roster.key(slot),
                self.epoch,
                bundle_label(leaf, leaf),
                nodes.iter().map(|&node| self.key(node)),
            )
            .send();
    }

    /// Sends a member that asks for it its whole path.
    fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        if (message.header().operation, message.header().kind) != (Operation::CatchUp, REQUEST) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.body().finish()?;
        let slot = self.roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        self.require_group()?;
        self.welcome(cx, slot, member, Operation::CatchUp);
        Ok(())
    }

    /// Every key node with each of its children, in the order of the children's ids.
    fn wraps(&self) -> Vec<(Node, Node)> {
        let mut wraps = Vec::with_capacity(self.roster.len() * 2);
        for slot in self.joined_slots() {
            self.push_wrap(Node::leaf(slot), &mut wraps);
        }
        for level in 1..=self.tree.height() {
            for node in self.tree.key_nodes(level, &self.roster) {
                self.push_wrap(node, &mut wraps);
            }
        }
        wraps
    }

    fn push_wrap(&self, under: Node, wraps: &mut Vec<(Node, Node)>) {
        if let Some(target) = self.tree.key_node_above(under, &self.roster) {
            wraps.push((under, target));
        }
    }

    fn record(&self, cx: &mut Context<'_>, under: Node, target: Node, out: &mut Vec<u8>) {
        out.extend_from_slice(&under.id().to_be_bytes());
        out.extend_from_slice(&target.id().to_be_bytes());
        let label = label(under, target);
        cx.wrap_keys(self.key(under), self.epoch, label, [self.key(target)], out);
    }

    /// A node's new key for those who hold what it had before, or the key of its first child.
    fn refresh_record(&self, cx: &mut Context<'_>, change: &Change, out: &mut Vec<u8>) {
        out.extend_from_slice(&change.from.id().to_be_bytes());
        out.extend_from_slice(&change.node.id().to_be_bytes());
        let label = label(change.from, change.node);
        cx.wrap_keys(&change.old, self.epoch, label, [self.key(change.node)], out);
    }

    fn send_records(
        &self,
        cx: &mut Context<'_>,
        to: Recipient,
        operation: Operation,
        slot: u32,
        records: &[u8],
    ) {
        cx.draft(to, self.epoch, operation, RECORDS).number(u64::from(slot)).bytes(records).send();
    }

    /// To whom a message for the members below a node goes.
    fn recipients(&self, node: Node) -> Vec<Recipient> {
        if self.profile == Profile::Sound && node.level > 0 {
            return vec![Recipient::Subset(SubsetId(node.id()))];
        }
        let slots = self.tree.members_below(node, &self.roster);
        slots.map(|slot| Recipient::Member(self.roster.member(slot))).collect()
    }

    /// The child of a node that does not lead to a slot; the node has just two.
    fn sibling(&self, node: Node, slot: u32) -> Node {
        let mut children = self.tree.children(node, &self.roster);
        children.find(|&child| !self.leads_to(child, slot)).unwrap_or(node)
    }

    fn leads_to(&self, node: Node, slot: u32) -> bool {
        node.is_above(slot, self.tree.degree())
    }

    fn joined_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.roster.slots() as u32).filter(|&slot| self.roster.is_joined(slot))
    }

    fn key(&self, node: Node) -> &Key {
        self.tree.key(node, &self.roster)
    }

    fn begin_epoch(&mut self, cx: &mut Context<'_>) {
        self.epoch = self.epoch.next();
        let root_key = self.key(self.tree.root(&self.roster));
        self.group_key = Some(group_key(cx, self.profile, self.epoch, root_key));
        cx.event(Event::Rekeyed(self.epoch));
    }

    fn require_group(&self) -> Result<(), Error> {
        if self.group_key.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::CatchUp) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(members)) => self.roster.enroll(cx, self.epoch, members),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.answer(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let group_key = usize::from(self.group_key.is_some());
        let tree = (self.tree.key_count(&self.roster) + group_key) * Key::BYTES;
        let path = usize::from(self.tree.height()) * Key::BYTES;
        Footprint { permanent: self.roster.key_bytes() + tree, temporary: 2 * path }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub const fn new(strategy: Strategy, profile: Profile, degree: u32) -> Self {
        Self {
            strategy,
            profile,
            degree,
            enrolment: None,
            path: Vec::new(),
            listening: 0,
            epoch: Epoch(0),
            group_key: None,
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        if self.is_for_the_others(message)? {
            return Ok(());
        }
        let kept = match header.operation {
            Operation::Enroll if self.enrolment.is_none() => {
                self.enrolment = Some(Enrolment::receive(message)?);
                return Ok(());
            }
            Operation::Create | Operation::Add | Operation::Remove if self.group_key.is_some() => {
                message.follows(self.epoch)?;
                &self.path[..]
            }
            Operation::Create | Operation::Add | Operation::CatchUp => {
                message.is_later_than(self.epoch)?;
                &[]
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let enrolment = self.enrolment.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let update = Update { degree: self.degree, enrolment, kept, epoch: header.epoch };
        let mut body = message.body();
        let changed = body.number32()?;
        let new = match header.kind {
            RECORDS => update.from_records(cx, body)?,
            BUNDLES => update.from_bundles(cx, body)?,
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let path = update.merge(header.operation, changed, new);
        let Some((root, root_key)) = path.last() else {
            return Err(Misbehaviour::NothingForUs.into());
        };
        let group_key = group_key(cx, self.profile, header.epoch, root_key);
        let slot = enrolment.slot;
        let top = root.level;
        self.epoch = header.epoch;
        self.group_key = Some(group_key);
        self.path = path;
        self.listen(cx, slot, top);
        cx.event(Event::Rekeyed(self.epoch));
        Ok(())
    }

    /// Whether this is the broadcast of the member's own joining, which it hears but does not need.
    fn is_for_the_others(&self, message: &Message<'_>) -> Result<bool, Error> {
        let header = message.header();
        if header.operation != Operation::Add || header.to != Recipient::Group {
            return Ok(false);
        }
        let newcomer = message.body().number32()?;
        Ok(self.enrolment.as_ref().is_some_and(|enrolment| enrolment.slot == newcomer))
    }

    /// Subscribes to the topics of the member's subtrees, as far as they are used.
    fn listen(&mut self, cx: &mut Context<'_>, slot: u32, top: u8) {
        if self.strategy == Strategy::Group || self.profile == Profile::Published {
            return;
        }
        for level in self.listening + 1..=top {
            let node = Node::above(slot, level, self.degree);
            cx.event(Event::Subscribed(SubsetId(node.id())));
        }
        self.listening = self.listening.max(top);
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::CatchUp) => {
                cx.draft(Recipient::Controller, self.epoch, Operation::CatchUp, REQUEST).send();
                Ok(())
            }
            Input::Command(_) => Err(Misuse::WrongRole.into()),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let keys = usize::from(self.enrolment.is_some()) + usize::from(self.group_key.is_some());
        let path = self.path.len() * Key::BYTES;
        Footprint { permanent: keys * Key::BYTES + path, temporary: path }
    }
}

/// A node that an add gave a new key.
struct Change {
    node: Node,
    /// The node whose key old members hold and the new key is wrapped under: the node itself, or its
    /// only child so far where it had no key.
    from: Node,
    /// That key.
    old: Key,
}

/// Keys of a member's path, wrapped in one call.
struct Bundle {
    under: Node,
    levels: Vec<u8>,
    wrapped: Vec<u8>,
}

/// What a member knows when it reads a rekey message.
struct Update<'a> {
    degree: u32,
    enrolment: &'a Enrolment,
    /// Keys that still count, lowest first.
    kept: &'a [(Node, Key)],
    epoch: Epoch,
}

/// Where the records of each level begin, so that one is found without searching the rest.
struct LevelStarts(Vec<usize>);

/// More levels than a tree of 2^27 slots has.
const LEVELS: usize = 32;

impl Bundle {
    fn new(
        cx: &mut Context<'_>,
        controller: &Controller,
        under: Node,
        kek: &Key,
        targets: &[Node],
    ) -> Self {
        let levels = targets.iter().map(|node| node.level).collect();
        let mut wrapped = Vec::with_capacity(cx.wrapped_length(targets.len()));
        let keys = targets.iter().map(|&node| controller.key(node));
        cx.wrap_keys(kek, controller.epoch, bundle_label(under, targets[0]), keys, &mut wrapped);
        Self { under, levels, wrapped }
    }
}

impl Update<'_> {
    /// Follows the records upwards from what the member holds.
    fn from_records(
        &self,
        cx: &mut Context<'_>,
        mut body: Reader<'_>,
    ) -> Result<Vec<(Node, Key)>, Error> {
        let packed = body.bytes()?;
        body.finish()?;
        let records = Records::parse(cx, packed)?;
        let mut new: Vec<(Node, Key)> = Vec::new();
        for level in 0..LEVELS as u8 {
            let under = Node::above(self.enrolment.slot, level, self.degree);
            let Some((target, wrapped)) = records.find(under) else { continue };
            if target < under || !target.is_above(self.enrolment.slot, self.degree) {
                return Err(Misbehaviour::Malformed.into());
            }
            // A node's own new key comes under its old one, anything else under the newest.
            let newest = new.iter().find(|(node, _)| *node == under).map(|(_, key)| key);
            let kek = if target == under { None } else { newest };
            let Some(kek) = kek.or_else(|| self.held(under)) else { continue };
            let key = cx.unwrap_key(kek, self.epoch, label(under, target), wrapped)?;
            new.push((target, key));
        }
        Ok(new)
    }

    /// Opens the lowest bundle that the member can.
    fn from_bundles(
        &self,
        cx: &mut Context<'_>,
        mut body: Reader<'_>,
    ) -> Result<Vec<(Node, Key)>, Error> {
        let count = body.array()?;
        let mut best: Option<(Node, &[u8], &[u8])> = None;
        for _ in 0..count {
            if body.array()? != 3 {
                return Err(Misbehaviour::Malformed.into());
            }
            let under = Node::from_id(body.number32()?);
            let (levels, wrapped) = (body.bytes()?, body.bytes()?);
            if self.held(under).is_some() && best.is_none_or(|(lowest, ..)| under < lowest) {
                best = Some((under, levels, wrapped));
            }
        }
        body.finish()?;
        let (under, levels, wrapped) = best.ok_or(Misbehaviour::NothingForUs)?;
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let lowest = levels.first().ok_or(Misbehaviour::Malformed)?;
        if !ascending || *lowest < under.level || levels.iter().any(|&l| l == 0 || l >= 32) {
            return Err(Misbehaviour::Malformed.into());
        }
        let node = |&level: &u8| Node::above(self.enrolment.slot, level, self.degree);
        let label = bundle_label(under, node(lowest));
        let kek = self.held(under).ok_or(Misbehaviour::NothingForUs)?;
        let mut keys = vec![Key::default(); levels.len()];
        cx.unwrap_keys(kek, self.epoch, label, wrapped, &mut keys)?;
        Ok(levels.iter().map(node).zip(keys).collect())
    }

    /// The path after the update: what is new, and what was kept and not touched. Empty if the root
    /// is not new, for then the message did not carry what it should.
    fn merge(&self, operation: Operation, changed: u32, new: Vec<(Node, Key)>) -> Vec<(Node, Key)> {
        let is_new = |node: Node| new.iter().any(|(other, _)| *other == node);
        // Whatever an evicted member knew is either new or gone.
        let gone =
            |node: Node| operation == Operation::Remove && node.is_above(changed, self.degree);
        let untouched = self.kept.iter().filter(|&&(node, _)| !is_new(node) && !gone(node));
        let mut path: Vec<_> = untouched.cloned().chain(new.iter().cloned()).collect();
        path.sort_unstable_by_key(|&(node, _)| node);
        match path.last() {
            Some(&(root, _)) if is_new(root) => path,
            _ => Vec::new(),
        }
    }

    fn held(&self, node: Node) -> Option<&Key> {
        if node == Node::leaf(self.enrolment.slot) {
            return Some(&self.enrolment.key);
        }
        self.kept.iter().find(|(held, _)| *held == node).map(|(_, key)| key)
    }
}

/// Records as they came, not copied.
struct Records<'a> {
    packed: &'a [u8],
    length: usize,
}

impl<'a> Records<'a> {
    fn parse(cx: &Context<'_>, packed: &'a [u8]) -> Result<Self, Error> {
        let length = record_length(cx);
        if packed.is_empty() || !packed.len().is_multiple_of(length) {
            return Err(Misbehaviour::Malformed.into());
        }
        Ok(Self { packed, length })
    }

    /// The target and the wrapped key of the record under a node, found by bisection.
    fn find(&self, under: Node) -> Option<(Node, &'a [u8])> {
        let (mut low, mut high) = (0, self.packed.len() / self.length);
        while low < high {
            let middle = low + (high - low) / 2;
            let record = &self.packed[middle * self.length..][..self.length];
            let (id, rest) = record.split_first_chunk::<4>()?;
            match u32::from_be_bytes(*id).cmp(&under.id()) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
                core::cmp::Ordering::Equal => {
                    let (target, wrapped) = rest.split_first_chunk::<4>()?;
                    return Some((Node::from_id(u32::from_be_bytes(*target)), wrapped));
                }
            }
        }
        None
    }
}

impl LevelStarts {
    fn of(wraps: &[(Node, Node)], height: u8) -> Self {
        let levels = 0..=height + 1;
        Self(levels.map(|level| wraps.partition_point(|(under, _)| under.level < level)).collect())
    }

    fn find(&self, wraps: &[(Node, Node)], under: Node) -> usize {
        let level = usize::from(under.level);
        let (start, end) = (self.0[level], self.0[level + 1]);
        // Where a level has no holes the record is at its own index.
        let guess = start + under.index as usize;
        if wraps.get(guess).is_some_and(|&(other, _)| other == under) {
            return guess;
        }
        start + wraps[start..end].partition_point(|&(other, _)| other < under)
    }
}

fn send_bundles(
    cx: &mut Context<'_>,
    to: Recipient,
    epoch: Epoch,
    operation: Operation,
    slot: u32,
    bundles: &[Bundle],
) {
    let mut draft = cx.draft(to, epoch, operation, BUNDLES);
    draft.number(u64::from(slot)).array(bundles.len());
    for bundle in bundles {
        draft
            .array(3)
            .number(u64::from(bundle.under.id()))
            .bytes(&bundle.levels)
            .bytes(&bundle.wrapped);
    }
    draft.send();
}

/// The group key that belongs to a root key.
fn group_key(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, root: &Key) -> Key {
    match profile {
        Profile::Published => root.clone(),
        Profile::Sound => {
            let mut context = [0; 16];
            context[..8].copy_from_slice(&cx.group().0.to_be_bytes());
            context[8..].copy_from_slice(&epoch.0.to_be_bytes());
            cx.derive(root, "groupkey lkh group key", &context)
        }
    }
}

const fn record_length(cx: &Context<'_>) -> usize {
    8 + cx.wrapped_length(1)
}

/// What is wrapped under what, for the binding of a wrap.
const fn label(under: Node, target: Node) -> u64 {
    (under.id() as u64) << 32 | target.id() as u64
}

/// What a bundle is wrapped under, and its lowest key. Under an individual key there is but one
/// bundle in an epoch, the member's whole path.
const fn bundle_label(under: Node, lowest: Node) -> u64 {
    if under.level == 0 { label(under, under) } else { label(under, lowest) }
}
