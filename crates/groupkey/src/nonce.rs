//! What tells a request for missed messages from all others.

/// Tells one request from all others. It is not secret, but drawn at random: a party that could
/// guess it could have a member's request answered ahead of time, if there is a MAC key that all
/// share. Eight bytes, because each guess takes an answer of an honest party, and 2^64 of them are
/// out of reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(pub [u8; Self::BYTES]);

impl Nonce {
    /// The length of every nonce.
    pub const BYTES: usize = 8;
}
