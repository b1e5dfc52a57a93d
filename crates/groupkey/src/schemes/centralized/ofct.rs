//! OFCT, the one-way function chain tree: LKH's binary tree, in which the new keys of a removal are
//! a chain. Each key follows from a seed, and each seed from the seed below. So one wrapped seed
//! gives a subtree all new keys from there to the root, which is half of what LKH sends. An add
//! replaces each key by the output of a one-way function of it, as in LKH+, so hardly any key is
//! sent.
//!
//! Source: Canetti, Garay, Itkis, Micciancio, Naor, Pinkas, "Multicast security: a taxonomy and
//! some efficient constructions", INFOCOM 1999; the name is Rafaeli and Hutchison's, 2003. Class:
//! centralized. Provenance: reconstructed: the paper was not at hand. The removal is made from
//! descriptions of it. In these a join takes a unicast and a one-way update, which is the add of
//! LKH+. Creation and batches are LKH's.
//!
//! With a seed r, `R(r)` is the next seed and `L(r)` a key. `v_1 .. v_p` are the key nodes of the
//! evicted member's path, lowest first. r_1 is random, `r_(j+1) = R(r_j)`, and `L(r_j)` is the key
//! of `v_j`. For each subtree s that hangs off the path at `v_j`, the controller broadcasts
//! `{r_j}_s`.
//!
//! For every key node v above a joining member except the lowest, the controller and the members
//! below v compute `K_v' = F(K_v)`. The lowest node had one child before, and so no key. It gets a
//! random key, broadcast as `{K_v}_s` for that child s, a member or a subtree. See `lkh_plus`.
//!
//! The table counts wrapped keys; h key nodes are above the member (after an add, before a remove):
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast | 2n - 2 wraps | at most ⌈log_2 n⌉ unwraps |
//! | add | 1 unicast, 1 broadcast | h + 1 wraps, h - 1 derivations | joining member h unwraps in one call, others at most h - 1 derivations, below s 1 unwrap too |
//! | remove | 1 broadcast | h wraps, 2(h - 1) - 1 derivations | 1 unwrap, as many derivations at most |
//! | rekey | 1 broadcast | 2 wraps | 1 unwrap |
//! | batch | 1 unicast per joining member, 1 broadcast | as in `lkh-group` | as in `lkh-group` |
//! | catch up | 1 request, 1 unicast | at most ⌈log_2 n⌉ wraps in one call | as many unwraps |
//!
//! A removal contracts the lowest of the h nodes (see `key_tree`). So p = h - 1, and two subtrees
//! get r_1. If no node is left (h = 1), the other child becomes the root with a new key, `L(r_1)`,
//! and `r_1` is sent under its old key: 1 wrap, 1 derivation. In `sound` the group key takes one more
//! derivation in every operation. In an add its confirmation takes another one, except at the joining
//! member.
//!
//! Keys held: as in LKH of degree 2, the controller holds 2n, a member at most h + 2. Profiles:
//! `published` uses the root key as group key; `sound` derives it.
//!
//! Bodies: those of `lkh-plus`, except a removal's. It has the slot that was freed and a packed
//! byte string of `under, target, {target's seed}_under`, sorted by `under`. It does not name the
//! nodes above the target: they are those whose keys the member holds.
//!
//! Claims: `published` does not claim key independence, for the same reason as LKH+. The root key
//! is the group key. An add makes the next root key from it by F, or wraps the next under it where
//! the tree grows on top. In `sound` group keys are independent of each other. But the keys that a
//! member holds give the group key of every later epoch up to the next removal.
//!
//! Deviations: contraction, and the change of the root; a node's first key, and its receivers. A
//! batch is LKH's with random keys: one chain leads up one path, and many chains would meet. Also,
//! a member that leaves in a batch may have known any key. There is no derived store (see `lkh`),
//! because a key follows from a seed or from the previous key. A member that missed rekeys asks for
//! its path.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::mechanisms::key_tree::Node;
use crate::mechanisms::key_tree::path_update::{NewKeys, RECORDS, Update, label, record_length};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, Scheme};
use crate::schemes::centralized::lkh_plus::{self, Creation};
use crate::secret::{Key, List};
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "ofct",
    "OFCT, one-way function chain tree",
    Provenance::Reconstructed,
    "Canetti, Garay, Itkis, Micciancio, Naor and Pinkas 1999",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration.profile())),
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(&Operation::BATCHED_CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(Claims { key_independence: false, ..Claims::ALL })
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    lkh_plus: lkh_plus::Controller,
}

state!(Controller { lkh_plus });

#[derive(Debug)]
pub(crate) struct Member {
    lkh_plus: lkh_plus::Member,
}

/// Carries seeds. LKH does not use this kind, and LKH+ uses it only for an add.
const SEEDS: u8 = 3;

