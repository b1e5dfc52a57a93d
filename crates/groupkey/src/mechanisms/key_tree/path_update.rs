//! Rekey messages of a key tree: how the controller names the keys that it wraps, and how a member
//! gets the keys of its path out of the messages.
//!
//! Records: a packed byte string of `under, target, {key of target}_under`. Each node takes four
//! bytes (see [`Node::id`]). The records are sorted by `under` (`sorted_records.rs`).
//! Bundles: an array of `[under, levels, {keys}_under]`. The keys are those of the ancestors on
//! these levels. A whole tree's keys need no names (see `whole_tree`).

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::enrolment::Enrolment;
use crate::mechanisms::key_tree::whole_tree::{self, WholeTree};
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::mechanisms::sorted_records::SortedRecords;
use crate::party::Operation;
use crate::scheme::Profile;
use crate::secret::{Key, List};
use crate::wire::Reader;

/// What a member knows when it reads a rekey message.
pub(crate) struct Update<'a> {
    pub(crate) degree: u32,
    pub(crate) enrolment: &'a Enrolment,
    /// Keys that still count, lowest first.
    pub(crate) kept: &'a [(Node, Key)],
    pub(crate) epoch: Epoch,
}

/// The keys of a rekey message, parsed and not yet opened.
pub(crate) enum NewKeys<'a> {
    Bundles(Vec<Bundle<'a>>),
    Records(Records<'a>),
    Tree(WholeTree<'a>),
}

/// Keys that were wrapped in one call.
pub(crate) struct Bundle<'a> {
    under: Node,
    levels: &'a [u8],
    wrapped: &'a [u8],
}

/// Records, found by the node whose key wraps them.
pub(crate) struct Records<'a>(SortedRecords<'a>);

/// A key that a member got from a record.
#[derive(Clone)]
struct LearnedKey {
    under: Node,
    target: Node,
    key: Key,
}

/// The kind of a message that carries records.
pub(crate) const RECORDS: u8 = 0;
/// The kind of a message that carries bundles.
pub(crate) const BUNDLES: u8 = 1;
/// The kind of a message that carries a whole tree's keys. The kinds between are the schemes' own.
pub(crate) const TREE: u8 = 4;

pub(crate) const fn record_length(cx: &Context<'_>) -> usize {
    8 + cx.wrapped_length(1)
}

/// The label that binds a wrapped key to its own node and to the node whose key wraps it.
pub(crate) const fn label(under: Node, target: Node) -> u64 {
    (under.id() as u64) << 32 | target.id() as u64
}

/// The label of a bundle: the node whose key wraps it, and its lowest key. Under an individual key
/// there is only one bundle in an epoch, the member's whole path.
pub(crate) const fn bundle_label(under: Node, lowest: Node) -> u64 {
    if under.level == 0 { label(under, under) } else { label(under, lowest) }
}

pub(crate) fn group_key(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, root: &Key) -> Key {
    if profile.is_published() {
        root.clone()
    } else {
        cx.derive_for(epoch, root, "groupkey lkh group key")
    }
}

impl<'a> NewKeys<'a> {
    /// Reads everything that follows the changed slot in a body.
    pub(crate) fn parse(cx: &Context<'_>, kind: u8, mut body: Reader<'a>) -> Result<Self, Error> {
        let keys = match kind {
            BUNDLES => {
                let count = body.array()?;
                let bundles = (0..count).map(|_| Bundle::parse(&mut body));
                Self::Bundles(bundles.collect::<Result<_, _>>()?)
            }
            RECORDS => Self::Records(Records::parse(cx, 1, body.bytes()?)?),
            TREE => Self::Tree(WholeTree::parse(&mut body)?),
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        body.finish()?;
        Ok(keys)
    }
}

impl LearnedKey {
    fn result(&self) -> (Node, Key) {
        (self.target, self.key.clone())
    }
}

impl<'a> Bundle<'a> {
    fn parse(body: &mut Reader<'a>) -> Result<Self, Error> {
        if body.array()? != 3 {
            return Err(Misbehaviour::Malformed.into());
        }
        let under = Node::from_id(body.number32()?);
        let (levels, wrapped) = (body.bytes()?, body.bytes()?);
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let (Some(&lowest), Some(&highest)) = (levels.first(), levels.last()) else {
            return Err(Misbehaviour::Malformed.into());
        };
        if !ascending || lowest == 0 || lowest < under.level || usize::from(highest) >= LEVELS {
            return Err(Misbehaviour::Malformed.into());
        }
        Ok(Self { under, levels, wrapped })
    }
}

impl Update<'_> {
    pub(crate) fn open(
        &self,
        cx: &mut Context<'_>,
        keys: &NewKeys<'_>,
    ) -> Result<List<(Node, Key)>, Error> {
        match keys {
            NewKeys::Bundles(bundles) => self.open_bundle(cx, bundles),
            NewKeys::Records(records) => {
                let steps = self.follow_records(cx, records)?;
                Ok(steps.iter().map(LearnedKey::result).collect())
            }
            NewKeys::Tree(tree) => self.follow_tree(cx, tree),
        }
    }

