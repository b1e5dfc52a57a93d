//! The entries of a service's log. New parties that replay them in order reach the same state.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroize;

use super::checkpoint::Checkpoint;
use super::trail::TrailRecord;
use crate::generator::Generator;
use crate::group_form::EncodedForm;
use crate::local_parties::OwnedCommand;

#[derive(Encode, Decode)]
pub(super) enum LogEntry {
    /// The group's form, the service's secrets, and what wrote the log. Only the first entry is of
    /// this kind.
    #[n(0)]
    Founded(#[n(0)] EncodedForm, #[n(1)] Secrets, #[n(2)] Option<Versions>),
    /// A device was admitted, for the first time or again.
    #[n(1)]
    Admitted(#[n(0)] AdmissionEntry),
    /// The controller took a command. Last is a hash of its key afterwards.
    #[n(2)]
    Command(#[n(0)] OwnedCommand, #[n(1)] StepRandomness, #[n(2)] ByteArray<8>),
    /// The party with this number took a message.
    #[n(3)]
    Received(#[n(0)] i64, #[n(1)] ByteVec, #[n(2)] StepRandomness),
    /// The operator barred a member from rejoining, or readmitted it.
    #[n(4)]
    Barred(#[n(0)] u32, #[n(1)] bool),
    /// Before the first member joined, the broker had a notice of another group of this service, or
    /// may have lost one. The entry sets this group's founding time to a time after that, ms since
    /// 1970, and its instance to another one: a copy of this store may have founded that group. Last
    /// is whether the operator ordered it.
    #[n(6)]
    Postdated(#[n(0)] u64, #[n(1)] ByteArray<16>, #[n(2)] bool),
    /// The service began to act with this store. The number is random, so that two copies of a store
    /// have different histories from here on.
    #[n(7)]
    Opened(#[n(0)] ByteArray<16>),
    /// The service stopped by itself.
    #[n(8)]
    Stopped,
    /// The state at this place. Only the first entry is of this kind.
    #[n(9)]
    Checkpoint(#[n(0)] Box<Checkpoint>),
    /// A hash of the state at this place.
    #[n(10)]
    Checked(#[n(0)] ByteArray<32>),
    /// Another founding succeeded the group: its time, ms since 1970, and instance. The chain has the
    /// entry, and a checkpoint takes its place in the same transaction.
    #[n(11)]
    Succeeded(#[n(0)] u64, #[n(1)] ByteArray<16>),
    /// Members resumed: their welcome opened again, and the key did not change.
    #[n(12)]
    Resumed,
    /// The keys before the present epoch count no longer.
    #[n(13)]
    Hardened,
    /// A record of the trail, and its hash. It changes nothing of the group.
    #[n(20)]
    Operated(#[n(0)] Box<TrailRecord>, #[n(1)] ByteArray<32>),
}

/// What wrote a log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Versions {
    #[n(0)]
    pub(super) format: u32,
    /// The version of groupkey. Another one may lead to other keys in a replay.
    #[n(1)]
    pub(super) groupkey: String,
}

impl Versions {
    pub(super) fn ours() -> Self {
        Self { format: FORMAT, groupkey: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// The version of the entries' form. The log of earlier programs had none.
pub(super) const FORMAT: u32 = 7;

#[derive(Clone, Encode, Decode)]
pub(super) struct Secrets {
    #[n(0)]
    pub(super) identity: ByteArray<32>,
    #[n(1)]
    pub(super) mac: Option<ByteArray<32>>,
    /// The subgroup controllers' identities, by the subgroup's number.
    #[n(2)]
    pub(super) subgroups: Vec<ByteArray<32>>,
    /// When the group was founded, ms since 1970.
    #[n(3)]
    pub(super) founded: u64,
    /// Which founding of the group it is: random.
    #[n(4)]
    pub(super) instance: ByteArray<16>,
}

#[derive(Clone, Encode, Decode)]
pub(super) struct AdmissionEntry {
    #[n(0)]
    pub(super) member: u32,
    #[n(1)]
    pub(super) name: String,
    #[n(2)]
    pub(super) identity: ByteArray<32>,
    #[n(3)]
    pub(super) stamp: u64,
    /// The hash of the token that the device used.
    #[n(4)]
    pub(super) token: Option<ByteArray<32>>,
    #[n(5)]
    pub(super) attempt: ByteArray<8>,
}

/// A step's time, and its position in a stream of randomness.
#[derive(Encode, Decode)]
pub(super) struct StepRandomness {
    #[n(0)]
    pub(super) now: u64,
    #[n(1)]
    seed: ByteArray<32>,
    #[n(2)]
    word: u64,
}

impl StepRandomness {
    pub(super) fn at(now: u64, rng: &ChaCha20Rng) -> Self {
        // No step draws 2^66 bytes from one seed.
        Self { now, seed: rng.get_seed().into(), word: rng.get_word_pos() as u64 }
    }

    pub(super) fn rng(&self) -> Generator {
        let mut rng = Generator::from_seed(&self.seed);
        rng.set_word_pos(self.word.into());
        rng
    }
}

impl Drop for StepRandomness {
    fn drop(&mut self) {
        self.seed.zeroize();
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.identity.zeroize();
        self.mac.iter_mut().for_each(|key| key.zeroize());
        self.subgroups.iter_mut().for_each(|identity| identity.zeroize());
    }
}