const DEGREE: u32 = 2;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { lkh_plus: lkh_plus::Controller::new(profile, DEGREE, Creation::Bulk) }
    }

    /// Returns the nodes that get new keys, lowest first. Also returns, for each wrap of a seed,
    /// the node under whose key it is and the place of the seed's node.
    fn wraps(&self, slot: u32, path: Vec<Node>) -> (Vec<Node>, Vec<(Node, usize)>) {
        let lkh = &self.lkh_plus.lkh;
        if path.is_empty() {
            // The evicted member shared only the old root, which is gone.
            let root = lkh.tree.root(&lkh.group.roster);
            return ([root].into(), [(root, 0)].into());
        }
        let siblings = path.iter().enumerate().flat_map(|(place, &target)| {
            lkh.siblings(target, slot).map(move |under| (under, place))
        });
        let wraps = siblings.collect();
        (path, wraps)
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = lkh_plus::Controller::REQUEST;
    const BATCHES: bool = true;

    fn group(&self) -> &ServedGroup {
        self.lkh_plus.group()
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        self.lkh_plus.group_mut()
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.lkh_plus.create(cx);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.lkh_plus.add(cx, slot);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let path = self.lkh_plus.lkh.vacate(slot);
        let (path, mut wraps) = self.wraps(slot, path);
        wraps.sort_unstable();
        let lkh = &mut self.lkh_plus.lkh;
        let chain = Chain::new(cx.random_key(), path.len(), cx);
        // This comes before the new keys are set: a root that is left alone gets its seed under its
        // old key.
        let mut records = Vec::with_capacity(record_length(cx) * wraps.len());
        for (under, place) in wraps {
            let target = path[place];
            records.extend_from_slice(&under.id().to_be_bytes());
            records.extend_from_slice(&target.id().to_be_bytes());
            let (kek, label) = (lkh.key(cx, under), label(under, target));
            let epoch = lkh.group.epoch.next();
            cx.wrap_keys(&kek, epoch, label, [&chain.seeds[place]], &mut records);
        }
        for (&node, key) in path.iter().zip(&chain.keys) {
            lkh.tree.set_key(node, key.clone());
        }
        lkh.begin_epoch(cx);
        lkh.draft(cx, Recipient::Group, Operation::Remove, SEEDS, slot).bytes(&records).send();
    }

    fn batch(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        self.lkh_plus.batch(cx, joined, left);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.lkh_plus.rekey(cx);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.lkh_plus.bring_up_to_date(cx, slot);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        self.lkh_plus.held()
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.lkh_plus.key_tree(cx)
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { lkh_plus: lkh_plus::Member::new(profile, DEGREE) }
    }

    /// Takes the one seed that this member can open, and follows the chain from there.
    fn follow_removal(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        if header.kind != SEEDS {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let lkh = &mut self.lkh_plus.lkh;
        let enrolment = lkh.membership.enrolment()?;
        let mut body = message.body();
        let freed = body.number32()?;
        let records = NewKeys::parse(cx, RECORDS, body)?;
        lkh.membership.admit(message)?;
        let kept = &lkh.path[..];
        let update = Update { degree: DEGREE, enrolment, kept, epoch: header.epoch };
        let opened = update.open(cx, &records)?;
        let Some((&(target, ref seed), others)) = opened.split_last() else {
            return Err(Misbehaviour::NothingForUs.into());
        };
        let renewed = kept.iter().map(|&(node, _)| node).filter(|&node| {
            // If the target is not above the freed slot, it became the root. Then no node is left
            // above it.
            node == target || node > target && target.is_above(freed, DEGREE)
        });
        let renewed: Vec<_> = renewed.collect();
        if !others.is_empty() || renewed.first() != Some(&target) {
            return Err(Misbehaviour::Malformed.into());
        }
        let chain = Chain::new(seed.clone(), renewed.len(), cx);
        let new: List<_> = renewed.into_iter().zip(chain.keys.iter().cloned()).collect();
        let path = update.merge(Operation::Remove, freed, &new);
        lkh.enter(cx, header.epoch, path, None)
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message) if message.header().operation == Operation::Remove => {
                self.follow_removal(cx, &message)
            }
            _ => self.lkh_plus.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.lkh_plus.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.lkh_plus.footprint()
    }
}

/// Seeds, each of which follows from the previous one, and the key that follows from each seed.
struct Chain {
    seeds: List<Key>,
    keys: List<Key>,
}

impl Chain {
    /// Computes a chain of this length, which is at least one.
    fn new(first: Key, length: usize, cx: &mut Context<'_>) -> Self {
        let mut seeds = List::with_capacity(length);
        seeds.push(first);
        for place in 1..length {
            seeds.push(cx.derive(&seeds[place - 1], "groupkey ofct right", &[]));
        }
        let keys = seeds.iter().map(|seed| cx.derive(seed, "groupkey ofct left", &[])).collect();
        Self { seeds, keys }
    }
}
