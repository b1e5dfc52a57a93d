//! Kinds of messages, and the keys that are derived from their contents.

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::pairing::Gt;
use crate::identity::Epoch;
use crate::scheme::Parameter;
use crate::secret::Key;

/// Most members that a group can have. A member holds the whole broadcast while it reads it: 20 or
/// 32 bytes a member as published, 16 in `sound`. S004 went up to 550 members with an ESP32.
pub(super) const CAPACITY: Parameter = Parameter {
    name: "capacity",
    meaning: "members at most; each must have memory for a broadcast that grows with their number",
    sound: 1 << 16,
    published: 1 << 16,
    range: (256, 1 << 17),
};

/// Carries gamma, PK and the ciphertext of the group key.
pub(super) const GAMMA: u8 = 0;

/// Asks for the lock, PK and the ciphertext of the current epoch.
pub(super) const REQUEST: u8 = 1;

/// Carries the lock, PK, the ciphertext of the group key, and a confirmation.
pub(super) const LOCK: u8 = 2;

/// In the deployment phase: carries the secret key.
pub(super) const SECRET_KEY: u8 = 1;

pub(super) fn group_key(
    cx: &mut Context<'_>,
    epoch: Epoch,
    element: Gt,
    seed: Option<&Key>,
) -> Key {
    key_of(cx, epoch, element, "groupkey nishat group key", seed)
}

/// Derives a key that is secret as long as the element is. With another secret, the key is secret
/// as long as one of the two is.
pub(super) fn key_of(
    cx: &mut Context<'_>,
    epoch: Epoch,
    mut element: Gt,
    label: &'static str,
    bound: Option<&Key>,
) -> Key {
    let context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes()];
    let key = cx.derive_from_gt(&element, label, context.as_flattened());
    element.zeroize();
    match bound {
        Some(bound) => {
            let bound = cx.derive_for(epoch, bound, label);
            cx.xor(&key, &bound)
        }
        None => key,
    }
}

/// Derives the value that tells a member whether it has the right group key. Without it an altered
/// lock would go unnoticed.
pub(super) fn confirmation(cx: &mut Context<'_>, epoch: Epoch, group_key: &Key) -> Key {
    cx.derive_for(epoch, group_key, "groupkey nishat confirmation")
}
