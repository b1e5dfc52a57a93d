//! The entries of a service's log. Replayed in order through fresh parties, they give the same state.

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::form::Written;
use crate::parties::Order;

/// What happened.
#[derive(Encode, Decode)]
pub(super) enum Entry {
    /// The group's form and the service's secrets. The first entry, and no other.
    #[n(0)]
    Founded(#[n(0)] Written, #[n(1)] Secrets),
    /// A device became a member, or came back.
    #[n(1)]
    Admitted(#[n(0)] Admission),
    /// The controller had a command.
    #[n(2)]
    Ordered(#[n(0)] Order, #[n(1)] Draw),
    /// A party of the service, by its number, took a message.
    #[n(3)]
    Received(#[n(0)] i64, #[n(1)] ByteVec, #[n(2)] Draw),
    /// The operator bars a member from coming back, or no longer does.
    #[n(4)]
    Barred(#[n(0)] u32, #[n(1)] bool),
    /// The operator lets a member's stamps count from this one on, if they were ahead of it.
    #[n(5)]
    Restamped(#[n(0)] u32, #[n(1)] u64),
    /// Before anybody was in, the broker knew a group of this service that was founded later by its
    /// clock: this one counts as founded after it, ms since 1970.
    #[n(6)]
    Postdated(#[n(0)] u64),
}

#[derive(Encode, Decode)]
pub(super) struct Secrets {
    #[n(0)]
    pub(super) identity: ByteArray<32>,
    #[n(1)]
    pub(super) mac: Option<ByteArray<32>>,
    /// By the number of the subgroup.
    #[n(2)]
    pub(super) subgroups: Vec<ByteArray<32>>,
    /// When the group was founded, ms since 1970.
    #[n(3)]
    pub(super) founded: u64,
}

#[derive(Clone, Encode, Decode)]
pub(super) struct Admission {
    #[n(0)]
    pub(super) member: u32,
    #[n(1)]
    pub(super) name: String,
    #[n(2)]
    pub(super) identity: ByteArray<32>,
    #[n(3)]
    pub(super) stamp: u64,
    /// The hash of the token that was used up.
    #[n(4)]
    pub(super) token: Option<ByteArray<32>>,
    #[n(5)]
    pub(super) attempt: ByteArray<8>,
}

/// A step's time, and the place in a stream of randomness where it begins.
#[derive(Clone, Copy, Encode, Decode)]
pub(super) struct Draw {
    #[n(0)]
    pub(super) now: u64,
    #[n(1)]
    seed: ByteArray<32>,
    #[n(2)]
    word: u64,
}

impl Draw {
    /// Where `rng` is now.
    pub(super) fn at(now: u64, rng: &ChaCha20Rng) -> Self {
        // Nobody draws 2^66 bytes from one seed.
        Self { now, seed: rng.get_seed().into(), word: rng.get_word_pos() as u64 }
    }

    /// The randomness that the step was given.
    pub(super) fn rng(&self) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(self.seed.into());
        rng.set_word_pos(self.word.into());
        rng
    }
}
