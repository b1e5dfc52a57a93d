//! S2RP, the secure and scalable rekeying protocol: LKH's tree, in which the keys of a node are a
//! reverse hash chain. A removal reveals the next key, which hashes to the previous one, so members
//! recognise a genuine key by a hash. **As published, an evicted member and a member that joined
//! later together get the keys of the epochs between.**
//!
//! Source: Dini and Savino, "S2RP: a secure and scalable rekeying protocol for wireless sensor
//! networks", IEEE MASS 2006. Class: centralized. Provenance: reconstructed, because the paper was
//! not at hand: from its title and abstract, and from facts on an independent implementation
//! (ABE-SGC, M. Lauer, 2024): the join key J, the command chain, and the group key as XOR.
//!
//! A chain has L keys above its anchor (parameter `chain`). The group key is made of the root's
//! current key and of J. Every join hashes J. A joining member can hash the root's key back, but
//! not J. A join is a command: it reveals the next key of a chain of commands, of which all members
//! hold the current key. **Without J (`join-key` 0) `published` has no backward secrecy**: the
//! parameter is there to show this.
//!
//! The table counts wrapped keys. d is the degree. h is the number of key nodes above the member
//! (after an add, before a remove; log_d n in a complete tree). k is the number of key nodes of the
//! whole tree:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast | 2n + k wraps in n + k calls, (k + 1)L hashes | at most h + 2 unwraps in h + 1 calls |
//! | add, published | 1 unicast, 1 broadcast | h + 2 wraps in 1 call, 1 hash | joining member h + 2 unwraps in 1 call, others 2 hashes |
//! | add, sound | 1 unicast, 1 broadcast | 2h + 2 wraps in h + 1 calls, hL + 1 hashes | the same; others at most h unwraps, 2 hashes |
//! | remove | 1 broadcast | d·h - 1 wraps, 2(h - 1) for d = 2 | at most h unwraps and as many hashes |
//! | rekey | 1 broadcast | a wrap for each child of the root | 1 unwrap, 1 hash |
//! | catch up | 1 request, 1 unicast | h + 2 wraps in 1 call | h + 2 unwraps in 1 call, at most hL hashes |
//!
//! The controller has more costs: L hashes and a wrap for a node that a published add gives its
//! first chain. For the i-th key of a chain of which only the top is stored it takes L - i hashes.
//! This applies to each key node above at every removal, to the root at a rekey, and to the command.
//! `sound` derives the group key. Its confirmation takes another derivation in an add, a removal and a
//! rekey, except at the joining member.
//!
//! Without J, a creation wraps n keys less, and an add and an answer 1. In an add the controller
//! and the continuing members make 1 hash less. Every member holds 1 key less. Both profiles derive
//! the group key.
//!
//! A chain that is used up gets a new anchor when its next key is due: L hashes instead, and no
//! additional message. The message names the node's level and reveals a command, 1 hash for the
//! member. If that was the last command, the message has the anchor of a new chain of commands: L
//! hashes, 1 wrap and 1 unwrap.
//!
//! Keys held: the controller holds n individual keys, the group key, J and the command. It also
//! holds L for the commands and L + 1 for a key node, or 1 and 2 where only tops are stored
//! (parameter `stored`). A member holds h + 4. With `stored` 2 the leaves have chains too, L keys
//! each and L hashes. No operation uses them. But 2n - 1 chains of 15 words are the 25 MB that S002
//! reports for 55,000 members, and its slowest creation.
//!
//! Profiles: `published` has degree 2, stores all chains, and takes K_root XOR J as group key.
//! `sound` has degree 4, stores tops, and derives the group key from both. It gives a joining
//! member's path new chains, each anchor wrapped under the key that the node's members hold.
//!
//! Bodies, with J where there is one. Creation: `{command}_root`, LKH's records of leaves but with
//! `{node's key, J}_individual`, records of nodes or nothing. Update: the slot that changed, the
//! levels of new anchors, the command or nothing, `{anchor of commands}_root` or nothing, records
//! or nothing, in `sound` a confirmation of the group key, 16 bytes: whether J was hashed depends on
//! the operation alone, and no wrap covers it. Keys: levels, in an answer the epochs of their anchors, `{keys of the path, J,
//! command}_individual`.
//!
//! What breaks `published`: hashes lead from a key of the root back to all earlier ones, and from J
//! on to all later ones. An evicted member has the old J, a later joining member the later root
//! key. The tests pool the keys of both. In `sound` the joining member's hashes end at anchors made
//! for its own join. J is never sent under a key of a node, because then any joining member could
//! open an old one. Without J the joining member needs no help: a test has it compute every group
//! key since the root's chain began. The anchors of `sound` prevent that, too, and J is a second
//! protection there.
//!
//! Claims: `sound` claims key independence. There group keys are derived from K_root and J, each
//! for its epoch, and no group key gives another. `published` does not claim it, because nothing
//! hides how the XORs of two epochs differ. The keys that a member holds give earlier group keys,
//! back to the last join. Without J no backward secrecy is claimed; the catalogue's claims are
//! those of the default parameters.
//!
//! Deviations: the tree contracts as LKH's does. Anchors come in the message of the operation,
//! where ABE-SGC sends unicasts, and a command vouches for them. A wrap carries no hash of its key,
//! since all suites except `published` have integrity. A member that missed rekeys asks for its
//! path.
//!
//! With 55,000 members the controller holds 26.4 MB in `published`, and 1.47 MB in `sound`.

