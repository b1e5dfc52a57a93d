//! LKH, the logical key hierarchy: a tree of keys, with the members at its leaves and the group key
//! at its root. A member holds the keys on its path; a change replaces the keys on one path.
//!
//! Source: Wong, Gouda, Lam, "Secure group communications using key graphs", IEEE/ACM ToN 8(1),
//! 2000; Wallner, Harder, Agee, RFC 2627; creation in one go and the number of messages of the
//! `published` profile: S000 section 5.2; the idea of batches: Li, Yang, Gouda, Lam, "Batch
//! rekeying for secure group communications", WWW10, 2001. Class: centralized. Provenance:
//! specified.
//!
//! The three strategies differ in how new keys are put into messages. `lkh-user` wraps all keys
//! that a member needs in one call. `lkh-key` wraps each new key once and gives every member the
//! wrapped keys that it needs. `lkh-group` puts everything into one broadcast.
//!
//! The table counts wrapped keys. It assumes a complete tree of degree d and height h = log_d n,
//! with n members after an add or before a remove. p is the number of key nodes on the path, which
//! is h when the tree is complete:
//!
//! | operation | lkh-user | lkh-key | lkh-group |
//! |---|---|---|---|
//! | create, wrapped keys | n·h | 2n-2 for d=2, edges of the tree (published: n·h) | edges |
//! | create, messages | n unicasts | n unicasts | 1 broadcast |
//! | add, wrapped keys | p(p+1)/2 + p | 2p | 2p |
//! | add, messages | 1 unicast, 1 multicast per sibling (published: 1 broadcast) | as lkh-user | 1 unicast, 1 broadcast |
//! | remove, wrapped keys | (d-1)·h(h+1)/2 | d·h-1 | d·h-1 |
//! | remove, messages | 1 multicast per sibling, (d-1)h (published: n-1 unicasts) | as lkh-user | 1 broadcast |
//! | rekey, wrapped keys | c, d in a complete tree | the same | the same |
//! | rekey, messages | 1 broadcast | 1 broadcast | 1 broadcast |
//! | batch, wrapped keys | p for each joining member, and b | the same | the same |
//! | batch, messages | 1 unicast per joining member, 1 broadcast if b > 0 | the same | the same |
//! | member, unwraps | 1, in a batch at most h | at most h | at most h |
//! | catch up | 1 request, 1 unicast of p keys in one call | the same | the same |
//!
//! A rekey replaces the root's key and no other. It goes out under the keys of the root's c children,
//! which say nothing of it, as the group key before it may have leaked.
//!
//! In a batch each key node above a changed slot gets one new key. b counts, over all these nodes,
//! the children with a continuing member below them.
//!
//! With d = 2 a removal contracts the lowest node: the evicted member's sibling takes its place.
//! This costs 2(h-1) wrapped keys in lkh-key and lkh-group, (h-1)(h+2)/2 in lkh-user, and h
//! multicasts. If the removal leaves the root with one child, that child becomes the root with a
//! new key: 1 wrapped key.
//!
//! Keys held: a member holds at most h + 2. The controller holds n individual keys, one key per key
//! node and the group key.
//!
//! With parameter `derived` the controller holds three keys: the group key, a master key in place
//! of the tree's keys, and another in place of the individual keys. A creation then takes one
//! derivation per member and key node. Later, each use of a key takes one (see `key_store`). In
//! `lkh-group` an add takes 3p + 1 derivations and a removal 2d·h - 2 (4(h - 1) for d = 2). Each
//! takes one more for the root key. Messages and members are the same.
//!
//! Profiles: `published` has degree 2 and uses the root key as group key. It computes the wraps of
//! `lkh-key` for every member again. It sends an add as one unicast and one broadcast, and the
//! messages of a remove to every member singly (S000 sections 5.2.1 to 5.2.3). `sound` has degree
//! 4, derives the group key from the root key, and sends to the topics of subtrees.
//!
//! Bodies begin with the slot that changed (0 in a creation and in a batch's broadcast). Then come
//! records or bundles. Records are a packed byte string of `under, target, {target's key}_under`,
//! sorted by `under`. Bundles are an array of `under, levels, {keys}_under`. The creation of
//! `lkh-group` has only the slots taken and the wrapped keys (see `whole_tree`). A key node without
//! a second child has no key (see `key_tree`).
//!
//! Claims: `published` does not claim key independence. The root key is the group key, and an add
//! wraps the next root key under it. A party that gets hold of a group key and hears the add has
//! the next group key.
//!
//! The cost of a derived store: a party that takes the master keys has the keys of all epochs, past
//! ones included. No other party gains anything; the claims are about members.
//!
//! Deviations: a member that missed rekeys asks for its path. A batch looks the same in all three
//! strategies. A node that a removal leaves with one child is contracted at once. WGL sends an add
//! of `lkh-user` and `lkh-key` once per path node, to the members whose lowest new key belongs to
//! that node. Here this is one message to each sibling subtree.
//!
//! S002 reports a small and constant memory for LKH's controller: `derived` 1 holds 48 B at any
//! size, instead of 1,173 kB with 55,000 members.

