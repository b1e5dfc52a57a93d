//! ELK: a binary key tree in which both halves below a node contribute to its new key, so that a
//! removal sends contributions instead of keys, and they may be short. At a join every key of the
//! tree moves on by a one-way function, and no key is broadcast. **As published an evicted member
//! finds the next group key by trying 2^52 contributions.**
//!
//! Source: Perrig, Song, Tygar, "ELK, a new protocol for efficient large-group key distribution",
//! IEEE Symposium on Security and Privacy 2001. Class: centralized. Provenance: reconstructed: the
//! paper was not at hand. Contributions and the refreshment of the tree are made from descriptions
//! of them. The lengths of published contributions are an example that these give. Creation,
//! batches and catching up are LKH's.
//!
//! Let K be a node's key, k_l and k_r those of its children. At a removal, for each node on the
//! evicted member's path, lowest first: c_l is the first `left` bits of H(k_l, K), c_r the first
//! `right` bits of H(k_r, K), and `K' = H(K, c_l, c_r)`. Members below the left child are sent c_r
//! under a mask from k_l, and the others c_l under a mask from k_r. When a member joins or a
//! period ends, `K' = H(K)` for every node of the tree. A node that gets its second child has no
//! key yet. Its key is derived from its only child's, for this epoch. Members find that node by
//! themselves, from the slot.
//!
//! h key nodes are above the member (after an add, before a remove); h = log_2 n in a complete
//! tree:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast | 2n - 2 wraps | at most ⌈log_2 n⌉ unwraps |
//! | add, n members after it | 1 unicast, 1 broadcast without keys | h wraps in one call, n - 2 hashes, 1 derivation | joining member h unwraps in one call, others at most ⌈log_2 n⌉ hashes, 1 derivation |
//! | remove | 1 broadcast of h - 1 pairs | 5(h - 1) hashes | at most 3(h - 1) hashes |
//! | rekey, n members | 1 broadcast without keys | n - 1 hashes | at most ⌈log_2 n⌉ hashes |
//! | batch | 1 unicast per joining member, 1 broadcast | as in `lkh-group` | as in `lkh-group` |
//! | catch up | 1 request, 1 unicast | at most ⌈log_2 n⌉ wraps in one call | as many unwraps |
//!
//! The lowest node above a joining member always gets its second child. A removal contracts the
//! lowest of the h nodes (see `key_tree`). If no node is left (h = 1), the other child becomes the
//! root and gets a new key like any other: as with h = 2. In `sound` the group key takes one more
//! derivation in every operation; in an add, a removal and a rekey its confirmation takes another
//! one, except at a joining member.
//!
//! Keys held: as in LKH of degree 2, the controller holds 2n, a member at most h + 2. Profiles:
//! `published` has contributions of 16 and 36 bits and uses the root key as group key; `sound` has
//! contributions of 128 bits and derives it.
//!
//! ```text
//! NOTICE,  to all:  slot of the joining member (0 in a rekey), [confirmation]
//! SHARES,  to all:  slot that was freed, levels of the nodes, for each c_r and c_l under their masks,
//!                   [confirmation]
//! ```
//!
//! A contribution takes whole bytes; a pair takes 7 in `published`, 32 in `sound`. The
//! confirmation, 16 bytes that follow from group key and epoch, is in `sound` only. Other messages
//! are those of `lkh-group`.
//!
//! What breaks `published`: an evicted member has the old root key. All that it lacks of the new
//! one is c_l and c_r of the root: 52 bits. It tries them all, until a key opens what the group
//! sends. The audit does it with contributions that are 36 bits shorter.
//!
//! Claims: `published` does not claim key independence. The group key is the root key, and the
//! next one follows from it, until a removal. In `sound` group keys are independent of each other.
//! But the keys that a member holds give the group key of every later epoch up to the next
//! removal.
//!
//! Deviations: epochs are those of changes and not of a clock. So a join has a broadcast, which
//! brings all members into the next epoch; its content is the slot. Individual keys stay. Nodes
//! are contracted, and a message names levels. The masks are hashes, not a cipher. Hints are not
//! implemented: a member that missed changes asks for its path. A batch is LKH's, with random
//! keys.
//!
//! At the published lengths a hint takes 5 bytes where contributions take 7.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Configuration, MEMBERS, Parameter, Parties, Provenance, Recovery, Scheme,
};
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "elk",
    "ELK, efficient large-group key distribution",
    Provenance::Reconstructed,
    "Perrig, Song and Tygar 2001",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration)),
        member: |configuration, _| Box::new(Member::new(configuration)),
    },
)
.with_operations(&Operation::BATCHED_CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(PUBLISHED_CLAIMS)
.with_parameters(&[LEFT, RIGHT])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create, Operation::Add]),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
]);