mod hash_chains;
mod member;
mod messages;

pub(crate) use member::Member;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::Error;
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::mechanisms::key_tree::path_update::{label, record_length};
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::outbox::Recipient;
use crate::party::{Footprint, KeyNode, Knowledge, Operation, Party};
use crate::saved_state::{PartyState, Saved, SavedState, require};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, DEGREE, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, Scheme,
};
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::schemes::centralized::s2rp::hash_chains::Chains;
use crate::schemes::centralized::s2rp::messages::{
    COMMANDS, CREATION, KEYS, REQUEST, UPDATE, group_key, next_join_key,
};
use crate::secret::Key;
use crate::wire::Reader;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "s2rp",
    "S2RP, secure and scalable rekeying protocol",
    Provenance::Reconstructed,
    "Dini and Savino 2006",
    Parties::Centralized {
        controller: |configuration| {
            let value = |parameter: Parameter| configuration.value(&parameter);
            let [chain, degree, joins, stored] = [CHAIN, DEGREE, JOIN_KEY, STORED].map(value);
            let (profile, has_join_key) = (configuration.profile(), joins == 1);
            Box::new(Controller::new(profile, degree, chain as u16, has_join_key, stored))
        },
        member: |configuration, _| {
            let value = |parameter: Parameter| configuration.value(&parameter);
            let [chain, degree, joins] = [CHAIN, DEGREE, JOIN_KEY].map(value);
            Box::new(Member::new(configuration.profile(), degree, chain as u16, joins == 1))
        },
    },
)
.with_recovery(Recovery::Request)
.with_operations(&Operation::CHANGES)
.with_claims(Claims::ALL)
.with_published_claims(PUBLISHED_CLAIMS)
.with_parameters(&[CHAIN, DEGREE, JOIN_KEY, STORED])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add]).only_sound(),
    Growth::of(Role::Member, Form::Constant, &[Operation::Add]).only_published(),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
]);

/// Two members of different times get the keys between, and group keys are XORs of reused keys.
const PUBLISHED_CLAIMS: Claims =
    Claims { collusion_resistance: false, key_independence: false, ..Claims::ALL };

/// With the anchor a chain has 15 keys, which S002's storage amounts to.
const CHAIN: Parameter = Parameter {
    name: "chain",
    meaning: "keys of a hash chain above its anchor",
    sound: 14,
    published: 14,
    range: (2, 4096),
};

/// Without J the scheme shows the purpose of J.
const JOIN_KEY: Parameter = Parameter {
    name: "join-key",
    meaning: "1: a join key is part of the group key; 0: none is, which gives up backward secrecy",
    sound: 1,
    published: 1,
    range: (0, 1),
};

const STORED: Parameter = Parameter {
    name: "stored",
    meaning: "chains that the controller stores whole: 0 none but their tops, 1 all, 2 leaves' too",
    sound: 0,
    published: 2,
    range: (0, 2),
};

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    lkh: lkh::Controller,
    length: u16,
    stored: u32,
    /// The chains of each level's nodes. A node's current key is in the tree.
    chains: Vec<Chains>,
    commands: Chains,
    /// The key that was last revealed from the chain of commands.
    command: Key,
    /// J, unless the group key is made of the root's key alone.
    join_key: Option<Key>,
}

