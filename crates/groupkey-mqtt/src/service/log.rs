//! The entries of a service's log. New parties that replay them in order reach the same state.

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroize;

use crate::form::Written;
use crate::generator::Generator;
use crate::parties::Order;

/// An entry of the log.
#[derive(Encode, Decode)]
pub(super) enum Entry {
    /// The group's form and the service's secrets. Only the first entry is of this kind.
    #[n(0)]
    Founded(#[n(0)] Written, #[n(1)] Secrets),
    /// A device was admitted, for the first time or again.
    #[n(1)]
    Admitted(#[n(0)] Admission),
    /// The controller took a command.
    #[n(2)]
    Ordered(#[n(0)] Order, #[n(1)] Draw),
    /// The party with this number took a message.
    #[n(3)]
    Received(#[n(0)] i64, #[n(1)] ByteVec, #[n(2)] Draw),
    /// The operator barred a member from rejoining, or readmitted it.
    #[n(4)]
    Barred(#[n(0)] u32, #[n(1)] bool),
    /// The operator set a member's last stamp back to this one, if it was later.
    #[n(5)]
    Restamped(#[n(0)] u32, #[n(1)] u64),
    /// Before the first member joined, the broker had a notice of another group of this service
    /// with a later founding time. The entry sets this group's founding time to a time after that,
    /// ms since 1970.
    #[n(6)]
    Postdated(#[n(0)] u64),
}

#[derive(Encode, Decode)]
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
pub(super) struct Admission {
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
pub(super) struct Draw {
    #[n(0)]
    pub(super) now: u64,
    #[n(1)]
    seed: ByteArray<32>,
    #[n(2)]
    word: u64,
}

impl Draw {
    /// Returns the current position of `rng`.
    pub(super) fn at(now: u64, rng: &ChaCha20Rng) -> Self {
        // No step draws 2^66 bytes from one seed.
        Self { now, seed: rng.get_seed().into(), word: rng.get_word_pos() as u64 }
    }

    /// Returns the randomness that the step was given.
    pub(super) fn rng(&self) -> Generator {
        let mut rng = Generator::from_seed(&self.seed);
        rng.set_word_pos(self.word.into());
        rng
    }
}

impl Drop for Draw {
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
