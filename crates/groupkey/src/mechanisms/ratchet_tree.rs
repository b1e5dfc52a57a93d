//! The ratchet tree of MLS (RFC 9420 sections 4, 7 and appendix C): a perfect binary tree in an
//! array, with members at its leaves. Who has a leaf knows the private keys of the nodes above it.
//!
//! A node is blank, or has a public key. A leaf that was added below a node after the node got its
//! key is *unmerged* there: its member does not know the node's private key. The *resolution* of a
//! node is the smallest set of nodes whose private keys cover all members below it. The *filtered
//! direct path* of a leaf are the nodes above it that have members on both sides.
//!
//! A change is begun, made in place, and then kept or undone: a message that turns out to be wrong
//! changes nothing, and no change copies the tree.

mod encoding;
mod hashes;
mod math;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use crate::context::Context;
use crate::identity::MemberId;
use crate::party::{KeyFingerprint, KeyNode};

/// A hash of a part of the tree.
pub(crate) type SubtreeHash = [u8; 32];

/// The tree as every member sees it. Nodes have the numbers of RFC 9420 appendix C: leaf i is node
/// 2i.
#[derive(Clone, Debug)]
pub(crate) struct RatchetTree {
    nodes: Vec<Node>,
    hashes: Vec<Option<SubtreeHash>>,
    change: Option<UndoLog>,
    /// The length of a public key.
    element_bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Node {
    #[default]
    Blank,
    Leaf(Leaf),
    Parent(Parent),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    member: MemberId,
    public: Box<[u8]>,
    /// None until its member makes a path.
    parent_hash: Option<SubtreeHash>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parent {
    public: Box<[u8]>,
    /// None at the top of the path with which it got its key.
    parent_hash: Option<SubtreeHash>,
    /// The leaves below it, by their places, whose members do not know its private key.
    unmerged: Vec<u32>,
}

/// A node of a filtered direct path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilteredNode {
    pub(crate) node: usize,
    /// Its child that is not above the leaf.
    pub(crate) beside: usize,
}

/// What a change replaced.
#[derive(Clone, Debug, Default)]
struct UndoLog {
    width: usize,
    nodes: Vec<(usize, Node)>,
    hashes: Vec<(usize, Option<SubtreeHash>)>,
}

impl RatchetTree {
    /// A tree of these members with their public keys, from left to right.
    pub(crate) fn of_leaves<'k>(
        element_bytes: usize,
        members: impl ExactSizeIterator<Item = (MemberId, &'k [u8])>,
    ) -> Self {
        let width = 2 * members.len().max(1).next_power_of_two() - 1;
        let mut tree = Self::blank(element_bytes, width);
        for (place, (member, public)) in members.enumerate() {
            let leaf = Leaf { member, public: public.into(), parent_hash: None };
            tree.nodes[2 * place] = Node::Leaf(leaf);
        }
        tree
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = MemberId> + '_ {
        self.leaves().map(|(_, leaf)| leaf.member)
    }

    pub(crate) fn leaf_of(&self, member: MemberId) -> Option<usize> {
        self.leaves().find(|(_, leaf)| leaf.member == member).map(|(node, _)| node)
    }

    /// Returns the public key of a node that is not blank.
    pub(crate) fn public(&self, node: usize) -> Option<&[u8]> {
        match self.nodes.get(node)? {
            Node::Blank => None,
            Node::Leaf(leaf) => Some(&leaf.public),
            Node::Parent(parent) => Some(&parent.public),
        }
    }

    pub(crate) fn root(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Returns how many bytes of public keys it has.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.element_bytes * self.nodes.iter().filter(|node| **node != Node::Blank).count()
    }

    /// Returns the nodes that have members below them, each before those below it.
    pub(crate) fn shown(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        let mut shown = Vec::new();
        let mut open = alloc::vec![(self.root(), None)];
        while let Some((node, parent)) = open.pop() {
            if !self.has_member(node) {
                continue;
            }
            if node % 2 == 1 {
                let place = Some(shown.len());
                open.extend([(math::right(node), place), (math::left(node), place)]);
            }
            let member = match &self.nodes[node] {
                Node::Leaf(leaf) => Some(leaf.member),
                _ => None,
            };
            let fingerprint = self.public(node).map(|public| KeyFingerprint::of(cx, public));
            shown.push(KeyNode { parent, member, fingerprint });
        }
        shown
    }

    pub(crate) fn begin(&mut self) {
        self.change = Some(UndoLog { width: self.nodes.len(), ..UndoLog::default() });
    }

    /// Keeps the change.
    pub(crate) fn keep(&mut self) {
        self.change = None;
    }

    pub(crate) fn undo(&mut self) {
        let Some(log) = self.change.take() else { return };
        self.resize(log.width);
        for (node, before) in log.nodes.into_iter().rev() {
            if let Some(place) = self.nodes.get_mut(node) {
                *place = before;
            }
        }
        for (node, before) in log.hashes.into_iter().rev() {
            if let Some(place) = self.hashes.get_mut(node) {
                *place = before;
            }
        }
    }

