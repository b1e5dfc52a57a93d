//! Checkpoints: the state of the service as one entry, in place of all earlier entries.
//!
//! The seeds of earlier steps go with their entries, and so do the keys that a reader of the store
//! could derive from them.

use alloc::vec::Vec;

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use zeroize::Zeroize;

use super::continuity::FoundingState;
use super::log_entry::{Secrets, Versions};
use super::roster::SavedRecord;
use super::trail::SavedTrail;
use crate::group_form::EncodedForm;

/// The state of a service.
#[derive(Encode, Decode)]
pub(super) struct Checkpoint {
    #[n(0)]
    pub(super) versions: Versions,
    #[n(1)]
    pub(super) form: EncodedForm,
    #[n(2)]
    pub(super) secrets: Secrets,
    #[n(3)]
    pub(super) parties: Vec<SavedParty>,
    #[n(4)]
    pub(super) records: Vec<SavedRecord>,
    #[n(5)]
    pub(super) used_tokens: Vec<ByteArray<32>>,
    /// When the key last changed, ns since 1970.
    #[n(6)]
    pub(super) rekeyed_at: Option<u64>,
    /// The number of the log's entries before this one, and the hashes after the last of them.
    #[n(7)]
    pub(super) entries: u64,
    #[n(8)]
    pub(super) recent: Vec<ByteArray<32>>,
    #[n(9)]
    pub(super) founding: FoundingState,
    /// [`Group::fingerprint`](super::group::LiveGroup::fingerprint) of this state.
    #[n(10)]
    pub(super) fingerprint: ByteArray<32>,
    /// The form in the service's file, if a change of scheme made it another one than the group's.
    #[n(11)]
    pub(super) configured: Option<EncodedForm>,
    #[n(12)]
    pub(super) resumptions: u32,
    /// The first epoch whose key counts.
    #[n(13)]
    pub(super) valid_from: u64,
    /// Who did what.
    #[n(20)]
    pub(super) trail: SavedTrail,
}

/// A party's number and saved state.
#[derive(Encode, Decode)]
pub(super) struct SavedParty {
    #[n(0)]
    pub(super) number: i64,
    #[n(1)]
    pub(super) state: ByteVec,
}

impl Drop for SavedParty {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}