mod batch;
mod creation;
mod key_store;
mod member;
mod strategy;

pub(crate) use self::strategy::Strategy;

pub(crate) use member::Member;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use key_store::KeyStore;

use crate::context::{Context, Draft};
use crate::error::Error;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::mechanisms::key_tree::path_update::{
    BUNDLES, RECORDS, bundle_label, group_key, label, record_length,
};
use crate::mechanisms::key_tree::{KeyTree, LEVELS, Node};
use crate::outbox::{Recipient, SubsetId};
use crate::party::{Footprint, KeyFingerprint, KeyNode, Knowledge, Operation};
use crate::saved_state::{PartyState, SavedState};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Configuration, DEGREE, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery,
    Scheme,
};
use crate::schemes::centralized::lkh::strategy::REQUEST;
use crate::secret::Key;
use crate::wire::Reader;

/// The user-oriented strategy in the catalogue.
pub(crate) const USER: Scheme = entry(
    "lkh-user",
    "LKH, logical key hierarchy, user-oriented",
    &[
        Growth::of(Role::Controller, Form::Linearithmic, &[Operation::Create]),
        Growth::of(Role::Controller, Form::LogarithmSquared, &[Operation::Add, Operation::Remove]),
        Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
    ],
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::configured(Strategy::User, configuration)),
        member: |configuration, _| Box::new(Member::configured(Strategy::User, configuration)),
    },
);

/// The key-oriented strategy in the catalogue.
pub(crate) const KEY: Scheme = entry(
    "lkh-key",
    "LKH, logical key hierarchy, key-oriented",
    &[
        Growth::of(Role::Controller, Form::Linear, &[Operation::Create]).only_sound(),
        Growth::of(Role::Controller, Form::Linearithmic, &[Operation::Create]).only_published(),
        Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
        Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
    ],
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::configured(Strategy::Key, configuration)),
        member: |configuration, _| Box::new(Member::configured(Strategy::Key, configuration)),
    },
);

/// The group-oriented strategy in the catalogue.
pub(crate) const GROUP: Scheme = entry(
    "lkh-group",
    "LKH, logical key hierarchy, group-oriented",
    &[
        Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
        Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
        Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
    ],
    Parties::Centralized {
        controller: |configuration| {
            Box::new(Controller::configured(Strategy::Group, configuration))
        },
        member: |configuration, _| Box::new(Member::configured(Strategy::Group, configuration)),
    },
);

/// Builds a strategy's catalogue entry. The strategies differ in their messages only.
const fn entry(
    id: &'static str,
    name: &'static str,
    growth: &'static [Growth],
    parties: Parties,
) -> Scheme {
    Scheme::new(
        id,
        name,
        Provenance::Specified,
        "Wong, Gouda, Lam 2000; RFC 2627; S000 section 5.2",
        parties,
    )
    .with_operations(&Operation::BATCHED_CHANGES)
    .with_recovery(Recovery::Request)
    .with_claims(Claims::ALL)
    .with_published_claims(Claims { key_independence: false, ..Claims::ALL })
    .with_parameters(&[DEGREE, DERIVED])
    .with_members(MEMBERS)
    .with_growth(growth)
}

/// How the controller gets the keys of its tree. Storing them is faster. That S002's controller
/// derived them is only the likeliest explanation of its figures.
const DERIVED: Parameter = Parameter {
    name: "derived",
    meaning: "0: the controller stores the tree's keys, 1: it derives them from a master key",
    sound: 0,
    published: 0,
    range: (0, 1),
};

