//! The nonce that tells a request for missed messages from all others.

/// Tells one request from all others. A nonce is not secret, but it is drawn at random. Suppose
/// that all parties share a MAC key: a party that could guess the nonce could have a member's
/// request answered ahead of time. Eight bytes suffice, because each guess takes an answer of an
/// honest party, and 2^64 answers are out of reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(pub [u8; Self::BYTES]);

impl Nonce {
    /// The length of every nonce.
    pub const BYTES: usize = 8;
}
