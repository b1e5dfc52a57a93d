//! Kinds of messages, and the keys that are derived from their contents.

use zeroize::Zeroizing;

use crate::context::Context;
use crate::identity::Epoch;
use crate::scheme::Profile;
use crate::secret::Key;

/// Carries all keys of the tree, J, and the command.
pub(super) const CREATION: u8 = 0;

/// Carries the changes of a join or a removal.
pub(super) const UPDATE: u8 = 1;

/// Carries one member's keys under its individual key.
pub(super) const KEYS: u8 = 2;

/// Asks for the current keys.
pub(super) const REQUEST: u8 = 3;

/// The label for the anchor of a chain of commands. It is wrapped under the root key, but is no
/// node's key.
pub(super) const COMMANDS: u64 = u64::MAX;

/// Returns the successor of J when a member joins.
pub(super) fn next_join_key(cx: &mut Context<'_>, join_key: &Key) -> Key {
    cx.hash(join_key, "groupkey s2rp join")
}

/// Returns the group key that belongs to a root key and J. Without J, both profiles derive it for
/// the epoch, because a published join does not change the root's key.
pub(super) fn group_key(
    cx: &mut Context<'_>,
    profile: Profile,
    epoch: Epoch,
    root_key: &Key,
    join_key: Option<&Key>,
) -> Key {
    let mut context = Zeroizing::new([0; 32]);
    match join_key {
        Some(join_key) if profile.is_published() => return cx.xor(root_key, join_key),
        Some(join_key) => context[..16].copy_from_slice(join_key.as_bytes()),
        None => {}
    }
    context[16..24].copy_from_slice(&cx.group().0.to_be_bytes());
    context[24..].copy_from_slice(&epoch.0.to_be_bytes());
    cx.derive(root_key, "groupkey s2rp group key", &*context)
}