#[derive(Debug)]
pub(crate) struct Controller {
    strategy: Strategy,
    pub(super) profile: Profile,
    pub(super) group: ServedGroup,
    pub(super) tree: KeyTree,
    keys: KeyStore,
}

impl PartyState for Controller {
    fn save_state(&self, state: &mut SavedState) {
        self.group.save_state(state);
        self.tree.save(state);
        self.keys.save_state(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        self.group.restore_state(state)?;
        self.tree.restore(state, &self.group.roster)?;
        self.keys.restore_state(state)
    }
}

/// Placeholder where there is no key yet.
const NO_KEY: &Key = &Key::from_bytes([0; Key::BYTES]);

impl Controller {
    /// Creates a controller without members that stores its keys. The degree of the tree is at
    /// least 2.
    pub(crate) fn new(strategy: Strategy, profile: Profile, degree: u32) -> Self {
        Self::with_keys(KeyStore::new(false), strategy, profile, degree)
    }

    fn with_keys(keys: KeyStore, strategy: Strategy, profile: Profile, degree: u32) -> Self {
        let (group, tree) = (keys.group(), keys.tree(degree));
        Self { strategy, profile, group, tree, keys }
    }

    fn configured(strategy: Strategy, configuration: &Configuration) -> Self {
        let keys = KeyStore::new(configuration.value(&DERIVED) == 1);
        let (profile, degree) = (configuration.profile(), configuration.value(&DEGREE));
        Self::with_keys(keys, strategy, profile, degree)
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;
    const BATCHES: bool = true;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.tree.fill(&self.group.roster);
        self.keys.draw_all(cx, &mut self.tree);
        self.begin_epoch(cx);
        self.send_created(cx);
        self.keys.rest(&mut self.tree);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let changes = self.renew_path(cx, slot);
        self.begin_epoch(cx);
        self.welcome(cx, slot, Operation::Add);
        self.send_added(cx, slot, &changes);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let path = self.vacate(slot);
        if path.is_empty() {
            self.replace_root(cx, Operation::Remove, slot);
            return;
        }
        for &node in &path {
            self.renew(cx, node);
        }
        self.begin_epoch(cx);
        match self.strategy {
            Strategy::Group => self.broadcast_new(cx, Operation::Remove, slot, &path),
            Strategy::Key => self.remove_by_key(cx, slot, &path),
            Strategy::User => self.remove_by_user(cx, slot, &path),
        }
    }

    fn batch(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        self.exchange(cx, joined, left);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        let root = self.tree.root(&self.group.roster);
        self.renew(cx, root);
        self.begin_epoch(cx);
        self.broadcast_new(cx, Operation::Rekey, 0, &[root]);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.welcome(cx, slot, Operation::CatchUp);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        let (tree, creation) = self.keys.held(&self.tree);
        let path = usize::from(self.tree.height());
        Footprint {
            permanent: self.group.key_bytes() + tree * Key::BYTES,
            temporary: creation.max(2 * path) * Key::BYTES,
        }
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.tree.shown(&self.group.roster, |node| {
            let key = self.key(cx, node);
            KeyFingerprint::of(cx, key.as_bytes())
        })
    }
}

impl Controller {
    /// Puts a joining member into the tree. If the lowest node above it now has two children, that
    /// node had no key before: returns its first child.
    pub(super) fn occupy(&mut self, slot: u32) -> Option<Node> {
        self.tree.occupy(slot);
        let lowest = self.tree.path(slot).next()?;
        let is_first_key = self.tree.occupied_children(lowest) == 2;
        self.siblings(lowest, slot).next().filter(|_| is_first_key)
    }

    /// Gives the nodes above a joining member new keys. Returns these changes.
    fn renew_path(&mut self, cx: &mut Context<'_>, slot: u32) -> Vec<Change> {
        let mut only_child = self.occupy(slot);
        let path: Vec<_> = self.tree.path(slot).collect();
        let mut changes = Vec::with_capacity(path.len());
        for node in path {
            let from = only_child.take().unwrap_or(node);
            let old = self.key(cx, from).into_owned();
            self.renew(cx, node);
            changes.push(Change { node, from, old });
        }
        changes
    }

