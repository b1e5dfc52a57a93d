//! The tree in bytes, for members that do not have it.
//!
//! First the number of leaves, four bytes. Then the leaves from left to right: a byte that says what
//! it is, and
//!
//! ```text
//! 0  a member's own:         member (4), public key
//! 1  set up:                 member (4), public key, prekey, by whom (4), setup key
//! 2  set up as the last one: member (4), public key, prekey
//! 3  vacant:                 made so by (4), public key
//! ```
//!
//! Then the public keys of the other nodes, each after those below it, the root's excepted.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::tree::{ArtTree, Leaf, Setup};
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;

impl ArtTree {
    /// Returns the encoding.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.leaves * (2 * self.element_bytes + 5));
        bytes.extend_from_slice(&(self.leaves as u32).to_be_bytes());
        let mut last: Option<(MemberId, &[u8])> = None;
        for (place, leaf) in self.places() {
            let public = self.public(2 * place).unwrap_or(&[]);
            match leaf {
                Leaf::Own(member) => append(&mut bytes, 0, *member, public),
                Leaf::SetUp(member, Setup { by, key, prekey }) => {
                    let is_as_last = last == Some((*by, key));
                    append(&mut bytes, if is_as_last { 2 } else { 1 }, *member, public);
                    bytes.extend_from_slice(prekey);
                    if !is_as_last {
                        bytes.extend_from_slice(&by.0.to_be_bytes());
                        bytes.extend_from_slice(key);
                        last = Some((*by, key));
                    }
                }
                Leaf::Vacant { by } => append(&mut bytes, 3, *by, public),
            }
        }
        for node in self.above(0..self.leaves) {
            bytes.extend_from_slice(
                self.public(node).filter(|_| node != self.root()).unwrap_or(&[]),
            );
        }
        bytes
    }

    /// Reads the encoding. No two leaves are of one member. Public keys are read when they are used.
    pub(super) fn from_bytes(element_bytes: usize, bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = Bytes(bytes);
        let leaves = rest.tree_leaves(element_bytes).ok_or(Misbehaviour::Malformed)?;
        let mut tree = Self::new(element_bytes);
        // The highest place first: the nodes are allocated once.
        for (place, (leaf, public)) in leaves.into_iter().enumerate().rev() {
            tree.set_leaf(place, leaf, public);
        }
        let nodes = tree.above(0..tree.leaves);
        if rest.0.len() != nodes.len().saturating_sub(1) * element_bytes {
            return Err(Misbehaviour::Malformed.into());
        }
        for (node, public) in nodes.into_iter().zip(rest.0.chunks_exact(element_bytes)) {
            tree.set_public(node, public);
        }
        let mut members: Vec<_> = tree.members().collect();
        members.sort_unstable();
        match members.windows(2).all(|pair| pair[0] != pair[1]) {
            true => Ok(tree),
            false => Err(Misbehaviour::InvalidRoster.into()),
        }
    }
}

fn append(bytes: &mut Vec<u8>, kind: u8, member: MemberId, public: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&member.0.to_be_bytes());
    bytes.extend_from_slice(public);
}

/// What is left to read.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn tree_leaves(&mut self, element_bytes: usize) -> Option<Vec<(Leaf, &'b [u8])>> {
        let count = self.number()?;
        let mut leaves = Vec::new();
        let mut last: Option<(MemberId, Box<[u8]>)> = None;
        for _ in 0..count {
            let kind = self.take(1)?[0];
            let member = MemberId(self.number()?);
            let public = self.take(element_bytes)?;
            let leaf = match kind {
                0 => Leaf::Own(member),
                1 | 2 => {
                    let prekey = self.take(element_bytes)?.into();
                    if kind == 1 {
                        let by = MemberId(self.number()?);
                        let key: Box<[u8]> = self.take(element_bytes)?.into();
                        // One setup key is written once.
                        if last.as_ref().is_some_and(|last| *last == (by, key.clone())) {
                            return None;
                        }
                        last = Some((by, key));
                    }
                    let (by, key) = last.clone()?;
                    Leaf::SetUp(member, Setup { by, key, prekey })
                }
                3 => Leaf::Vacant { by: member },
                _ => return None,
            };
            leaves.push((leaf, public));
        }
        Some(leaves)
    }
}
