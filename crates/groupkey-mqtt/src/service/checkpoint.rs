//! Checkpoints: the state of the service as one entry, in place of all earlier entries.
//!
//! The seeds of earlier steps go with their entries, and so do the keys that a reader of the store
//! could derive from them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use groupkey::PartyId;
use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use super::Service;
use super::continuity::Founding;
use super::log::{Entry, Secrets, Versions};
use super::roster::SavedRecord;
use crate::codec::encoded;
use crate::form::Written;
use crate::keyring::Secret;

/// The state of a service.
#[derive(Encode, Decode)]
pub(super) struct Checkpoint {
    #[n(0)]
    pub(super) versions: Versions,
    #[n(1)]
    pub(super) form: Written,
    /// The secrets, with the founding time that holds now.
    #[n(2)]
    pub(super) secrets: Secrets,
    /// The parties' saved states, by their numbers.
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
    /// Whether devices were admitted to this founding.
    #[n(9)]
    pub(super) founding: Founding,
    /// [`Service::fingerprint`] of this state.
    #[n(10)]
    pub(super) fingerprint: ByteArray<32>,
    /// The form in the service's file, if a change of scheme made it another one than the group's.
    #[n(11)]
    pub(super) configured: Option<Written>,
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

impl Service {
    /// Returns the present state as an entry, or `None` if a party cannot be saved.
    pub(super) fn checkpoint(&self) -> Option<Vec<u8>> {
        let parties = self.parties.saved().ok()?.into_iter();
        let keyring = &self.parties.keyring;
        let (entries, recent) = self.chain.last_states();
        let bytes = |secret: &Secret| ByteArray::from(*secret.as_bytes());
        Some(encoded(&Entry::Checkpoint(Box::new(Checkpoint {
            versions: Versions::ours(),
            form: self.parties.form().write(),
            secrets: Secrets {
                identity: bytes(&self.identity),
                mac: self.mac.as_ref().map(bytes),
                subgroups: self.subgroups.iter().map(bytes).collect(),
                founded: self.founded,
                instance: self.instance,
            },
            parties: parties
                .map(|(id, state)| SavedParty {
                    number: id.number(),
                    state: state.as_bytes().to_vec().into(),
                })
                .collect(),
            records: self.roster.saved(|member| keyring.knows(member.into())),
            used_tokens: self.used_tokens.iter().map(|&token| token.into()).collect(),
            rekeyed_at: self.rekeyed_at,
            entries,
            recent,
            founding: self.founding,
            fingerprint: self.fingerprint().into(),
            configured: self.was_changed().then(|| self.configured.clone()),
        }))))
    }

    /// Returns a hash of the state that a replay must lead to: the devices, and the epochs and keys
    /// of all parties. It goes into the store only.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"groupkey state of a service 1");
        hash.update(self.founded.to_be_bytes());
        hash.update(encoded(&self.roster.replayed()));
        for (id, epoch, key) in self.parties.group_keys() {
            hash.update(id.number().to_be_bytes());
            hash.update(epoch.0.to_be_bytes());
            hash.update(key.as_bytes());
        }
        hash.finalize().into()
    }

    /// Returns a short hash of the controller's epoch and key, to be checked after each command.
    pub(super) fn key_check(&self) -> [u8; 8] {
        let mut hash = Sha256::new();
        hash.update(b"groupkey check of a key 1");
        if let Some((epoch, key)) = self.parties.group_key(PartyId::Controller) {
            hash.update(epoch.0.to_be_bytes());
            hash.update(key.as_bytes());
        }
        let hash: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        first
    }
}
