//! How the controller gets the keys of its tree: it draws them and stores them in the tree, or
//! derives them from a master key whenever it uses them.
//!
//! In a derived store the key of node v is `F(master, v, version)`. A new key has the next version,
//! even if the node had no key in between. Members cannot tell the difference. No key of the tree
//! is kept between operations. A creation uses every key many times. It derives each key once and
//! keeps it until all messages are sent. That takes less memory than the messages themselves.
//!
//! Versions are not secret. They are in flat arrays, four bytes a node. On each level the array
//! reaches to the last node whose key ever changed. The tree needs as much to count the members
//! below each node. A map of only the changed nodes would be larger as soon as a quarter of them
//! changed.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::Error;
use crate::mechanisms::key_server::ServedGroup;
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::mechanisms::key_tree::{KeyTree, Node};
use crate::saved_state::{PartyState, Saved, SavedState};
use crate::secret::Key;
use crate::wire::Reader;

/// Where the keys of the tree come from.
#[derive(Debug)]
pub(super) enum KeyStore {
    Derived {
        /// Drawn when the group is created, and kept as long as the group lives.
        master: Key,
        /// How often each node's key changed, by level from 1 and index. Nodes beyond the arrays:
        /// never.
        versions: Vec<Vec<u32>>,
    },
    /// They are in the tree.
    Stored,
}

impl KeyStore {
    pub(super) fn new(derived: bool) -> Self {
        if derived {
            Self::Derived { master: Key::default(), versions: Vec::new() }
        } else {
            Self::Stored
        }
    }

    pub(super) fn group(&self) -> ServedGroup {
        match self {
            Self::Derived { .. } => ServedGroup::with_derived_keys(),
            Self::Stored => ServedGroup::default(),
        }
    }

    pub(super) const fn tree(&self, degree: u32) -> KeyTree {
        match self {
            Self::Derived { .. } => KeyTree::shape(degree),
            Self::Stored => KeyTree::new(degree),
        }
    }

    /// Gives every key node its first key.
    pub(super) fn draw_all(&mut self, cx: &mut Context<'_>, tree: &mut KeyTree) {
        match self {
            Self::Derived { master, .. } => {
                *master = cx.random_key();
                tree.begin_to_store_keys();
                for level in 1..=tree.height() {
                    let nodes: Vec<_> = tree.key_nodes(level).collect();
                    for node in nodes {
                        let derive = |label, context: &[u8]| cx.derive(master, label, context);
                        tree.set_key(node, node_key(node, 0, derive));
                    }
                }
            }
            Self::Stored => tree.draw_keys(|| cx.random_key()),
        }
    }

    /// Drops derived keys from the tree once the first keys are sent.
    pub(super) fn rest(&self, tree: &mut KeyTree) {
        if matches!(self, Self::Derived { .. }) {
            tree.cease_to_store_keys();
        }
    }

    pub(super) fn renew(&mut self, cx: &mut Context<'_>, tree: &mut KeyTree, node: Node) {
        match self {
            Self::Derived { versions, .. } => {
                let (level, index) = (usize::from(node.level) - 1, node.index as usize);
                if versions.len() <= level {
                    versions.resize_with(level + 1, Vec::new);
                }
                let versions = &mut versions[level];
                if versions.len() <= index {
                    versions.resize(index + 1, 0);
                }
                // Wraps around after 136 years at one change per second.
                versions[index] = versions[index].wrapping_add(1);
            }
            Self::Stored => {
                tree.set_key(node, cx.random_key());
            }
        }
    }

    pub(super) fn drop_key(&self, tree: &mut KeyTree, node: Node) {
        if matches!(self, Self::Stored) {
            tree.set_key(node, Key::default());
        }
    }

    /// Returns the key of a key node, or the individual key of the member in a slot. `derive` works
    /// as [`Context::derive`] does.
    pub(super) fn key<'a>(
        &'a self,
        tree: &'a KeyTree,
        roster: &'a SlotRoster,
        node: Node,
        derive: impl FnOnce(&Key, &'static str, &[u8]) -> Key,
    ) -> Cow<'a, Key> {
        match self {
            _ if node.level == 0 => roster.individual_key_by(node.index, derive),
            Self::Derived { master, versions } if !tree.stores_keys() => {
                let version = versions.get(usize::from(node.level) - 1);
                let version = version.and_then(|level| level.get(node.index as usize));
                let derive = |label, context: &[u8]| derive(master, label, context);
                Cow::Owned(node_key(node, *version.unwrap_or(&0), derive))
            }
            _ => Cow::Borrowed(tree.key(node, roster)),
        }
    }

    /// Returns the number of keys held for the tree: between operations, and in addition during a
    /// creation.
    pub(super) fn held(&self, tree: &KeyTree) -> (usize, usize) {
        match self {
            Self::Derived { .. } => (1, tree.key_count()),
            Self::Stored => (tree.key_count(), 0),
        }
    }
}

/// Where the keys come from follows from the configuration.
impl PartyState for KeyStore {
    fn save_state(&self, state: &mut SavedState) {
        if let Self::Derived { master, versions } = self {
            master.save(state);
            versions.save(state);
        }
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        if let Self::Derived { master, versions } = self {
            *master = Saved::restore(state)?;
            *versions = Saved::restore(state)?;
        }
        Ok(())
    }
}

fn node_key(node: Node, version: u32, derive: impl FnOnce(&'static str, &[u8]) -> Key) -> Key {
    let mut context = [0; 8];
    context[..4].copy_from_slice(&node.id().to_be_bytes());
    context[4..].copy_from_slice(&version.to_be_bytes());
    derive("groupkey lkh node key", &context)
}
