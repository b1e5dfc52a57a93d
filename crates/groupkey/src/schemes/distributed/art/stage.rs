//! The stage of a group: what its members have in common besides the tree, and what the next stage
//! follows from.

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::group::Element;
use crate::identity::Epoch;
use crate::secret::Key;

/// The keys of a stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// What the stage before gives to it. With the tree key it makes the stage key. A member that
    /// comes in, or back, is told it.
    pub(super) joiner: Key,
    /// What this stage gives to the next one.
    chain: Key,
    pub(super) group_key: Key,
}

impl Stage {
    /// Returns the stage that follows from the one before and from the root's element, which is
    /// wiped: 1 derivation of the tree key, 4 others.
    pub(super) fn after(
        cx: &mut Context<'_>,
        before: Option<&Self>,
        shared: Element,
        context: &[u8],
    ) -> Self {
        let tree_key = tree_key(cx, shared, context);
        let joiner = match before {
            Some(stage) => cx.derive(&stage.chain, "groupkey art joiner", context),
            // The first stage follows from the tree key alone.
            None => cx.derive(&tree_key, "groupkey art first joiner", context),
        };
        Self::of(cx, joiner, &tree_key, context)
    }

    /// Returns the stage that a member is told what the one before gave to it.
    pub(super) fn told(cx: &mut Context<'_>, joiner: Key, shared: Element, context: &[u8]) -> Self {
        let tree_key = tree_key(cx, shared, context);
        Self::of(cx, joiner, &tree_key, context)
    }

    /// The MAC of an update, under a key that follows from this stage: 32 bytes.
    pub(super) fn update_mac(&self, cx: &mut Context<'_>, update: &[u8]) -> [u8; 32] {
        let key = cx.derive(&self.chain, "groupkey art update", &[]);
        cx.committing_mac(&key, update)
    }

    /// Bytes of keys.
    pub(super) const fn stored_bytes() -> usize {
        3 * Key::BYTES
    }

    fn of(cx: &mut Context<'_>, joiner: Key, tree_key: &Key, context: &[u8]) -> Self {
        let stage_key = cx.derive_from_both([&joiner, tree_key], "groupkey art stage", context);
        let group_key = cx.derive(&stage_key, "groupkey art group", &[]);
        let chain = cx.derive(&stage_key, "groupkey art chain", &[]);
        Self { joiner, chain, group_key }
    }
}

/// What a stage is bound to: the group, the epoch, and the tree with its members.
pub(super) fn stage_context(cx: &Context<'_>, epoch: Epoch, tree_hash: &[u8; 32]) -> Vec<u8> {
    [&cx.group_context().as_bytes()[..], &epoch.0.to_be_bytes(), tree_hash].concat()
}

fn tree_key(cx: &mut Context<'_>, mut shared: Element, context: &[u8]) -> Key {
    let key = cx.derive_from_element(&shared, "groupkey art tree key", context);
    shared.zeroize();
    key
}
