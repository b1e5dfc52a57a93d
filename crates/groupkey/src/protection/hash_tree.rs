//! One signature for all messages of a step: they are the leaves of a hash tree, and the signature is
//! over its root.
//!
//! Source: C. K. Wong and S. S. Lam, "Digital signatures for flows and multicasts", IEEE/ACM
//! Transactions on Networking 7(4), 1999, section 3 (tree chaining). The shape is that of RFC 9162
//! section 2.1. As in RFC 8554 section 5.3, each hash covers a value drawn for the tree and its own
//! place in it, so that a leaf is no inner node, and no work towards one hash helps with another.
//!
//! ```text
//! hash = first 16 bytes of H(salt (16) || level (1) || index (4) || what is below)
//! tag  = path, from the leaf upwards (16 each) || salt (16) || signature || index (4) || leaves (4)
//! ```
//!
//! Below a leaf is a message, and below an inner node are the hashes of its two children. A node without
//! a sibling moves up as it is. Index and number of leaves, at the end, say how long the path is: so
//! a message has one tag under a signature, and its length is known from its last bytes.
//!
//! The salt is drawn when all messages are there. So whoever influenced them could not look for a
//! collision, and 16 bytes are enough: what remains is a second preimage.

use alloc::vec::Vec;

use crate::crypto::{Signing, Suite, derive};

/// The length of a hash.
const NODE: usize = 16;

pub(crate) type TreeHash = [u8; NODE];

/// What is drawn for each tree.
#[derive(Clone, Copy, Default)]
pub(crate) struct Salt(pub(crate) [u8; Self::BYTES]);

/// What identifies the tree that a signature is for.
pub(crate) struct Root {
    salt: Salt,
    leaves: [u8; 4],
    node: TreeHash,
}

/// A tree over messages.
pub(crate) struct HashTree {
    salt: Salt,
    leaves: u32,
    /// All levels, from the leaves to the root, each from left to right.
    nodes: Vec<TreeHash>,
}

/// The tag of a message: its path in a tree, and the signature over the root.
pub(crate) struct TreeTag<'t> {
    path: &'t [TreeHash],
    salt: Salt,
    pub(crate) signature: &'t [u8],
    place: Place,
}

#[derive(Clone, Copy)]
struct Place {
    index: u32,
    leaves: u32,
}

impl Salt {
    pub(crate) const BYTES: usize = 16;
}

impl Root {
    /// How many bytes of a signed root are not the same for all of a group's messages.
    pub(crate) const BYTES: usize = Salt::BYTES + size_of::<u32>() + NODE;

    /// Returns the parts that identify the tree, in order.
    pub(crate) const fn parts(&self) -> [&[u8]; 3] {
        [&self.salt.0, &self.leaves, &self.node]
    }
}

impl HashTree {
    /// Makes the tree of these messages, of which there must be one.
    pub(crate) fn new<'m>(
        suite: Suite,
        salt: Salt,
        messages: impl Iterator<Item = &'m [u8]> + Clone,
    ) -> Self {
        let mut count = messages.clone().count();
        let leaves = u32::try_from(count).expect("a step sends fewer messages");
        let mut nodes = Vec::with_capacity(2 * count + count.ilog2() as usize);
        nodes
            .extend((0..).zip(messages).map(|(index, message)| leaf(suite, &salt, index, message)));
        let (mut start, mut level) = (0, 0);
        while count > 1 {
            level += 1;
            for (index, left) in (0..).zip((start..start + count).step_by(2)) {
                let below = &nodes[left..(start + count).min(left + 2)];
                nodes.push(match below {
                    [left, right] => inner(suite, &salt, level, index, [left, right]),
                    _ => below[0],
                });
            }
            start += count;
            count = count.div_ceil(2);
        }
        Self { salt, leaves, nodes }
    }

    pub(crate) fn root(&self) -> Root {
        let node = *self.nodes.last().expect("there is a leaf");
        Root { salt: self.salt, leaves: self.leaves.to_be_bytes(), node }
    }

    pub(crate) const fn inner_nodes(&self) -> u32 {
        // Each joins two nodes to one.
        self.leaves - 1
    }

    pub(crate) fn tag_length(&self, signing: Signing, index: u32) -> usize {
        Place { index, leaves: self.leaves }.tag_length(signing)
    }

    /// Writes the tag of a message, to as many bytes as it is long.
    pub(crate) fn write_tag(&self, index: u32, signature: &[u8], tag: &mut [u8]) {
        let mut rest = tag;
        let mut write = |bytes: &[u8]| {
            let (place, others) = core::mem::take(&mut rest).split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = others;
        };
        let (mut start, mut count) = (0, self.leaves as usize);
        for sibling in (Place { index, leaves: self.leaves }).siblings() {
            if let Some(sibling) = sibling {
                write(&self.nodes[start + sibling as usize]);
            }
            start += count;
            count = count.div_ceil(2);
        }
        write(&self.salt.0);
        write(signature);
        write(&index.to_be_bytes());
        write(&self.leaves.to_be_bytes());
        debug_assert!(rest.is_empty());
    }
}

