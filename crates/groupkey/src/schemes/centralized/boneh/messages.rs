//! Kinds of messages, the header, and the context of the group key's derivation.

use crate::context::Context;
use crate::crypto::pairing::G2;
use crate::identity::Epoch;
use crate::saved_state::saved;

/// Decides which party computes the product a_i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The member.
    Fat,
    /// The controller.
    Thin,
}

/// C_0 and C_1, from which members make the group key.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) c0: G2,
    pub(super) c1: G2,
}

saved!(Header { c0, c1 });

/// Carries the public key, the members and the header.
pub(super) const PUBLIC_KEY: u8 = 0;

/// Carries the changes to these or a member's element, and the header.
pub(super) const REKEY: u8 = 1;

/// Asks for what the member missed.
pub(super) const REQUEST: u8 = 2;

/// Carries a member's two elements and the header.
pub(super) const MEMBER: u8 = 3;

pub(super) const LABEL: &str = "groupkey boneh group key";

/// Returns the context that the group key is bound to: the group and the epoch.
pub(super) fn context(cx: &Context<'_>, epoch: Epoch) -> [u8; 16] {
    let mut context = [0; 16];
    context[..8].copy_from_slice(&cx.group().0.to_be_bytes());
    context[8..].copy_from_slice(&epoch.0.to_be_bytes());
    context
}