impl PartyState for Controller {
    fn save_state(&self, state: &mut SavedState) {
        self.lkh.save_state(state);
        (self.chains.len() as u32).save(state);
        self.chains.iter().for_each(|chains| chains.save_state(state));
        self.commands.save_state(state);
        self.command.save(state);
        self.join_key.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        self.lkh.restore_state(state)?;
        let levels = u32::restore(state)?;
        require(levels <= LEVELS as u32)?;
        for level in 0..levels as u8 {
            self.chains(level).restore_state(state)?;
        }
        self.commands.restore_state(state)?;
        self.command = Saved::restore(state)?;
        let had_join_key = self.join_key.is_some();
        self.join_key = Saved::restore(state)?;
        require(self.join_key.is_some() == had_join_key && self.is_whole())
    }
}

impl Controller {
    /// Creates a controller without members. The degree of the tree is at least 2, and chains have
    /// at least one key. `stored` is as in the catalogue.
    pub(crate) fn new(
        profile: Profile,
        degree: u32,
        length: u16,
        has_join_key: bool,
        stored: u32,
    ) -> Self {
        Self {
            profile,
            lkh: lkh::Controller::new(Strategy::Group, profile, degree),
            length,
            stored,
            chains: Vec::new(),
            commands: Chains::new(length, stored > 0),
            command: Key::default(),
            join_key: has_join_key.then(Key::default),
        }
    }

    /// Returns whether every key node has a chain, and so have the commands of a created group.
    fn is_whole(&self) -> bool {
        let tree = &self.lkh.tree;
        let has_chain = |node: Node| {
            let chains = self.chains.get(usize::from(node.level));
            chains.is_some_and(|chains| chains.has(node.index as usize))
        };
        (1..=tree.height()).flat_map(|level| tree.key_nodes(level)).all(has_chain)
            && (self.group_key().is_none() || self.commands.has(0))
    }

    /// Returns the chains of a level; level 0 are the leaves.
    fn chains(&mut self, level: u8) -> &mut Chains {
        let (length, stored) = (self.length, self.stored > 0);
        while self.chains.len() <= usize::from(level) {
            self.chains.push(Chains::new(length, stored));
        }
        &mut self.chains[usize::from(level)]
    }

    fn anchor(&mut self, cx: &mut Context<'_>, node: Node) -> Key {
        let epoch = self.lkh.group.epoch.next();
        let key = self.chains(node.level).anchor(cx, node.index as usize, epoch);
        self.lkh.tree.set_key(node, key)
    }

    /// Gives a node its chain's next key. If there is none, begins a new chain and returns true.
    fn advance(&mut self, cx: &mut Context<'_>, node: Node) -> bool {
        let next = self.chains(node.level).next(cx, node.index as usize);
        let used_up = next.is_none();
        match next {
            Some(key) => self.lkh.tree.set_key(node, key),
            None => self.anchor(cx, node),
        };
        used_up
    }

    fn anchor_leaf(&mut self, cx: &mut Context<'_>, slot: u32) {
        if self.stored > 1 {
            let epoch = self.lkh.group.epoch.next();
            self.chains(0).anchor(cx, slot as usize, epoch);
        }
    }

    /// Gives the path of a joining member the keys that it needs. Returns the nodes with new
    /// anchors, and their records.
    fn open_path(&mut self, cx: &mut Context<'_>, slot: u32) -> (Vec<Node>, Vec<u8>) {
        let mut only_child = self.lkh.occupy(slot);
        let mut path: Vec<_> = self.lkh.tree.path(slot).collect();
        if self.profile.is_published() {
            // The chains go on, but a node that has no key yet needs one.
            path.truncate(usize::from(only_child.is_some()));
        }
        let epoch = self.lkh.group.epoch.next();
        let mut records = Vec::with_capacity(path.len() * record_length(cx));
        for &node in &path {
            let old = self.anchor(cx, node);
            let (under, kek) = match only_child.take() {
                Some(child) => (child, self.key(child)),
                None => (node, &old),
            };
            record(cx, epoch, (under, kek), (node, self.key(node)), &mut records);
        }
        (path, records)
    }

    /// Gives the nodes above an evicted member new keys. Returns the nodes with new anchors, and
    /// the records of all nodes.
    fn close_path(&mut self, cx: &mut Context<'_>, slot: u32) -> (Vec<Node>, Vec<u8>) {
        let before: Vec<_> = self.lkh.tree.path(slot).collect();
        let mut path = self.lkh.vacate(slot);
        for node in before.iter().filter(|node| !path.contains(node)) {
            self.chains(node.level).clear(node.index as usize);
        }
        if self.stored > 1 {
            self.chains(0).clear(slot as usize);
        }
        if !path.is_empty() {
            return self.advance_all(cx, path);
        }
        // The evicted member shared only the old root, which is gone.
        let root = self.lkh.tree.root(&self.lkh.group.roster);
        let old = self.key(root).clone();
        path.push(root);
        path.retain(|&node| self.advance(cx, node));
        let mut records = Vec::with_capacity(record_length(cx));
        let epoch = self.lkh.group.epoch.next();
        record(cx, epoch, (root, &old), (root, self.key(root)), &mut records);
        (path, records)
    }