impl<'t> TreeTag<'t> {
    /// Returns the length of the tag that ends with these bytes.
    pub(crate) fn length_at_end(signing: Signing, bytes: &[u8]) -> Option<usize> {
        Place::at_end(bytes).map(|place| place.tag_length(signing))
    }

    /// Reads a tag. Returns `None` unless it is as long as its last bytes say.
    pub(crate) fn read(signing: Signing, tag: &'t [u8]) -> Option<Self> {
        let place = Place::at_end(tag)?;
        if tag.len() != place.tag_length(signing) {
            return None;
        }
        let (path, rest) = tag.split_at(tag.len() - without_path(signing));
        let (salt, rest) = rest.split_first_chunk()?;
        let (path, _) = path.as_chunks();
        let signature = rest.get(..signing.signature_bytes())?;
        Some(Self { path, salt: Salt(*salt), signature, place })
    }

    /// Returns how many inner nodes are between the message and the root.
    pub(crate) const fn depth(&self) -> usize {
        self.path.len()
    }

    pub(crate) fn root_with(&self, suite: Suite, message: &[u8]) -> Root {
        let Self { salt, place: Place { index, leaves }, .. } = self;
        let mut node = leaf(suite, salt, *index, message);
        let mut path = self.path.iter();
        for (level, sibling) in (1..).zip(self.place.siblings()) {
            let Some(sibling) = sibling else { continue };
            let other = path.next().expect("the path has one for each sibling");
            // The one with the even index is on the left.
            let children = if sibling % 2 == 1 { [&node, other] } else { [other, &node] };
            node = inner(suite, salt, level, sibling / 2, children);
        }
        Root { salt: *salt, leaves: leaves.to_be_bytes(), node }
    }
}

impl Place {
    /// Reads the place that ends these bytes, if it is in the tree.
    fn at_end(bytes: &[u8]) -> Option<Self> {
        let (rest, leaves) = bytes.split_last_chunk()?;
        let (_, index) = rest.split_last_chunk()?;
        let place = Self { index: u32::from_be_bytes(*index), leaves: u32::from_be_bytes(*leaves) };
        (place.index < place.leaves).then_some(place)
    }

    fn tag_length(self, signing: Signing) -> usize {
        NODE * self.siblings().flatten().count() + without_path(signing)
    }

    /// Returns the index of the sibling on each level from the leaves up to below the root, where
    /// there is one.
    fn siblings(self) -> impl Iterator<Item = Option<u32>> {
        let Self { mut index, leaves: mut count } = self;
        core::iter::from_fn(move || {
            let sibling = (count > 1).then_some(index ^ 1)?;
            let there = (sibling < count).then_some(sibling);
            (index, count) = (index / 2, count.div_ceil(2));
            Some(there)
        })
    }
}

pub(crate) const fn longest_tag(signing: Signing, leaves: usize) -> usize {
    without_path(signing) + NODE * leaves.next_power_of_two().trailing_zeros() as usize
}

/// Returns how many blocks of 64 bytes are hashed for the leaf of a message of this length.
pub(crate) const fn leaf_blocks(message: usize) -> usize {
    // Salt, level and index are in front, and the padding of SHA-256 behind.
    (Salt::BYTES + 1 + size_of::<u32>() + message + 9).div_ceil(64)
}

/// Returns the length of salt, signature, index and number of leaves.
const fn without_path(signing: Signing) -> usize {
    Salt::BYTES + signing.signature_bytes() + 2 * size_of::<u32>()
}

fn leaf(suite: Suite, salt: &Salt, index: u32, message: &[u8]) -> TreeHash {
    hash(suite, salt, 0, index, [message, &[]])
}

/// Hashes two children. With what is in front, they take one block.
fn inner(
    suite: Suite,
    salt: &Salt,
    level: u8,
    index: u32,
    [left, right]: [&TreeHash; 2],
) -> TreeHash {
    hash(suite, salt, level, index, [left, right])
}

