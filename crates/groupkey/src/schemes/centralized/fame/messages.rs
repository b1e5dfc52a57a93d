//! Kinds of messages, and how keys follow from what they carry.

use crate::context::Context;
use crate::crypto::pairing::Gt;
use crate::identity::Epoch;
use crate::secret::Key;

/// Carries a member's key for a period.
pub(super) const KEYS: u8 = 0;

/// Carries a ciphertext for all members.
pub(super) const CIPHERTEXT: u8 = 1;

/// Asks for what the member missed.
pub(super) const REQUEST: u8 = 2;

/// Carries a member's key for the period and the last ciphertext.
pub(super) const ANSWER: u8 = 3;

/// Derives the key that wraps one message's keys. No salt is drawn twice.
pub(super) fn wrapping_key(cx: &mut Context<'_>, individual: &Key, salt: &[u8]) -> Key {
    cx.derive(individual, "groupkey fame wrapping", salt)
}

/// Derives the group key of an epoch from K and, in the sound form, the link.
pub(super) fn group_key(
    cx: &mut Context<'_>,
    epoch: Epoch,
    shared: &Gt,
    link: Option<&Key>,
) -> Key {
    let mut context = [0; 16];
    context[..8].copy_from_slice(&cx.group().0.to_be_bytes());
    context[8..].copy_from_slice(&epoch.0.to_be_bytes());
    let carried = cx.derive_from_gt(shared, "groupkey fame group key", &context);
    match link {
        Some(link) => {
            let mask = cx.hash_for(epoch, link, "groupkey fame mask");
            cx.xor(&carried, &mask)
        }
        None => carried,
    }
}

/// Returns the link of the next epoch in the same period. It gives no link of the epochs before.
pub(super) fn next_link(cx: &mut Context<'_>, epoch: Epoch, link: &Key) -> Key {
    cx.hash_for(epoch, link, "groupkey fame link")
}
