//! How new keys are put into messages, and the message by which a member asks for them.

/// How new keys are put into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// One broadcast for all.
    Group,
    /// Each new key wrapped once; each member gets the wrapped keys that it needs.
    Key,
    /// All keys that a member needs, wrapped in one call.
    User,
}

/// Asks for the current keys of the path.
pub(super) const REQUEST: u8 = 2;