    /// Takes an evicted member's slot out of the tree. Returns the nodes whose keys the member
    /// knew, lowest first: they need new keys.
    pub(super) fn vacate(&mut self, slot: u32) -> Vec<Node> {
        let before: Vec<_> = self.tree.path(slot).collect();
        self.tree.vacate(slot);
        let path: Vec<_> = self.tree.path(slot).collect();
        for node in before.into_iter().filter(|node| !path.contains(node)) {
            self.keys.drop_key(&mut self.tree, node);
        }
        path
    }

    fn send_added(&self, cx: &mut Context<'_>, slot: u32, changes: &[Change]) {
        let multicast = self.profile == Profile::Sound;
        match self.strategy {
            Strategy::Key if multicast => self.add_by_key(cx, slot, changes),
            Strategy::User if multicast => self.add_by_user(cx, slot, changes),
            Strategy::Group | Strategy::Key => {
                let records = self.refresh_records(cx, changes);
                self.draft(cx, Recipient::Group, Operation::Add, RECORDS, slot)
                    .bytes(&records)
                    .send();
            }
            Strategy::User => {
                let mut draft = self.draft(cx, Recipient::Group, Operation::Add, BUNDLES, slot);
                draft.array(changes.len());
                for (place, change) in changes.iter().enumerate() {
                    let targets = changes[place..].iter().map(|change| change.node);
                    self.bundle(&mut draft, change.from, &change.old, targets);
                }
                draft.send();
            }
        }
    }

    /// Replaces the root. The evicted member shared only the old root, which is gone. The node
    /// below it becomes the root. It gets a new key, because its key may have been the group key
    /// before.
    fn replace_root(&mut self, cx: &mut Context<'_>, operation: Operation, slot: u32) {
        let node = self.tree.root(&self.group.roster);
        let old = self.key(cx, node).into_owned();
        self.renew(cx, node);
        self.begin_epoch(cx);
        let records = self.refresh_records(cx, &[Change { node, from: node, old }]);
        if self.strategy == Strategy::Group || operation == Operation::Batch {
            self.draft(cx, Recipient::Group, operation, RECORDS, slot).bytes(&records).send();
        } else {
            self.to_all_below(node, cx, operation, RECORDS, slot, |draft| {
                draft.bytes(&records);
            });
        }
    }

    /// Sends each subtree that hangs off a joining member's path the records from there to the
    /// root.
    fn add_by_key(&self, cx: &mut Context<'_>, slot: u32, changes: &[Change]) {
        let records = self.refresh_records(cx, changes);
        let record_length = record_length(cx);
        for (place, change) in changes.iter().enumerate() {
            let needed = &records[place * record_length..];
            for sibling in self.siblings(change.node, slot) {
                self.to_all_below(sibling, cx, Operation::Add, RECORDS, slot, |draft| {
                    draft.bytes(needed);
                });
            }
        }
    }

    /// Sends each subtree that hangs off a joining member's path the keys from there to the root,
    /// bundled under the key that the subtree held before.
    fn add_by_user(&self, cx: &mut Context<'_>, slot: u32, changes: &[Change]) {
        for (place, change) in changes.iter().enumerate() {
            let mut first = true;
            for sibling in self.siblings(change.node, slot) {
                if !first {
                    self.repeat_to_all_below(sibling, cx, Operation::Add, BUNDLES);
                    continue;
                }
                first = false;
                self.to_all_below(sibling, cx, Operation::Add, BUNDLES, slot, |draft| {
                    draft.array(1);
                    let targets = changes[place..].iter().map(|change| change.node);
                    self.bundle(draft, change.from, &change.old, targets);
                });
            }
        }
    }

    /// Sends everybody the new keys of these nodes, each under the key of each of its children.
    fn broadcast_new(&self, cx: &mut Context<'_>, operation: Operation, slot: u32, nodes: &[Node]) {
        let children =
            |&target| self.tree.children(target, &self.group.roster).map(move |c| (c, target));
        let mut wraps: Vec<_> = nodes.iter().flat_map(children).collect();
        wraps.sort_unstable();
        let length = record_length(cx) * wraps.len();
        let mut draft = self.draft(cx, Recipient::Group, operation, RECORDS, slot);
        draft.packed(length);
        for (under, target) in wraps {
            self.packed_record(&mut draft, under, target);
        }
        draft.send();
    }

