//! What an epoch's members have in common: its secrets, and the transcript that led to it.

use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::key_schedule::EpochContext;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::ratchet_tree::SubtreeHash;
use crate::secret::Key;

/// The secrets that outlive the change which brought them.
#[derive(Clone, Debug)]
pub(super) struct EpochSecrets {
    /// What the next epoch's secrets follow from, beside the commit.
    pub(super) init: Key,
    /// What the key pair follows from to which a returning member encrypts.
    pub(super) external: Key,
    pub(super) group_key: Key,
}

/// The hashes of all changes: `confirmed_transcript_hash` and `interim_transcript_hash` of RFC
/// 9420 section 8.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) confirmed: [u8; 32],
    pub(super) confirmation: [u8; 32],
    interim: [u8; 32],
}

impl EpochSecrets {
    /// Derives the secrets of an epoch, and the confirmation that proves them to members that have
    /// the same transcript: 6 derivations and a MAC.
    pub(super) fn of(
        cx: &mut Context<'_>,
        joiner_secret: &Key,
        context: &[u8],
        transcript: &[u8; 32],
    ) -> (Self, [u8; 32]) {
        let epoch_secret = cx.epoch_secret(joiner_secret, context);
        let secrets = Self {
            init: cx.derive_secret(&epoch_secret, "init"),
            external: cx.derive_secret(&epoch_secret, "external"),
            group_key: cx.derive_secret(&epoch_secret, "exporter"),
        };
        let confirmation_key = cx.derive_secret(&epoch_secret, "confirm");
        let confirmation = cx.committing_mac(&confirmation_key, transcript);
        (secrets, confirmation)
    }
}

impl Transcript {
    pub(super) fn with(&self, cx: &mut Context<'_>, change: &[u8]) -> [u8; 32] {
        cx.digest("groupkey confirmed transcript", &[&self.interim, change])
    }

    /// The transcript after a change that was confirmed.
    pub(super) fn after(cx: &mut Context<'_>, confirmed: [u8; 32], confirmation: [u8; 32]) -> Self {
        let interim = cx.digest("groupkey interim transcript", &[&confirmed, &confirmation]);
        Self { confirmed, confirmation, interim }
    }
}

/// What everything in an epoch is bound to: `GroupContext`.
pub(super) fn epoch_context(
    cx: &Context<'_>,
    epoch: Epoch,
    tree_hash: &SubtreeHash,
    transcript: &[u8; 32],
) -> Vec<u8> {
    // The numbers from 0xf000 on are for private use (RFC 9420 section 17.1).
    const PRIVATE: u16 = 0xf000;
    EpochContext {
        cipher_suite: PRIVATE + cx.suite() as u16,
        group: cx.group_context().as_bytes(),
        epoch: epoch.0,
        tree_hash,
        transcript,
    }
    .to_bytes()
}

/// Reads a hash or a confirmation.
pub(super) fn bytes32(bytes: &[u8]) -> Result<[u8; 32], Error> {
    bytes.try_into().map_err(|_| Misbehaviour::Malformed.into())
}
