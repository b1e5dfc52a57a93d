//! Tree hashes and parent hashes (RFC 9420 sections 7.8 and 7.9).
//!
//! The tree hash is of everything that members see. The parent hash of a node covers the public
//! key of the node above it and what was beside it when both got their keys. So a chain of parent
//! hashes leads from a leaf up as far as its member's last path. A node that is at the end of no
//! chain would be a node that nobody below it made.
//!
//! A subtree without members has a hash of zeros: a tree that becomes twice as wide has a new half
//! in which nothing is to be hashed. That no node there has a key, the parent hashes show.

use alloc::vec::Vec;

use super::math;
use super::{Node, Parent, RatchetTree, SubtreeHash};
use crate::context::Context;

impl RatchetTree {
    /// Returns the hash of the whole tree. Hashes that are known are not computed again.
    pub(crate) fn tree_hash(&mut self, cx: &mut Context<'_>) -> SubtreeHash {
        self.subtree_hash(cx, self.root())
    }

    /// Returns whether every node that has a key was made by a member below it (RFC 9420 section
    /// 7.9.2).
    pub(crate) fn has_valid_parent_hashes(&mut self, cx: &mut Context<'_>) -> bool {
        (1..self.nodes.len()).step_by(2).all(|node| match &self.nodes[node] {
            Node::Parent(parent) => {
                let parent = parent.clone();
                let sides = [math::left(node), math::right(node)];
                self.is_made_below(cx, &parent, sides)
                    || self.is_made_below(cx, &parent, [sides[1], sides[0]])
            }
            _ => true,
        })
    }

    pub(super) fn subtree_hash(&mut self, cx: &mut Context<'_>, node: usize) -> SubtreeHash {
        if let Some(hash) = self.hashes[node] {
            return hash;
        }
        let below = (node % 2 == 1).then(|| {
            [math::left(node), math::right(node)].map(|child| self.subtree_hash(cx, child))
        });
        let hash = hash_node(cx, node, &self.nodes[node], below, &[]);
        self.hashes[node] = Some(hash);
        hash
    }

    /// Whether a node got its key with a node below its first side, and with what is beside that.
    fn is_made_below(
        &mut self,
        cx: &mut Context<'_>,
        parent: &Parent,
        [side, beside]: [usize; 2],
    ) -> bool {
        let resolution = self.resolution(side);
        let subtree = math::subtree(side);
        let unmerged = parent.unmerged.iter().map(|&leaf| 2 * leaf as usize);
        let unmerged: Vec<_> = unmerged.filter(|leaf| subtree.contains(leaf)).collect();
        if resolution.len() != unmerged.len() + 1 {
            return false;
        }
        // All of the resolution but one node came later.
        let mut earlier = resolution.iter().filter(|node| !unmerged.contains(node));
        let (Some(&maker), None) = (earlier.next(), earlier.next()) else { return false };
        let told = match &self.nodes[maker] {
            Node::Blank => None,
            Node::Leaf(leaf) => leaf.parent_hash,
            Node::Parent(parent) => parent.parent_hash,
        };
        let Some(told) = told else { return false };
        let beside = self.hash_without(cx, beside, &parent.unmerged);
        told == parent.hash(cx, &beside)
    }

    /// The hash that a subtree had before these leaves came.
    fn hash_without(&mut self, cx: &mut Context<'_>, node: usize, later: &[u32]) -> SubtreeHash {
        let subtree = math::subtree(node);
        if !later.iter().any(|&leaf| subtree.contains(&(2 * leaf as usize))) {
            return self.subtree_hash(cx, node);
        }
        if node.is_multiple_of(2) {
            return hash_node(cx, node, &Node::Blank, None, &[]);
        }
        let children = [math::left(node), math::right(node)];
        let below = children.map(|child| self.hash_without(cx, child, later));
        hash_node(cx, node, &self.nodes[node], Some(below), later)
    }
}

impl Parent {
    pub(super) fn hash(&self, cx: &mut Context<'_>, beside: &SubtreeHash) -> SubtreeHash {
        let above = self.parent_hash.as_ref().map_or(&[][..], |hash| &hash[..]);
        let number = [above.len() as u8];
        cx.digest("groupkey parent hash", &[&self.public, beside, &number, above])
    }
}

/// The hash of a node, above two others or a leaf. Some leaves do not count yet.
fn hash_node(
    cx: &mut Context<'_>,
    number: usize,
    node: &Node,
    below: Option<[SubtreeHash; 2]>,
    later: &[u32],
) -> SubtreeHash {
    match &below {
        None if *node == Node::Blank => return EMPTY,
        Some([EMPTY, EMPTY]) => return EMPTY,
        _ => {}
    }
    let mut bytes = Vec::with_capacity(128);
    match &below {
        None => bytes.extend_from_slice(&((number / 2) as u32).to_be_bytes()),
        Some(children) => bytes.extend_from_slice(children.as_flattened()),
    }
    match node {
        Node::Blank => {}
        Node::Leaf(leaf) => {
            bytes.extend_from_slice(&leaf.member.0.to_be_bytes());
            append_optional(leaf.parent_hash.as_ref(), &mut bytes);
            bytes.extend_from_slice(&leaf.public);
        }
        Node::Parent(parent) => {
            append_optional(parent.parent_hash.as_ref(), &mut bytes);
            bytes.extend_from_slice(&parent.public);
            for leaf in parent.unmerged.iter().filter(|leaf| !later.contains(leaf)) {
                bytes.extend_from_slice(&leaf.to_be_bytes());
            }
        }
    }
    let label = if below.is_some() { "groupkey tree hash" } else { "groupkey leaf hash" };
    cx.digest(label, &[&bytes])
}

/// The hash of a subtree without members.
const EMPTY: SubtreeHash = [0; 32];

fn append_optional(hash: Option<&SubtreeHash>, bytes: &mut Vec<u8>) {
    bytes.push(u8::from(hash.is_some()));
    bytes.extend(hash.into_iter().flatten());
}