    /// Sends each subtree that hangs off the path its own record and the records from there to the
    /// root.
    fn remove_by_key(&self, cx: &mut Context<'_>, slot: u32, path: &[Node]) {
        let record_length = record_length(cx);
        let mut chain = Vec::with_capacity(record_length * path.len());
        for pair in path.windows(2) {
            self.record(cx, pair[0], pair[1], &mut chain);
        }
        for (place, &target) in path.iter().enumerate() {
            let rest = &chain[place * record_length..];
            for sibling in self.siblings(target, slot) {
                self.to_all_below(sibling, cx, Operation::Remove, RECORDS, slot, |draft| {
                    draft.packed(record_length + rest.len());
                    self.packed_record(draft, sibling, target);
                    draft.packed_bytes(rest);
                });
            }
        }
    }

    /// Sends each subtree that hangs off the path the keys from there to the root, bundled.
    fn remove_by_user(&self, cx: &mut Context<'_>, slot: u32, path: &[Node]) {
        for (place, &target) in path.iter().enumerate() {
            for sibling in self.siblings(target, slot) {
                self.to_all_below(sibling, cx, Operation::Remove, BUNDLES, slot, |draft| {
                    draft.array(1);
                    let kek = self.draft_key(draft, sibling);
                    self.bundle(draft, sibling, &kek, path[place..].iter().copied());
                });
            }
        }
    }

    /// Sends one member all keys of its path: bundled under its individual key or, in an add of
    /// `lkh-key`, as records.
    pub(super) fn welcome(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let to = Recipient::Member(self.group.roster.member(slot));
        if self.strategy == Strategy::Key && operation == Operation::Add {
            let mut records = Vec::new();
            let mut under = Node::leaf(slot);
            for target in self.tree.path(slot) {
                self.record(cx, under, target, &mut records);
                under = target;
            }
            self.draft(cx, to, operation, RECORDS, slot).bytes(&records).send();
            return;
        }
        let changed = if operation == Operation::Create { 0 } else { slot };
        let leaf = Node::leaf(slot);
        let kek = self.key(cx, leaf);
        let mut draft = self.draft(cx, to, operation, BUNDLES, changed);
        draft.array(1);
        self.bundle(&mut draft, leaf, &kek, self.tree.path(slot));
        draft.send();
    }

    /// Returns all key nodes, in the order of their ids.
    fn key_nodes(&self) -> impl Iterator<Item = Node> {
        (1..=self.tree.height()).flat_map(|level| self.tree.key_nodes(level))
    }

    /// Begins a message of the current epoch. Every body begins with the slot that changed.
    pub(super) fn draft<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        operation: Operation,
        kind: u8,
        changed: u32,
    ) -> Draft<'d, 'a> {
        let mut draft = cx.draft(to, self.group.epoch, operation, kind);
        draft.number(u64::from(changed));
        draft
    }

    /// Sends a message to the members below a node: to their topic or, in the published profile, to
    /// each.
    fn to_all_below(
        &self,
        node: Node,
        cx: &mut Context<'_>,
        operation: Operation,
        kind: u8,
        changed: u32,
        write: impl FnOnce(&mut Draft<'_, '_>),
    ) {
        let mut recipients = self.recipients(node);
        let Some(to) = recipients.next() else { return };
        let mut draft = self.draft(cx, to, operation, kind, changed);
        write(&mut draft);
        draft.send();
        recipients.for_each(|to| cx.send_again(to, self.group.epoch, operation, kind));
    }

    /// Sends the last body again, to the members below another node.
    fn repeat_to_all_below(
        &self,
        node: Node,
        cx: &mut Context<'_>,
        operation: Operation,
        kind: u8,
    ) {
        self.recipients(node).for_each(|to| cx.send_again(to, self.group.epoch, operation, kind));
    }

    fn recipients(&self, node: Node) -> impl Iterator<Item = Recipient> {
        let has_topic = self.profile == Profile::Sound && node.level > 0;
        let topic = has_topic.then(|| Recipient::Subset(SubsetId(node.id())));
        let slots = (!has_topic).then(|| self.tree.members_below(node, &self.group.roster));
        let single = slots.into_iter().flatten().map(|slot| self.group.roster.member(slot));
        topic.into_iter().chain(single.map(Recipient::Member))
    }

