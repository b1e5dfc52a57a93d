//! Subgroup controllers: their domain, their members, and how news travels between them.

pub(crate) mod area;
mod controller;
pub(crate) mod distributor;
pub(crate) mod domain;
pub(crate) mod relay;
pub(crate) mod resumption;

use alloc::vec::Vec;

use crate::error::Error;
use crate::identity::MemberId;
use crate::party::Operation;
use crate::wire::{Message, Reader};

pub(crate) use self::controller::*;

/// Names members to enrol. The controller sends it over the confidential channel.
pub(crate) const MEMBERS: u8 = 1;
/// Replaces the scheme's own kind in a join that gives the subgroup its first member in an existing
/// group. No scheme has this kind for another message of the controller.
pub(crate) const OPENING: u8 = 2;

/// Whether this message is the first news of the existing group for the subgroup's controller.
pub(crate) fn is_opening(message: &Message<'_>) -> bool {
    (message.header().operation, message.header().kind) == (Operation::Add, OPENING)
}

/// Reads the list of member ids at the start of a controller's message.
pub(crate) fn member_list(body: &mut Reader<'_>) -> Result<Vec<MemberId>, Error> {
    let length = body.array()?;
    // `length` reserves no memory, because it may be false.
    let mut members = Vec::new();
    for _ in 0..length {
        members.push(MemberId(body.number32()?));
    }
    Ok(members)
}
