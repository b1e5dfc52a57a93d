//! The tree of public keys, as every member sees it.
//!
//! Leaves fill it from left to right and stay: the leaf of a member that left is vacant until another
//! one takes it. Nodes have the numbers of a perfect tree (RFC 9420 appendix C: leaf i is node 2i).
//! A node without a leaf in its right half is no node of this tree: its left child stands for it.
//! Every other node above two has a public key; the root's element gives the key.
//!
//! A change is begun, made in place, and then kept or undone: a message that turns out to be wrong
//! changes nothing, and no change copies the tree.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;

use crate::context::Context;
use crate::identity::MemberId;
use crate::mechanisms::ratchet_tree::math;
use crate::party::{KeyFingerprint, KeyNode};
use crate::secret::Key;

/// The tree.
#[derive(Clone, Debug)]
pub(super) struct ArtTree {
    /// How many leaves there are, vacant ones included.
    pub(super) leaves: usize,
    nodes: Vec<Node>,
    change: Option<UndoLog>,
    /// The length of a public key.
    pub(super) element_bytes: usize,
}

/// Whose a leaf is, and who knows its secret besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Its member drew the secret, and nobody else knows it.
    Own(MemberId),
    /// Another member set it up, and knows the secret.
    SetUp(MemberId, Setup),
    /// Nobody's. Who made it so knew the secret.
    Vacant { by: MemberId },
}

/// How a leaf was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) by: MemberId,
    /// The setup key's public key.
    pub(super) key: Box<[u8]>,
    /// The prekey of the leaf's member.
    pub(super) prekey: Box<[u8]>,
}

/// A node above a leaf, and what is beside the path there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) node: usize,
    pub(super) beside: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    public: Option<Box<[u8]>>,
    leaf: Option<Leaf>,
    /// The hash of everything below it, where it is known.
    hash: Option<[u8; 32]>,
}

/// What a change replaced.
#[derive(Clone, Debug)]
struct UndoLog {
    leaves: usize,
    width: usize,
    replaced: Vec<(usize, Replaced)>,
}

#[derive(Clone, Debug)]
enum Replaced {
    Hash(Option<[u8; 32]>),
    Node(Node),
}

impl Leaf {
    /// Its member.
    pub(super) const fn member(&self) -> Option<MemberId> {
        match self {
            Self::Own(member) | Self::SetUp(member, _) => Some(*member),
            Self::Vacant { .. } => None,
        }
    }

    /// Who knows its secret besides its member.
    pub(super) const fn known_by(&self) -> Option<MemberId> {
        match self {
            Self::Own(_) => None,
            Self::SetUp(_, Setup { by, .. }) | Self::Vacant { by } => Some(*by),
        }
    }
}

impl ArtTree {
    /// A tree without leaves.
    pub(super) const fn new(element_bytes: usize) -> Self {
        Self { leaves: 0, nodes: Vec::new(), change: None, element_bytes }
    }

    /// The leaf at a place, counted from 0.
    pub(super) fn leaf(&self, place: usize) -> Option<&Leaf> {
        self.nodes.get(2 * place)?.leaf.as_ref()
    }

