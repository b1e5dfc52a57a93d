//! What a subscriber of `tracing` sees of this library, with the feature `tracing`: who took which
//! step, which messages were taken, and why one was refused.
//!
//! Fields are names, numbers and errors. No key is among them, no content, and no bytes of a message:
//! `tests/it/machines/tracing.rs` of `groupkey-mqtt` searches a group's whole life for them.

use crate::error::Error;
use crate::identity::{Epoch, PartyId};
use crate::messages::Received;
use crate::party::{Command, Input};

pub(crate) fn step(me: PartyId, input: &Input<'_>, sent: usize, result: &Result<(), Error>) {
    let (what, from) = match input {
        Input::Command(command) => (name(command), None),
        Input::Message(message) => {
            let header = message.header();
            (header.operation.name(), Some(header.sender))
        }
    };
    let from = from.map(tracing::field::display);
    match result {
        Ok(()) => {
            tracing::debug!(target: "groupkey", party = %me, input = what, from, sent, "step")
        }
        Err(error) => {
            tracing::debug!(target: "groupkey", party = %me, input = what, from, %error, "step refused")
        }
    }
}

/// Bytes were no message for this party.
pub(crate) fn refused(me: PartyId, bytes: usize, error: &Error) {
    tracing::debug!(target: "groupkey", party = %me, bytes, %error, "message refused");
}

/// A message to the group was encrypted.
pub(crate) fn sealed(me: PartyId, epoch: Epoch, content: usize, result: Result<usize, &Error>) {
    match result {
        Ok(bytes) => {
            tracing::trace!(target: "groupkey", party = %me, %epoch, content, bytes, "group message encrypted")
        }
        Err(error) => {
            tracing::debug!(target: "groupkey", party = %me, %epoch, content, %error, "group message not encrypted")
        }
    }
}

/// A message to the group was decrypted, or refused.
pub(crate) fn opened(me: PartyId, bytes: usize, result: &Result<Received, Error>) {
    match result {
        Ok(Received { epoch, sender, content }) => {
            let content = content.len();
            tracing::trace!(target: "groupkey", party = %me, %epoch, %sender, content, "group message taken");
        }
        Err(error) => {
            tracing::debug!(target: "groupkey", party = %me, bytes, %error, "group message refused")
        }
    }
}

const fn name(command: &Command<'_>) -> &'static str {
    match command {
        Command::Add(_) => "add",
        Command::Batch { .. } => "batch",
        Command::CatchUp => "catch-up",
        Command::Create(_) => "create",
        Command::Enroll(_) => "enroll",
        Command::Grant { .. } => "grant",
        Command::Merge { .. } => "merge",
        Command::Partition(_) => "partition",
        Command::Rekey => "rekey",
        Command::Remove(_) => "remove",
        Command::Send => "send",
    }
}
