//! A membership event under way, and what it waits for.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::joining::Joiner;
use crate::context::Context;
use crate::crypto::group::ElementCheck;
use crate::error::Error;
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::sponsored::Announcements;
use crate::operation::Operation;
use crate::wire::Message;

/// An event under way.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) operation: Operation,
    /// The epoch that it leads to; a joining member may learn a later one.
    pub(super) epoch: Epoch,
    pub(super) part: Part,
    /// Who joins, in the order of the new leaves.
    pub(super) joining: Announcements<KeyPackage>,
    pub(super) leaving: Vec<MemberId>,
    /// The sponsor's commit, if it came before all key packages.
    pub(super) commit: Option<Commit>,
}

/// What this member does in it.
#[derive(Debug)]
pub(super) enum Part {
    /// It makes the commit, or the group.
    Sponsors,
    Stays {
        sponsor: MemberId,
    },
    /// It waits for a welcome.
    Joins(Box<Joiner>),
}

/// The public keys of a joining member, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyPackage {
    pub(super) leaf: Vec<u8>,
    /// The key to which its welcome is encrypted, once.
    pub(super) init: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Commit {
    pub(super) path: Vec<u8>,
    pub(super) confirmation: [u8; 32],
}

impl Change {
    /// Takes note of a joining member's keys.
    pub(super) fn note(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        check: ElementCheck,
    ) -> Result<(), Error> {
        self.joining.note(message, self.operation, || {
            let mut body = message.body();
            let (leaf, init) = (body.bytes()?, body.bytes()?);
            body.finish()?;
            cx.require_public_key(leaf, check)?;
            cx.require_public_key(init, check)?;
            Ok(KeyPackage { leaf: leaf.to_vec(), init: init.to_vec() })
        })
    }
}

pub(super) const fn public_bytes(cx: &Context<'_>) -> usize {
    cx.kem_lengths().public
}

/// Returns the length of what carries a key to the owner of a public key.
pub(super) const fn encapsulated_bytes(cx: &Context<'_>) -> usize {
    cx.kem_lengths().encapsulated
}