/// An evicted member tries the contributions. Until a removal, one group key gives the next.
const PUBLISHED_CLAIMS: Claims = Claims {
    forward_secrecy: false,
    collusion_resistance: false,
    key_independence: false,
    ..Claims::ALL
};

/// How much a left child contributes.
const LEFT: Parameter = Parameter {
    name: "left",
    meaning: "bits that a left child contributes to a new key",
    sound: 128,
    published: 16,
    range: (8, 128),
};

/// How much a right child contributes.
const RIGHT: Parameter = Parameter {
    name: "right",
    meaning: "bits that a right child contributes to a new key",
    sound: 128,
    published: 36,
    range: (8, 128),
};

#[derive(Debug)]
pub(crate) struct Controller {
    lengths: ShareLengths,
    lkh: lkh::Controller,
}

state!(Controller { lkh });

#[derive(Debug)]
pub(crate) struct Member {
    lengths: ShareLengths,
    lkh: lkh::Member,
}

/// The lengths of contributions in bits: of the left and of the right child.
#[derive(Clone, Copy, Debug)]
struct ShareLengths([u32; 2]);

/// Says that keys move on by a one-way function. LKH does not use this kind, nor the next.
const NOTICE: u8 = 3;
/// Carries contributions.
const SHARES: u8 = 5;

const DEGREE: u32 = 2;

impl Controller {
    /// Creates a controller without members.
    fn new(configuration: &Configuration) -> Self {
        let lkh = lkh::Controller::new(Strategy::Group, configuration.profile(), DEGREE);
        Self { lengths: ShareLengths::configured(configuration), lkh }
    }

    /// Moves every key of the tree on, but that of one node.
    fn refresh(&mut self, cx: &mut Context<'_>, except: Option<Node>) {
        let tree = &mut self.lkh.tree;
        for level in 1..=tree.height() {
            let nodes: Vec<_> =
                tree.key_nodes(level).filter(|&node| Some(node) != except).collect();
            for node in nodes {
                let next = next(cx, tree.key(node, &self.lkh.group.roster));
                tree.set_key(node, next);
            }
        }
    }

    /// Gives a node a new key from its own and what its children contribute. Appends the
    /// contributions, each under the other child's mask.
    fn renew(&mut self, cx: &mut Context<'_>, node: Node, epoch: Epoch, out: &mut Vec<u8>) {
        let roster = &self.lkh.group.roster;
        let tree = &self.lkh.tree;
        let mut children = tree.children(node, roster);
        let (Some(left), Some(right)) = (children.next(), children.next()) else { return };
        let keys = [left, right].map(|child| tree.key(child, roster));
        let old = tree.key(node, roster);
        let ShareLengths([left, right]) = self.lengths;
        let shares = [share(cx, keys[0], old, left), share(cx, keys[1], old, right)];
        for (reader, length) in [(0, right), (1, left)] {
            let mask = mask(cx, keys[reader], epoch, length);
            let masked = cx.xor_in_public(&shares[1 - reader], &mask);
            out.extend_from_slice(&masked.as_bytes()[..bytes(length)]);
        }
        let new = combine(cx, old, &shares);
        drop(children);
        self.lkh.tree.set_key(node, new);
    }

