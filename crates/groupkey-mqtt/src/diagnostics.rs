//! What a subscriber of `tracing` sees of live groups, with the feature `tracing`: what members and
//! services report, what they refuse, and what becomes of the connection.
//!
//! Fields are names, numbers, errors and the broker's address. No key, token or password is among them,
//! and no content: `tests/it/machines/tracing.rs` searches a group's whole life for them.

use groupkey::Error;

use crate::event::MemberEvent;
use crate::service::ServiceEvent;

pub(crate) fn member(event: &MemberEvent) {
    match event {
        MemberEvent::Heard(received) => {
            tracing::debug!(target: "groupkey", sender = %received.sender, epoch = %received.epoch, "heard");
        }
        MemberEvent::Behind(_) | MemberEvent::JoinsAgain | MemberEvent::Unproven => {
            tracing::warn!(target: "groupkey", ?event, "member");
        }
        event => tracing::info!(target: "groupkey", ?event, "member"),
    }
}

pub(crate) fn service(event: &ServiceEvent) {
    match event {
        ServiceEvent::Refused { .. } => tracing::warn!(target: "groupkey", ?event, "service"),
        event => tracing::info!(target: "groupkey", ?event, "service"),
    }
}

pub(crate) fn refused(error: &Error) {
    tracing::debug!(target: "groupkey", %error, "refused");
}

/// The connection is up: the first one, or another one.
#[cfg(feature = "std")]
pub(crate) fn connected(address: &str, connections: u64) {
    tracing::info!(target: "groupkey", address, connections, "connected");
}

/// The connection ended. The next attempt is after the pause.
#[cfg(feature = "std")]
pub(crate) fn disconnected(address: &str, problem: &str, pause: core::time::Duration) {
    tracing::warn!(target: "groupkey", address, problem, ?pause, "disconnected");
}

#[cfg(feature = "std")]
pub(crate) fn lost(refusal: &str) {
    tracing::error!(target: "groupkey", refusal, "message lost");
}

#[cfg(feature = "std")]
pub(crate) fn in_span<F: Future>(client: &str, driver: F) -> tracing::instrument::Instrumented<F> {
    tracing::Instrument::instrument(
        driver,
        tracing::info_span!(target: "groupkey", "runtime", client),
    )
}