fn hash(suite: Suite, salt: &Salt, level: u8, index: u32, [one, other]: [&[u8]; 2]) -> TreeHash {
    derive::short_digest(suite, &[&salt.0, &[level], &index.to_be_bytes(), one, other])
}

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;

    const SIGNING: Signing = Signing::Ed25519;
    const SIGNATURE: usize = SIGNING.signature_bytes();
    const WITHOUT_PATH: usize = without_path(SIGNING);

    fn tree(messages: &[Vec<u8>], salt: Salt) -> HashTree {
        HashTree::new(Suite::Standard, salt, messages.iter().map(Vec::as_slice))
    }

    fn tags(tree: &HashTree) -> Vec<Vec<u8>> {
        let tag = |index| {
            let mut tag = vec![0; tree.tag_length(SIGNING, index)];
            tree.write_tag(index, &[7; SIGNATURE], &mut tag);
            tag
        };
        (0..tree.leaves).map(tag).collect()
    }

    fn root(tag: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let tag = TreeTag::read(SIGNING, tag)?;
        Some(tag.root_with(Suite::Standard, message).parts().concat())
    }

    fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..70)
    }

    proptest! {
        #[test]
        fn every_message_leads_to_the_root(messages in messages(), salt: [u8; 16]) {
            let tree = tree(&messages, Salt(salt));
            let expected = tree.root().parts().concat();
            for (tag, message) in tags(&tree).iter().zip(&messages) {
                prop_assert_eq!(TreeTag::length_at_end(SIGNING, tag), Some(tag.len()));
                prop_assert!(tag.len() <= longest_tag(SIGNING, messages.len()));
                let root = root(tag, message);
                prop_assert_eq!(root.as_ref(), Some(&expected));
            }
        }

        /// A bit of the tag, but for the signature's, or of the message; the path of another message;
        /// a path that is longer or shorter.
        #[test]
        fn nothing_else_does(messages in messages(), salt: [u8; 16], at: usize, bit in 0..8_u8, other: usize) {
            let tree = tree(&messages, Salt(salt));
            let expected = Some(tree.root().parts().concat());
            let tags = tags(&tree);
            let (place, other) = (at % messages.len(), other % messages.len());
            let (tag, message) = (&tags[place], &messages[place]);
            let mut changed = tag.clone();
            let byte = at % tag.len();
            changed[byte] ^= 1 << bit;
            let path = tag.len() - WITHOUT_PATH;
            if !(path + Salt::BYTES..path + Salt::BYTES + SIGNATURE).contains(&byte) {
                prop_assert_ne!(&root(&changed, message), &expected);
            }
            if !message.is_empty() {
                let mut changed = message.clone();
                changed[at % message.len()] ^= 1 << bit;
                prop_assert_ne!(&root(tag, &changed), &expected);
            }
            if other != place {
                prop_assert_ne!(&root(&tags[other], message), &expected);
            }
            prop_assert_eq!(root(&[&[0; NODE], &tag[..]].concat(), message), None);
            prop_assert_eq!(root(&tag[1..], message), None);
            if path > 0 {
                prop_assert_eq!(root(&tag[NODE..], message), None);
            }
        }

        #[test]
        fn what_is_no_tag_is_not_read(bytes: Vec<u8>) {
            if let Some(tag) = TreeTag::read(SIGNING, &bytes) {
                prop_assert_eq!(tag.path.len() * NODE + WITHOUT_PATH, bytes.len());
            }
        }
    }

    /// The two hashes of an inner node are no message: levels differ.
    #[test]
    fn an_inner_node_is_no_leaf() {
        let messages: Vec<Vec<u8>> = (0..4).map(|byte| vec![byte; 20]).collect();
        let four = tree(&messages, Salt::default());
        let pairs: Vec<Vec<u8>> = four.nodes[..4].chunks(2).map(<[TreeHash]>::concat).collect();
        assert_ne!(tree(&pairs, Salt::default()).root().node, four.root().node);
    }

    #[test]
    fn the_largest_tree_has_a_path_of_32() {
        let last = [[0; 4], [0xff; 4]].concat();
        assert_eq!(TreeTag::length_at_end(SIGNING, &last), Some(32 * NODE + WITHOUT_PATH));
        assert_eq!(TreeTag::length_at_end(SIGNING, &[[0; 4], [0; 4]].concat()), None);
        assert_eq!(TreeTag::length_at_end(SIGNING, &[[0xff; 4], [0xff; 4]].concat()), None);
    }
}