    /// Gives nodes the next keys of their chains. Returns the nodes with new anchors, and the
    /// records of all nodes, each key under the keys of the node's children.
    fn advance_all(&mut self, cx: &mut Context<'_>, mut nodes: Vec<Node>) -> (Vec<Node>, Vec<u8>) {
        let (tree, roster) = (&self.lkh.tree, &self.lkh.group.roster);
        let children = |&target| tree.children(target, roster).map(move |c| (c, target));
        let mut wraps: Vec<_> = nodes.iter().flat_map(children).collect();
        wraps.sort_unstable();
        nodes.retain(|&node| self.advance(cx, node));
        let epoch = self.lkh.group.epoch.next();
        let mut records = Vec::with_capacity(wraps.len() * record_length(cx));
        for (under, target) in wraps {
            record(cx, epoch, (under, self.key(under)), (target, self.key(target)), &mut records);
        }
        (nodes, records)
    }

    /// Begins the epoch of an operation that lets chains advance, and sends the changes. A command
    /// vouches for new anchors.
    fn send_advanced(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        slot: u32,
        changes: (Vec<Node>, Vec<u8>),
    ) {
        let command = if changes.0.is_empty() { None } else { Some(self.reveal(cx)) };
        self.begin_epoch(cx);
        self.send_update(cx, operation, slot, changes, command);
    }

    /// Reveals the next command. Returns it, and whether it was the last of its chain. If so,
    /// begins a new chain, whose anchor now counts as the last key revealed.
    fn reveal(&mut self, cx: &mut Context<'_>) -> (Key, bool) {
        let epoch = self.lkh.group.epoch.next();
        // A chain is replaced as soon as it is used up, so there is a next one.
        let revealed = self.commands.next(cx, 0).unwrap_or_default();
        let last = self.commands.is_used_up(0);
        self.command = if last { self.commands.anchor(cx, 0, epoch) } else { revealed.clone() };
        (revealed, last)
    }

    fn begin_epoch(&mut self, cx: &mut Context<'_>) {
        let epoch = self.lkh.group.epoch.next();
        let group_key = group_key(cx, self.profile, epoch, self.root_key(), self.join_key.as_ref());
        self.lkh.group.enter_next(cx, group_key);
    }

    /// Returns the key of a key node, or the individual key of the member in a slot.
    fn key(&self, node: Node) -> &Key {
        self.lkh.tree.key(node, &self.lkh.group.roster)
    }

    fn root_key(&self) -> &Key {
        self.key(self.lkh.tree.root(&self.lkh.group.roster))
    }