    /// Appends the keys of nodes, wrapped in one call.
    fn bundle(
        &self,
        draft: &mut Draft<'_, '_>,
        under: Node,
        kek: &Key,
        targets: impl Iterator<Item = Node>,
    ) {
        let mut nodes = [under; LEVELS];
        let mut levels = [0; LEVELS];
        let mut count = 0;
        for target in targets {
            nodes[count] = target;
            levels[count] = target.level;
            count += 1;
        }
        let nodes = &nodes[..count];
        let mut keys = [const { Cow::Borrowed(NO_KEY) }; LEVELS];
        for (key, &node) in keys.iter_mut().zip(nodes) {
            *key = self.draft_key(draft, node);
        }
        draft.array(3).number(u64::from(under.id())).bytes(&levels[..count]).wrapped(
            kek,
            self.group.epoch,
            bundle_label(under, nodes[0]),
            keys[..count].iter().map(|key| &**key),
        );
    }

    /// Appends a record to a packed byte string.
    pub(super) fn packed_record(&self, draft: &mut Draft<'_, '_>, under: Node, target: Node) {
        draft.packed_number(under.id()).packed_number(target.id());
        self.packed_key(draft, under, target);
    }

    /// Appends a key wrapped under another to a packed byte string.
    fn packed_key(&self, draft: &mut Draft<'_, '_>, under: Node, target: Node) {
        let (kek, key) = (self.draft_key(draft, under), self.draft_key(draft, target));
        draft.packed_wrapped(&kek, self.group.epoch, label(under, target), [&*key]);
    }

    /// Appends a record to a buffer, for messages that share it.
    fn record(&self, cx: &mut Context<'_>, under: Node, target: Node, out: &mut Vec<u8>) {
        out.extend_from_slice(&under.id().to_be_bytes());
        out.extend_from_slice(&target.id().to_be_bytes());
        let (kek, key) = (self.key(cx, under), self.key(cx, target));
        cx.wrap_keys(&kek, self.group.epoch, label(under, target), [&*key], out);
    }

    /// Returns records of the nodes' new keys, for members that hold the old key of the node or of
    /// its only child.
    fn refresh_records(&self, cx: &mut Context<'_>, changes: &[Change]) -> Vec<u8> {
        let mut out = Vec::with_capacity(record_length(cx) * changes.len());
        for Change { node, from, old } in changes {
            out.extend_from_slice(&from.id().to_be_bytes());
            out.extend_from_slice(&node.id().to_be_bytes());
            let key = self.key(cx, *node);
            cx.wrap_keys(old, self.group.epoch, label(*from, *node), [&*key], &mut out);
        }
        out
    }

    /// Returns the subtrees that hang off a slot's path at a node.
    pub(super) fn siblings(&self, node: Node, slot: u32) -> impl Iterator<Item = Node> {
        let children = self.tree.children(node, &self.group.roster);
        children.filter(move |child| !child.is_above(slot, self.tree.degree()))
    }

    fn joined_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.group.roster.slots() as u32).filter(|&slot| self.group.roster.is_joined(slot))
    }

    fn renew(&mut self, cx: &mut Context<'_>, node: Node) {
        self.keys.renew(cx, &mut self.tree, node);
    }

    /// Returns the key of a key node, or the individual key of the member in a slot.
    pub(super) fn key(&self, cx: &mut Context<'_>, node: Node) -> Cow<'_, Key> {
        let derive = |master: &Key, label, context: &[u8]| cx.derive(master, label, context);
        self.keys.key(&self.tree, &self.group.roster, node, derive)
    }

    /// Returns the same key while a message is being written.
    fn draft_key(&self, draft: &mut Draft<'_, '_>, node: Node) -> Cow<'_, Key> {
        let derive = |master: &Key, label, context: &[u8]| draft.derive(master, label, context);
        self.keys.key(&self.tree, &self.group.roster, node, derive)
    }

    pub(super) fn begin_epoch(&mut self, cx: &mut Context<'_>) {
        let root_key = self.key(cx, self.tree.root(&self.group.roster));
        let group_key = group_key(cx, self.profile, self.group.epoch.next(), &root_key);
        drop(root_key);
        self.group.enter_next(cx, group_key);
    }
}

/// A node to which an add gave a new key.
struct Change {
    node: Node,
    /// The node under whose old key the new key is wrapped, and which the continuing members hold:
    /// the node itself or, if it had no key, its only child so far.
    from: Node,
    old: Key,
}