    /// The leaves with their places, from left to right.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, &Leaf)> {
        (0..self.leaves).filter_map(|place| Some((place, self.leaf(place)?)))
    }

    /// The members from left to right.
    pub(super) fn members(&self) -> impl Iterator<Item = MemberId> + '_ {
        self.places().filter_map(|(_, leaf)| leaf.member())
    }

    /// The place of a member's leaf.
    pub(super) fn place_of(&self, member: MemberId) -> Option<usize> {
        let is_theirs = |(_, leaf): &(usize, &Leaf)| leaf.member() == Some(member);
        self.places().find(is_theirs).map(|(place, _)| place)
    }

    /// The public key of a node.
    pub(super) fn public(&self, node: usize) -> Option<&[u8]> {
        self.nodes.get(node)?.public.as_deref()
    }

    pub(super) const fn root(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Bytes of public keys that it has, of prekeys and setup keys, too.
    pub(super) fn stored_bytes(&self) -> usize {
        let of_setup = |leaf: &Leaf| match leaf {
            Leaf::SetUp(_, setup) => setup.key.len() + setup.prekey.len(),
            Leaf::Own(_) | Leaf::Vacant { .. } => 0,
        };
        let of_node = |node: &Node| {
            node.public.as_ref().map_or(0, |public| public.len())
                + node.leaf.as_ref().map_or(0, of_setup)
        };
        self.nodes.iter().map(of_node).sum()
    }

    /// The nodes above a leaf, from below, the root last.
    pub(super) fn path(&self, place: usize) -> Vec<Step> {
        let mut below = 2 * place;
        let mut steps = Vec::new();
        while below != self.root() {
            let node = math::parent(below);
            if self.is_node(node) {
                steps.push(Step { node, beside: self.stands_for(math::sibling(below)) });
            }
            below = node;
        }
        steps
    }

    /// The two nodes below a node.
    pub(super) fn halves(&self, node: usize) -> [usize; 2] {
        [math::left(node), math::right(node)].map(|half| self.stands_for(half))
    }

    /// The nodes above these leaves, each after those below it; and the root that the tree had
    /// before the change, if it has a wider one now: it had no public key.
    pub(super) fn above(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut nodes = BTreeSet::new();
        for place in places {
            let mut below = 2 * place;
            while below != self.root() {
                below = math::parent(below);
                // Those further up are in it.
                if self.is_node(below) && !nodes.insert((math::level(below), below)) {
                    break;
                }
            }
        }
        let before = self.change.as_ref().map_or(0, |log| log.width);
        if before > 0 && before < self.nodes.len() {
            let mut node = before / 2;
            while nodes.insert((math::level(node), node)) {
                node = math::parent(node);
            }
        }
        nodes.into_iter().map(|(_, node)| node).collect()
    }

    /// Begins a change, which is kept or undone.
    pub(super) fn begin(&mut self) {
        let (leaves, width) = (self.leaves, self.nodes.len());
        self.change = Some(UndoLog { leaves, width, replaced: Vec::new() });
    }

    /// Keeps the change.
    pub(super) fn keep(&mut self) {
        self.change = None;
    }

    /// Undoes the change.
    pub(super) fn undo(&mut self) {
        let Some(log) = self.change.take() else { return };
        for (node, before) in log.replaced.into_iter().rev() {
            match before {
                Replaced::Hash(hash) => self.nodes[node].hash = hash,
                Replaced::Node(before) => self.nodes[node] = before,
            }
        }
        self.nodes.truncate(log.width);
        self.leaves = log.leaves;
    }

    /// Sets a leaf: one that is there, or the one after the last.
    pub(super) fn set_leaf(&mut self, place: usize, leaf: Leaf, public: &[u8]) {
        self.leaves = self.leaves.max(place + 1);
        let width = 2 * self.leaves.next_power_of_two() - 1;
        if self.nodes.len() < width {
            self.nodes.resize(width, Node::default());
        }
        self.replace(2 * place, Node { public: Some(public.into()), leaf: Some(leaf), hash: None });
        self.touch(2 * place);
    }

    /// Gives a node its public key.
    pub(super) fn set_public(&mut self, node: usize, public: &[u8]) {
        self.replace(node, Node { public: Some(public.into()), leaf: None, hash: None });
        self.touch(node);
    }

    /// The hash of the whole tree: each leaf with its member and who knows it, and every public key.
    /// Only what is above a change is computed.
    pub(super) fn hash(&mut self, cx: &mut Context<'_>) -> [u8; 32] {
        self.hash_below(cx, self.stands_for(self.root()))
    }

    /// The tree as [`Party::key_tree`](crate::Party::key_tree) shows it, without vacant leaves. The
    /// root has no public key, and is shown by the group key.
    pub(super) fn shown(&self, cx: &mut Context<'_>, group_key: &Key) -> Vec<KeyNode> {
        let mut shown = Vec::new();
        let mut open = alloc::vec![(self.root(), None)];
        while let Some((node, parent)) = open.pop() {
            let leaves = self.nodes[math::subtree(node)].iter().step_by(2);
            let mut members = leaves.filter_map(|node| node.leaf.as_ref().and_then(Leaf::member));
            if members.next().is_none() {
                continue;
            }
            let leaf = self.nodes[node].leaf.as_ref();
            if leaf.is_none() {
                let (place, [left, right]) = (Some(shown.len()), self.halves(node));
                open.extend([(right, place), (left, place)]);
            }
            let is_root = node == self.root();
            let key = if is_root { Some(&group_key.as_bytes()[..]) } else { self.public(node) };
            let fingerprint = key.map(|key| KeyFingerprint::of(cx, key));
            shown.push(KeyNode { parent, member: leaf.and_then(Leaf::member), fingerprint });
        }
        shown
    }

    /// Whether there is a leaf below a place of the perfect tree.
    const fn has_leaf(&self, node: usize) -> bool {
        math::subtree(node).start < 2 * self.leaves
    }

    /// Whether this is a node above two others.
    pub(super) const fn is_node(&self, node: usize) -> bool {
        math::level(node) > 0 && self.has_leaf(math::right(node))
    }

    /// The uppermost node or leaf of what is below a place of the perfect tree.
    const fn stands_for(&self, mut node: usize) -> usize {
        while math::level(node) > 0 && !self.is_node(node) {
            node = math::left(node);
        }
        node
    }

    fn hash_below(&mut self, cx: &mut Context<'_>, node: usize) -> [u8; 32] {
        if let Some(hash) = self.nodes[node].hash {
            return hash;
        }
        let hash = match &self.nodes[node].leaf {
            Some(leaf) => {
                let (kind, member, by, keys) = match leaf {
                    Leaf::Own(member) => (0, *member, *member, [&[][..]; 2]),
                    Leaf::SetUp(member, Setup { by, key, prekey }) => {
                        (1, *member, *by, [&key[..], prekey])
                    }
                    Leaf::Vacant { by } => (2, *by, *by, [&[][..]; 2]),
                };
                let ids = [member.0.to_be_bytes(), by.0.to_be_bytes()].concat();
                let public = self.public(node).unwrap_or(&[]);
                cx.digest("groupkey art leaf", &[&[kind], &ids, public, keys[0], keys[1]])
            }
            None => {
                let [left, right] = self.halves(node).map(|half| self.hash_below(cx, half));
                let public = self.public(node).unwrap_or(&[]);
                cx.digest("groupkey art node", &[&left, &right, public])
            }
        };
        self.nodes[node].hash = Some(hash);
        hash
    }

    fn replace(&mut self, node: usize, with: Node) {
        let before = mem::replace(&mut self.nodes[node], with);
        if let Some(log) = &mut self.change {
            log.replaced.push((node, Replaced::Node(before)));
        }
    }

    /// Forgets the hashes above a node.
    fn touch(&mut self, mut node: usize) {
        while node != self.root() {
            node = math::parent(node);
            let before = self.nodes[node].hash.take();
            if let Some(log) = &mut self.change {
                log.replaced.push((node, Replaced::Hash(before)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(leaves: usize) -> ArtTree {
        let mut tree = ArtTree::new(1);
        for place in 0..leaves {
            tree.set_leaf(place, Leaf::Own(MemberId(place as u32)), &[place as u8]);
        }
        tree
    }

    #[test]
    fn a_tree_of_any_size_is_balanced_from_the_left() {
        for leaves in 2..40 {
            let tree = tree(leaves);
            let all = tree.above(0..leaves);
            assert_eq!(all.len(), leaves - 1);
            assert_eq!(all.last(), Some(&tree.root()));
            for place in 0..leaves {
                let path = tree.path(place);
                assert!(path.len() <= leaves.next_power_of_two().ilog2() as usize);
                let mut below = 2 * place;
                for step in &path {
                    assert!(tree.is_node(step.node));
                    let [left, right] = tree.halves(step.node);
                    assert!([(left, right), (right, left)].contains(&(below, step.beside)));
                    below = step.node;
                }
                assert_eq!(below, tree.root());
            }
        }
    }

    #[test]
    fn what_is_undone_was_never_there() {
        for leaves in 2..20 {
            let mut tree = tree(leaves);
            let before = (tree.nodes.clone(), tree.leaves);
            tree.begin();
            tree.set_leaf(1, Leaf::Vacant { by: MemberId(0) }, &[9]);
            tree.set_leaf(leaves, Leaf::Own(MemberId(90)), &[8]);
            let is_wider = leaves.is_power_of_two();
            let above = tree.above([leaves].into_iter());
            assert_eq!(above.contains(&(before.0.len() / 2)), is_wider || leaves > 1);
            above.iter().for_each(|&node| tree.set_public(node, &[7]));
            tree.undo();
            assert_eq!((tree.nodes, tree.leaves), before);
        }
    }
}
