//! What a member knows of its key, for the metrics of its program.

use groupkey::Epoch;

use super::{Member, MemberState};

/// What a member knows of its key. A program shows it in its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyStatus {
    /// The epoch of its key.
    pub epoch: Option<Epoch>,
    /// The later epoch that the service has announced, if the member is behind.
    pub behind: Option<Epoch>,
    /// How often it had to ask for a key that it missed.
    pub times_behind: u64,
    /// The time at which the key was the group's latest for certain, ns since 1970.
    pub proven: Option<u64>,
    /// Whether that is so long ago that the member sends nothing.
    pub is_unproven: bool,
}

impl Member {
    /// Returns what the member knows of its key at the time `now`, ns since 1970.
    pub fn key_status(&self, now: u64) -> KeyStatus {
        let is_member = matches!(self.state, MemberState::Inside(_));
        KeyStatus {
            epoch: self.group_key().map(|(epoch, _)| epoch),
            behind: self.missed(),
            times_behind: self.times_behind,
            proven: self.proof.proven().filter(|_| is_member),
            is_unproven: self.proof.is_expired(now),
        }
    }
}