    /// Sends all members of a new group their keys. J is wrapped under individual keys, because a
    /// party that joins later can hash the keys of nodes back to those of this message.
    fn send_tree(&self, cx: &mut Context<'_>) {
        let (lkh, epoch) = (&self.lkh, self.lkh.group.epoch);
        let (roster, tree) = (&lkh.group.roster, &lkh.tree);
        let leaf_keys = 1 + self.join_key.iter().count();
        let leaves_length = roster.len() * (8 + cx.wrapped_length(leaf_keys));
        let nodes_length = (tree.key_count() - 1) * record_length(cx);
        cx.reserve(1, leaves_length + nodes_length + 64);
        let mut draft = cx.draft(Recipient::Group, epoch, Operation::Create, CREATION);
        draft.wrapped(self.root_key(), epoch, COMMANDS, [&self.command]).packed(leaves_length);
        let slots = (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot));
        for leaf in slots.map(Node::leaf) {
            if let Some(target) = tree.key_node_above(leaf) {
                let key = self.key(target);
                let keys = [key, self.join_key.as_ref().unwrap_or(key)];
                let keys = keys.into_iter().take(leaf_keys);
                draft.packed_number(leaf.id()).packed_number(target.id());
                draft.packed_wrapped(self.key(leaf), epoch, label(leaf, target), keys);
            }
        }
        draft.packed(nodes_length);
        for under in (1..=tree.height()).flat_map(|level| tree.key_nodes(level)) {
            if let Some(target) = tree.key_node_above(under) {
                lkh.packed_record(&mut draft, under, target);
            }
        }
        draft.send();
    }

    /// Sends the changes of a join, a removal or a new period to all members.
    fn send_update(
        &self,
        cx: &mut Context<'_>,
        operation: Operation,
        slot: u32,
        (anchored, records): (Vec<Node>, Vec<u8>),
        command: Option<(Key, bool)>,
    ) {
        let epoch = self.lkh.group.epoch;
        let levels: Vec<_> = anchored.iter().map(|node| node.level).collect();
        let revealed = command.as_ref().map_or(&[][..], |(command, _)| command.as_bytes());
        let confirmation = Confirmation::of_held(cx, self.profile, self.lkh.group.group_key());
        let mut draft = cx.draft(Recipient::Group, epoch, operation, UPDATE);
        draft.number(u64::from(slot)).bytes(&levels).bytes(revealed);
        match command {
            Some((_, true)) => draft.wrapped(self.root_key(), epoch, COMMANDS, [&self.command]),
            _ => draft.bytes(&[]),
        };
        draft.bytes(&records);
        confirmation.write(&mut draft);
        draft.send();
    }

    /// Sends one member all keys that it needs, under its individual key.
    fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let lkh = &self.lkh;
        let path: Vec<_> = lkh.tree.path(slot).collect();
        let levels: Vec<_> = path.iter().map(|node| node.level).collect();
        let to = Recipient::Member(lkh.group.roster.member(slot));
        let mut draft = cx.draft(to, lkh.group.epoch, operation, KEYS);
        draft.bytes(&levels);
        // A joining member holds no keys that these could be checked against.
        let known = if operation == Operation::CatchUp { &path[..] } else { &[] };
        draft.array(known.len());
        for node in known {
            let chains = &self.chains[usize::from(node.level)];
            draft.number(chains.anchored(node.index as usize).0);
        }
        let mut keys: Vec<_> = path.iter().map(|&node| self.key(node)).collect();
        keys.extend(self.join_key.iter().chain([&self.command]));
        draft.wrapped(lkh.group.roster.key(slot), lkh.group.epoch, 0, keys).send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        self.lkh.group()
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        self.lkh.group_mut()
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.lkh.tree.fill(&self.lkh.group.roster);
        // Goes from the last node to the first, so that room is made once.
        for level in 1..=self.lkh.tree.height() {
            let nodes: Vec<_> = self.lkh.tree.key_nodes(level).collect();
            nodes.into_iter().rev().for_each(|node| drop(self.anchor(cx, node)));
        }
        for slot in (0..self.lkh.group.roster.slots() as u32).rev() {
            if self.lkh.group.roster.is_joined(slot) {
                self.anchor_leaf(cx, slot);
            }
        }
        self.command = self.commands.anchor(cx, 0, self.lkh.group.epoch.next());
        self.join_key = self.join_key.take().map(|_| cx.random_key());
        self.begin_epoch(cx);
        self.send_tree(cx);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let changes = self.open_path(cx, slot);
        self.anchor_leaf(cx, slot);
        self.join_key = self.join_key.as_ref().map(|join_key| next_join_key(cx, join_key));
        let command = Some(self.reveal(cx));
        self.begin_epoch(cx);
        self.send_keys(cx, slot, Operation::Add);
        self.send_update(cx, Operation::Add, slot, changes, command);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let changes = self.close_path(cx, slot);
        self.send_advanced(cx, Operation::Remove, slot, changes);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        let root = self.lkh.tree.root(&self.lkh.group.roster);
        let changes = self.advance_all(cx, [root].into());
        self.send_advanced(cx, Operation::Rekey, 0, changes);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_keys(cx, slot, Operation::CatchUp);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        let lkh = self.lkh.footprint();
        let leaves = if self.stored > 1 { self.lkh.group.roster.len() } else { 0 };
        let chains = self.lkh.tree.key_count() + leaves + 1;
        let others = 1 + self.join_key.iter().count();
        let keys =
            if self.group_key().is_some() { chains * self.commands.room() + others } else { 0 };
        Footprint { permanent: lkh.permanent + keys * Key::BYTES, ..lkh }
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.lkh.key_tree(cx)
    }
}

/// Appends the record of a key of `target`, wrapped under a key of `under`.
fn record(
    cx: &mut Context<'_>,
    epoch: Epoch,
    (under, kek): (Node, &Key),
    (target, key): (Node, &Key),
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&under.id().to_be_bytes());
    out.extend_from_slice(&target.id().to_be_bytes());
    cx.wrap_keys(kek, epoch, label(under, target), [key], out);
}

#[cfg(test)]
mod tests;
