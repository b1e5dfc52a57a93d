//! What the controller tells a subgroup's controller of its members.

use alloc::vec::Vec;

use crate::error::Error;
use crate::identity::MemberId;
use crate::party::Operation;
use crate::wire::{Message, Reader};

/// Names members to enrol; the controller's message over the confidential channel.
pub(crate) const MEMBERS: u8 = 1;
/// Instead of the scheme's own kind where a member joins: the subgroup gets its first member in a group
/// that goes on already. No scheme has this kind for another message of a controller of the group.
pub(crate) const OPENING: u8 = 2;

/// Whether this is the first that the subgroup's controller hears of a group that goes on already.
pub(crate) fn is_opening(message: &Message<'_>) -> bool {
    (message.header().operation, message.header().kind) == (Operation::Add, OPENING)
}

/// The list of member ids that a message of the controller begins with.
pub(crate) fn member_list(body: &mut Reader<'_>) -> Result<Vec<MemberId>, Error> {
    let length = body.array()?;
    // Not reserved by `length`: it is not known to be true.
    let mut members = Vec::new();
    for _ in 0..length {
        members.push(MemberId(body.number32()?));
    }
    Ok(members)
}