    /// The path after a batch. From the first node with a new key on, every key on the path is new.
    /// Keys between that node and the one that wraps its new key are gone. Nothing below changed.
    pub(crate) fn follow_batch(
        &self,
        cx: &mut Context<'_>,
        records: &Records<'_>,
    ) -> Result<List<(Node, Key)>, Error> {
        let steps = self.follow_records(cx, records)?;
        let Some(&LearnedKey { under, target, .. }) = steps.first() else {
            return Err(Misbehaviour::NothingForUs.into());
        };
        let is_chain =
            |pair: &[LearnedKey]| pair[0].target == pair[1].under && pair[1].under < pair[1].target;
        if !steps.windows(2).all(is_chain) {
            return Err(Misbehaviour::Malformed.into());
        }
        let untouched = self.kept.iter().filter(|(node, _)| *node <= under && *node < target);
        let mut path = List::with_capacity(self.kept.len() + steps.len());
        path.extend(untouched.cloned().chain(steps.iter().map(LearnedKey::result)));
        Ok(path)
    }

    fn follow_records(
        &self,
        cx: &mut Context<'_>,
        records: &Records<'_>,
    ) -> Result<List<LearnedKey>, Error> {
        let mut steps: List<LearnedKey> = List::with_capacity(LEVELS);
        for level in 0..LEVELS as u8 {
            let under = Node::above(self.enrolment.slot, level, self.degree);
            let Some((target, wrapped)) = records.find(under) else { continue };
            if target < under || !target.is_above(self.enrolment.slot, self.degree) {
                return Err(Misbehaviour::Malformed.into());
            }
            // A node's new key is wrapped under its own old key, any other key under the newest.
            let newest = steps.iter().find(|step| step.target == under).map(|step| &step.key);
            let kek = if target == under { None } else { newest };
            let Some(kek) = kek.or_else(|| self.held(under)) else { continue };
            let key = cx.unwrap_key(kek, self.epoch, label(under, target), wrapped)?;
            steps.push(LearnedKey { under, target, key });
        }
        Ok(steps)
    }

    /// Follows a new tree's keys upwards from the member's own.
    fn follow_tree(
        &self,
        cx: &mut Context<'_>,
        tree: &WholeTree<'_>,
    ) -> Result<List<(Node, Key)>, Error> {
        let steps = tree.path(cx, self.enrolment.slot, self.degree)?;
        let mut path: List<(Node, Key)> = List::with_capacity(steps.len());
        for whole_tree::PathStep { under, target, wrapped } in steps {
            let kek = path.last().map_or(&self.enrolment.key, |(_, key)| key);
            let key = cx.unwrap_key(kek, self.epoch, label(under, target), wrapped)?;
            path.push((target, key));
        }
        Ok(path)
    }

    fn open_bundle(
        &self,
        cx: &mut Context<'_>,
        bundles: &[Bundle<'_>],
    ) -> Result<List<(Node, Key)>, Error> {
        let openable = bundles.iter().filter(|bundle| self.held(bundle.under).is_some());
        let Bundle { under, levels, wrapped } =
            openable.min_by_key(|bundle| bundle.under).ok_or(Misbehaviour::NothingForUs)?;
        let kek = self.held(*under).ok_or(Misbehaviour::NothingForUs)?;
        let node = |&level: &u8| Node::above(self.enrolment.slot, level, self.degree);
        let mut keys = List::zeros(levels.len());
        let label = bundle_label(*under, node(&levels[0]));
        cx.unwrap_keys(kek, self.epoch, label, wrapped, &mut keys)?;
        Ok(levels.iter().map(node).zip(keys.iter().cloned()).collect())
    }

    /// The path after the update: the new keys, and the kept keys that were not touched. Empty if
    /// the root's key is not new, because then the message lacks keys.
    pub(crate) fn merge(
        &self,
        operation: Operation,
        changed: u32,
        new: &[(Node, Key)],
    ) -> List<(Node, Key)> {
        let is_new = |node: Node| new.iter().any(|(other, _)| *other == node);
        // Everything that an evicted member knew is either new or gone.
        let gone =
            |node: Node| operation == Operation::Remove && node.is_above(changed, self.degree);
        let untouched = self.kept.iter().filter(|&&(node, _)| !is_new(node) && !gone(node));
        let mut path = List::with_capacity(self.kept.len() + new.len());
        path.extend(untouched.cloned().chain(new.iter().cloned()));
        path.sort_unstable_by_key(|&(node, _)| node);
        match path.last() {
            Some(&(root, _)) if is_new(root) => path,
            _ => List::new(),
        }
    }

    fn held(&self, node: Node) -> Option<&Key> {
        if node == Node::leaf(self.enrolment.slot) {
            return Some(&self.enrolment.key);
        }
        self.kept.iter().find(|(held, _)| *held == node).map(|(_, key)| key)
    }
}

impl<'a> Records<'a> {
    pub(crate) fn parse(cx: &Context<'_>, keys: usize, packed: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(SortedRecords::parse_some(packed, 4 + cx.wrapped_length(keys))?))
    }

    pub(crate) fn find(&self, under: Node) -> Option<(Node, &'a [u8])> {
        let (target, wrapped) = self.0.find(under.id())?.split_first_chunk()?;
        Some((Node::from_id(u32::from_be_bytes(*target)), wrapped))
    }
}