    /// Tells everybody that keys moved on.
    fn notify(&self, cx: &mut Context<'_>, operation: Operation, slot: u32) {
        let lkh = &self.lkh;
        let confirmation = Confirmation::of_held(cx, lkh.profile, lkh.group.group_key());
        let mut draft = lkh.draft(cx, Recipient::Group, operation, NOTICE, slot);
        confirmation.write(&mut draft);
        draft.send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = lkh::Controller::REQUEST;
    const BATCHES: bool = true;

    fn group(&self) -> &ServedGroup {
        self.lkh.group()
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        self.lkh.group_mut()
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.lkh.create(cx);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let only_child = self.lkh.occupy(slot);
        let lowest = self.lkh.tree.path(slot).next();
        let first = only_child.zip(lowest).map(|(child, node)| {
            let key = self.lkh.key(cx, child).into_owned();
            (node, first_key(cx, &key, self.lkh.group.epoch.next()))
        });
        self.refresh(cx, first.as_ref().map(|&(node, _)| node));
        if let Some((node, key)) = first {
            self.lkh.tree.set_key(node, key);
        }
        self.lkh.begin_epoch(cx);
        self.lkh.welcome(cx, slot, Operation::Add);
        self.notify(cx, Operation::Add, slot);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let mut nodes = self.lkh.vacate(slot);
        if nodes.is_empty() {
            // The evicted member shared only the old root, which is gone.
            nodes.push(self.lkh.tree.root(&self.lkh.group.roster));
        }
        let epoch = self.lkh.group.epoch.next();
        let mut shares = Vec::with_capacity(nodes.len() * self.lengths.pair());
        nodes.iter().for_each(|&node| self.renew(cx, node, epoch, &mut shares));
        let levels: Vec<_> = nodes.iter().map(|node| node.level).collect();
        self.lkh.begin_epoch(cx);
        let lkh = &self.lkh;
        let confirmation = Confirmation::of_held(cx, lkh.profile, lkh.group.group_key());
        let mut draft = lkh.draft(cx, Recipient::Group, Operation::Remove, SHARES, slot);
        confirmation.write(draft.bytes(&levels).bytes(&shares));
        draft.send();
    }

    fn batch(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        self.lkh.batch(cx, joined, left);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.refresh(cx, None);
        self.lkh.begin_epoch(cx);
        self.notify(cx, Operation::Rekey, 0);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.lkh.bring_up_to_date(cx, slot);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        self.lkh.held()
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.lkh.key_tree(cx)
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    fn new(configuration: &Configuration) -> Self {
        let lkh = lkh::Member::new(Strategy::Group, configuration.profile(), DEGREE);
        Self { lengths: ShareLengths::configured(configuration), lkh }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        let mut body = message.body();
        let slot = body.number32()?;
        match (header.operation, header.kind) {
            (Operation::Add | Operation::Rekey, NOTICE) => self.follow(cx, message, slot, body),
            (Operation::Remove, SHARES) => self.follow_removal(cx, message, slot, body),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Moves all keys on. If a member joined, a node may have got its first key.
    fn follow(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        newcomer: u32,
        mut body: Reader<'_>,
    ) -> Result<(), Error> {
        let lkh = &mut self.lkh;
        let header = message.header();
        let confirmation = Confirmation::read(lkh.profile, &mut body)?;
        body.finish()?;
        let joins = header.operation == Operation::Add;
        if joins && lkh.membership.is_own_joining(message, newcomer)? {
            return Ok(());
        }
        lkh.membership.require_continuation(message)?;
        let enrolment = lkh.membership.enrolment()?;
        let mut path = List::with_capacity(lkh.path.len() + 1);
        path.extend(lkh.path.iter().map(|(node, key)| (*node, next(cx, key))));
        if joins {
            let meet = meeting(enrolment.slot, newcomer).ok_or(Misbehaviour::Malformed)?;
            let below = lkh.path.partition_point(|&(node, _)| node < meet);
            if lkh.path.get(below).is_none_or(|&(node, _)| node != meet) {
                let only_child = below.checked_sub(1).map(|highest| &lkh.path[highest].1);
                let only_child = only_child.unwrap_or(&enrolment.key);
                path.insert(below, (meet, first_key(cx, only_child, header.epoch)));
            }
        }
        lkh.enter(cx, header.epoch, path, Some(&confirmation))
    }

    /// Takes the contributions of the other halves, from the lowest node upwards.
    fn follow_removal(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        freed: u32,
        mut body: Reader<'_>,
    ) -> Result<(), Error> {
        let lkh = &mut self.lkh;
        let epoch = message.header().epoch;
        let (levels, shares) = (body.bytes()?, body.bytes()?);
        let confirmation = Confirmation::read(lkh.profile, &mut body)?;
        body.finish()?;
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let pair = self.lengths.pair();
        if !ascending || levels.is_empty() || shares.len() != levels.len() * pair {
            return Err(Misbehaviour::Malformed.into());
        }
        lkh.membership.require_continuation(message)?;
        let enrolment = lkh.membership.enrolment()?;
        let mut path: List<(Node, Key)> = List::with_capacity(lkh.path.len());
        let mut is_new = false;
        for &(node, ref key) in lkh.path.iter() {
            let place = levels.binary_search(&node.level).ok();
            let was_known = node.is_above(freed, DEGREE);
            // A node that is not above the freed slot has a new key only if it became the root.
            let renewed = place.filter(|_| was_known || levels.len() == 1);
            match renewed {
                Some(place) => {
                    is_new = true;
                    let own = path.last().map_or(&enrolment.key, |(_, key)| key);
                    let side = enrolment.slot >> (node.level - 1) & 1;
                    let sent = &shares[place * pair..][..pair];
                    let shares = self.lengths.open(cx, own, key, side, sent, epoch)?;
                    path.push((node, combine(cx, key, &shares)));
                }
                // It was contracted, or was the root.
                None if was_known => {}
                None => {
                    is_new = false;
                    path.push((node, key.clone()));
                }
            }
        }
        if !is_new {
            return Err(Misbehaviour::NothingForUs.into());
        }
        lkh.enter(cx, epoch, path, Some(&confirmation))
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message) if is_own_kind(&message) => self.receive(cx, &message),
            _ => self.lkh.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.lkh.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.lkh.footprint()
    }
}

impl ShareLengths {
    fn configured(configuration: &Configuration) -> Self {
        Self([&LEFT, &RIGHT].map(|parameter| configuration.value(parameter)))
    }

    fn pair(self) -> usize {
        self.0.map(bytes).iter().sum()
    }

    /// The contributions to a node's new key, left and right, for a member on one side (0 or 1).
    /// Its own half's follows from that half's key; the other is taken from the pair that was
    /// sent.
    fn open(
        self,
        cx: &mut Context<'_>,
        own: &Key,
        old: &Key,
        side: u32,
        sent: &[u8],
        epoch: Epoch,
    ) -> Result<[Key; 2], Error> {
        let Self([left, right]) = self;
        let (for_left, for_right) = sent.split_at(bytes(right));
        let (sent, ours, theirs) =
            if side == 0 { (for_left, left, right) } else { (for_right, right, left) };
        let mut masked = Key::default();
        masked.as_bytes_mut()[..sent.len()].copy_from_slice(sent);
        if cx.shorten(&masked, theirs) != masked {
            return Err(Misbehaviour::Malformed.into());
        }
        let mask = mask(cx, own, epoch, theirs);
        let theirs = cx.xor(&masked, &mask);
        let ours = share(cx, own, old, ours);
        Ok(if side == 0 { [ours, theirs] } else { [theirs, ours] })
    }
}

/// Whether a message is one of those that LKH does not have. An answer is never one.
const fn is_own_kind(message: &Message<'_>) -> bool {
    let header = message.header();
    let is_answer = matches!(header.operation, Operation::CatchUp | Operation::Enroll);
    matches!(header.kind, NOTICE | SHARES) && !is_answer
}

/// The lowest node above two slots, which differ. `None` if no tree has it.
fn meeting(a: u32, b: u32) -> Option<Node> {
    let level = (u32::BITS - (a ^ b).leading_zeros()) as u8;
    (usize::from(level) < LEVELS).then(|| Node::above(a, level, DEGREE))
}

/// Bytes that hold this many bits.
const fn bytes(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// The key that follows a node's when a member joins or a period ends.
fn next(cx: &mut Context<'_>, key: &Key) -> Key {
    cx.hash(key, "groupkey elk interval")
}

/// The first key of a node, which follows from that of its only child so far.
fn first_key(cx: &mut Context<'_>, only_child: &Key, epoch: Epoch) -> Key {
    cx.derive_for(epoch, only_child, "groupkey elk first")
}

fn share(cx: &mut Context<'_>, child: &Key, old: &Key, bits: u32) -> Key {
    let whole = cx.hash_with(child, "groupkey elk share", old.as_bytes());
    cx.shorten(&whole, bits)
}

/// What hides the other child's contribution from all but the members below a child with this key.
fn mask(cx: &mut Context<'_>, child: &Key, epoch: Epoch, bits: u32) -> Key {
    let whole = cx.hash_for(epoch, child, "groupkey elk mask");
    cx.shorten(&whole, bits)
}

fn combine(cx: &mut Context<'_>, old: &Key, shares: &[Key; 2]) -> Key {
    let mut context = zeroize::Zeroizing::new([0; 2 * Key::BYTES]);
    context[..Key::BYTES].copy_from_slice(shares[0].as_bytes());
    context[Key::BYTES..].copy_from_slice(shares[1].as_bytes());
    cx.hash_with(old, "elk", &*context)
}
