//! The tree in bytes, for members that do not have it.
//!
//! First the height, one byte. Then the nodes from left to right, up to the last one that is not
//! blank: a byte that says what it is, and
//!
//! ```text
//! 0  blank
//! 1  leaf:                     member (4), public key
//! 2  leaf with a parent hash:  member (4), public key, parent hash (32)
//! 3  node at the top of a path: public key, number of unmerged leaves (4), each leaf's place (4)
//! 4  node with a parent hash:  as 3, then the parent hash (32)
//! ```

use alloc::vec::Vec;

use super::{Leaf, Node, Parent, RatchetTree, SubtreeHash, math};
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;

impl RatchetTree {
    /// Returns the encoding.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let blank = |node: &&Node| **node == Node::Blank;
        let count = self.nodes.len() - self.nodes.iter().rev().take_while(blank).count();
        let mut bytes = Vec::with_capacity(1 + count * (self.element_bytes + 9));
        bytes.push(math::level(self.root()) as u8);
        for node in &self.nodes[..count] {
            match node {
                Node::Blank => bytes.push(0),
                Node::Leaf(leaf) => {
                    bytes.push(if leaf.parent_hash.is_some() { 2 } else { 1 });
                    bytes.extend_from_slice(&leaf.member.0.to_be_bytes());
                    bytes.extend_from_slice(&leaf.public);
                    bytes.extend(leaf.parent_hash.iter().flatten());
                }
                Node::Parent(parent) => {
                    bytes.push(if parent.parent_hash.is_some() { 4 } else { 3 });
                    bytes.extend_from_slice(&parent.public);
                    bytes.extend_from_slice(&(parent.unmerged.len() as u32).to_be_bytes());
                    bytes.extend(parent.unmerged.iter().flat_map(|leaf| leaf.to_be_bytes()));
                    bytes.extend(parent.parent_hash.iter().flatten());
                }
            }
        }
        bytes
    }

    /// Reads the encoding. No two leaves are of one member, no two nodes have one public key,
    /// unmerged leaves are where they can be, and the tree is no wider than it must be.
    pub(crate) fn from_bytes(element_bytes: usize, bytes: &[u8]) -> Result<Self, Error> {
        let malformed = || Error::from(Misbehaviour::Malformed);
        let (&height, rest) = bytes.split_first().ok_or_else(malformed)?;
        let mut rest = Bytes(rest);
        if height > HIGHEST {
            return Err(malformed());
        }
        let mut nodes = Vec::new();
        while !rest.0.is_empty() {
            let node =
                rest.node(nodes.len().is_multiple_of(2), element_bytes).ok_or_else(malformed)?;
            nodes.push(node);
        }
        let width = (2_usize << height) - 1;
        // The last leaf is in the right half, unless there is one leaf only.
        let is_narrow = nodes.len() > width / 2 && nodes.len() <= width;
        if !is_narrow || nodes.last().is_none_or(|node| *node == Node::Blank) {
            return Err(malformed());
        }
        let mut tree = Self::blank(element_bytes, width);
        for (place, node) in tree.nodes.iter_mut().zip(nodes) {
            *place = node;
        }
        if tree.is_consistent() { Ok(tree) } else { Err(Misbehaviour::InvalidRoster.into()) }
    }

    fn is_consistent(&self) -> bool {
        let right_half = &self.nodes[self.root()..];
        let last_leaf = right_half.iter().any(|node| matches!(node, Node::Leaf(_)));
        let mut members: Vec<_> = self.members().collect();
        members.sort_unstable();
        let mut publics: Vec<_> =
            (0..self.nodes.len()).filter_map(|node| self.public(node)).collect();
        publics.sort_unstable();
        last_leaf
            && members.windows(2).all(|pair| pair[0] != pair[1])
            && publics.windows(2).all(|pair| pair[0] != pair[1])
            && (0..self.nodes.len()).all(|node| self.has_consistent_unmerged(node))
    }

    /// Whether the unmerged leaves of a node are leaves below it, ascending, and unmerged at every
    /// node between.
    fn has_consistent_unmerged(&self, node: usize) -> bool {
        let Node::Parent(parent) = &self.nodes[node] else { return true };
        let is_ascending = parent.unmerged.windows(2).all(|pair| pair[0] < pair[1]);
        is_ascending
            && parent.unmerged.iter().all(|&place| {
                let leaf = 2 * place as usize;
                math::subtree(node).contains(&leaf)
                    && matches!(self.nodes[leaf], Node::Leaf(_))
                    && self.direct_path(leaf).take_while(|&above| above != node).all(|above| {
                        match &self.nodes[above] {
                            Node::Parent(between) => between.unmerged.contains(&place),
                            _ => true,
                        }
                    })
            })
    }
}

/// What is left of an encoding.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn node(&mut self, is_leaf: bool, element_bytes: usize) -> Option<Node> {
        let [kind] = self.array()?;
        Some(match (kind, is_leaf) {
            (0, _) => Node::Blank,
            (1 | 2, true) => {
                let member = MemberId(self.number()?);
                let public = self.take(element_bytes)?.into();
                Node::Leaf(Leaf { member, public, parent_hash: self.hash(kind == 2)? })
            }
            (3 | 4, false) => {
                let public = self.take(element_bytes)?.into();
                let count = self.number()? as usize;
                let unmerged = self.take(count.checked_mul(4)?)?.as_chunks::<4>().0;
                let unmerged = unmerged.iter().map(|&place| u32::from_be_bytes(place)).collect();
                Node::Parent(Parent { public, unmerged, parent_hash: self.hash(kind == 4)? })
            }
            _ => return None,
        })
    }

    #[expect(clippy::option_option, reason = "no hash is not the same as no bytes")]
    fn hash(&mut self, is_there: bool) -> Option<Option<SubtreeHash>> {
        Some(if is_there { Some(self.array()?) } else { None })
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

/// The height of the highest tree: 65,536 leaves.
const HIGHEST: u8 = 16;
