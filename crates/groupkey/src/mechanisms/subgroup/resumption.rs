//! How a subgroup controller recovers after it missed enrolments, joins, leaves or keys. It asks
//! the controller, once, and is told the state of its subgroup.
//!
//! ```text
//! subgroup controller -- request: how many it enrolled ------> controller
//!                     <- shared key -------------------------- confidential, if it has none
//!                     <- members that it has not enrolled ---- confidential, if there are any
//!                     <- members of the group, keys ---------- if its subgroup has part in the group
//! ```
//!
//! The last message is that of a change, operation `CatchUp`, and names all current members. Only
//! their subgroup's controller serves them, so they missed what it missed. It then sends them a
//! creation of the subgroup, whatever the epoch. The subgroup's own keys are redrawn, because some
//! members that had the old ones may be gone. First it enrols the members that it has not enrolled
//! yet. The members have not asked, so only the next message tells them how old this one is.
//!
//! Enrolments of a subgroup are numbered. The numbers show which ones were missed. They also
//! distinguish a member that left and joined again meanwhile from the member that left.
//!
//! Body of the request: 0 without a shared key, else 1 + the number of the next enrolment.

use alloc::vec::Vec;

use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::mechanisms::subgroup::member_list;
use crate::party::Operation;
use crate::wire::Message;

/// Asks the controller for what a subgroup's controller missed. No scheme has this kind for another
/// message.
pub(crate) const REQUEST: u8 = 6;

pub(crate) fn is_request(message: &Message<'_>) -> bool {
    let header = message.header();
    (header.operation, header.kind) == (Operation::CatchUp, REQUEST)
}

/// The enrolled members that the controller tells a subgroup's controller.
pub(crate) struct Enrolled {
    /// The number of the first of these enrolments, and of the one after the last. Members that
    /// have left since are not listed.
    pub(crate) first: u32,
    pub(crate) next: u32,
    pub(crate) members: Vec<MemberId>,
}

impl Enrolled {
    pub(crate) fn read(message: &Message<'_>) -> Result<Self, Error> {
        let mut body = message.body();
        let (first, next) = (body.number32()?, body.number32()?);
        let members = member_list(&mut body)?;
        body.finish()?;
        let numbers = next.checked_sub(first).ok_or(Misbehaviour::InvalidRoster)?;
        let mut sorted = members.clone();
        sorted.sort_unstable();
        let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
        if twice || members.len() > numbers as usize {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        Ok(Self { first, next, members })
    }
}