    /// Adds a member at the leftmost blank leaf; a full tree becomes twice as wide (RFC 9420
    /// section 7.7). Returns the node.
    pub(crate) fn add(&mut self, member: MemberId, public: &[u8]) -> usize {
        let blank = self.nodes.iter().step_by(2).position(|node| *node == Node::Blank);
        let leaf = 2 * blank.unwrap_or_else(|| {
            let leaves = self.nodes.len().div_ceil(2);
            self.resize(2 * self.nodes.len() + 1);
            leaves
        });
        let public = public.into();
        self.replace(leaf, Node::Leaf(Leaf { member, public, parent_hash: None }));
        let path: Vec<_> = self.direct_path(leaf).collect();
        for node in path {
            if let Node::Parent(parent) = &self.nodes[node] {
                let mut parent = parent.clone();
                let place = (leaf / 2) as u32;
                let at = parent.unmerged.partition_point(|&unmerged| unmerged < place);
                parent.unmerged.insert(at, place);
                self.replace(node, Node::Parent(parent));
            }
        }
        self.touch(leaf);
        leaf
    }

    /// Removes the member of a leaf: the leaf and all nodes above it become blank. The tree
    /// becomes half as wide while its right half is empty (RFC 9420 section 7.7).
    pub(crate) fn remove(&mut self, leaf: usize) {
        self.replace(leaf, Node::Blank);
        let path: Vec<_> = self.direct_path(leaf).collect();
        path.into_iter().for_each(|node| self.replace(node, Node::Blank));
        self.touch(leaf);
    }

    pub(crate) fn shrink(&mut self) {
        while self.nodes.len() > 1 {
            let root = self.root();
            if self.nodes[root + 1..].iter().step_by(2).any(|node| *node != Node::Blank) {
                return;
            }
            // No leaf is on the right, so no path goes over the root.
            self.replace(root, Node::Blank);
            self.resize(root);
        }
    }

    pub(crate) fn filtered_path(&self, leaf: usize) -> Vec<FilteredNode> {
        let mut below = leaf;
        let steps = self.direct_path(leaf).map(|node| {
            let step = FilteredNode { node, beside: math::sibling(below) };
            below = node;
            step
        });
        steps.filter(|step| self.has_member(step.beside)).collect()
    }

    /// Returns the nodes whose private keys cover the members below a node, from left to right.
    pub(crate) fn resolution(&self, node: usize) -> Vec<usize> {
        let mut resolution = Vec::new();
        self.resolve(node, &mut resolution);
        resolution
    }

    pub(crate) fn covers(&self, node: usize, below: usize) -> bool {
        math::subtree(node).contains(&below)
    }

    /// Gives a leaf a new public key, and the nodes of its filtered direct path theirs. Other
    /// nodes above it become blank (RFC 9420 section 7.5). Computes the parent hashes.
    pub(crate) fn set_path(
        &mut self,
        cx: &mut Context<'_>,
        leaf: usize,
        leaf_public: &[u8],
        steps: &[FilteredNode],
        publics: &[u8],
    ) {
        let path: Vec<_> = self.direct_path(leaf).collect();
        path.into_iter().for_each(|node| self.replace(node, Node::Blank));
        self.touch(leaf);
        let mut parent_hash = None;
        for (step, public) in steps.iter().zip(publics.chunks_exact(self.element_bytes)).rev() {
            let parent = Parent { public: public.into(), parent_hash, unmerged: Vec::new() };
            let beside = self.subtree_hash(cx, step.beside);
            parent_hash = Some(parent.hash(cx, &beside));
            self.replace(step.node, Node::Parent(parent));
        }
        if let Node::Leaf(Leaf { member, .. }) = self.nodes[leaf] {
            let public = leaf_public.into();
            self.replace(leaf, Node::Leaf(Leaf { member, public, parent_hash }));
        }
    }

    fn blank(element_bytes: usize, width: usize) -> Self {
        let mut tree = Self { nodes: Vec::new(), hashes: Vec::new(), change: None, element_bytes };
        tree.resize(width);
        tree
    }

    fn resize(&mut self, width: usize) {
        self.nodes.resize_with(width, Node::default);
        self.hashes.resize(width, None);
    }

    fn leaves(&self) -> impl Iterator<Item = (usize, &Leaf)> {
        self.nodes.iter().enumerate().step_by(2).filter_map(|(place, node)| match node {
            Node::Leaf(leaf) => Some((place, leaf)),
            _ => None,
        })
    }

    fn direct_path(&self, leaf: usize) -> impl Iterator<Item = usize> + use<> {
        let root = self.root();
        let above = move |&node: &usize| (node != root).then(|| math::parent(node));
        core::iter::successors(Some(leaf), above).skip(1)
    }

    fn has_member(&self, node: usize) -> bool {
        let leaves = self.nodes[math::subtree(node)].iter().step_by(2);
        leaves.into_iter().any(|leaf| *leaf != Node::Blank)
    }

    fn resolve(&self, node: usize, out: &mut Vec<usize>) {
        match &self.nodes[node] {
            Node::Blank if node.is_multiple_of(2) => {}
            Node::Blank => {
                self.resolve(math::left(node), out);
                self.resolve(math::right(node), out);
            }
            Node::Leaf(_) => out.push(node),
            Node::Parent(parent) => {
                out.push(node);
                out.extend(parent.unmerged.iter().map(|&leaf| 2 * leaf as usize));
            }
        }
    }

    fn replace(&mut self, node: usize, with: Node) {
        let before = mem::replace(&mut self.nodes[node], with);
        if let Some(log) = &mut self.change {
            log.nodes.push((node, before));
        }
    }

    /// Forgets the hashes that a leaf and the nodes above it are in.
    fn touch(&mut self, leaf: usize) {
        let path: Vec<_> = core::iter::once(leaf).chain(self.direct_path(leaf)).collect();
        for node in path {
            let before = self.hashes[node].take();
            if let Some(log) = &mut self.change {
                log.hashes.push((node, before));
            }
        }
    }
}

#[cfg(test)]
mod tests;
