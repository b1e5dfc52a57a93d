//! Counters of accepted and refused messages.

use groupkey::Error;
use groupkey::error::{Misbehaviour, Unsupported};

use crate::diagnostics;

/// Messages by outcome. Counters only grow, and start at zero with the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accepted.
    pub taken: u64,
    /// Longer than [`MAX_PAYLOAD`](crate::join::MAX_PAYLOAD).
    pub oversized: u64,
    /// Malformed, of another group, or addressed to another party.
    pub malformed: u64,
    /// With a wrong signature, MAC or proof, or with a key that does not unwrap.
    pub forged: u64,
    /// Seen before, or of an earlier epoch.
    pub replayed: u64,
    /// Of an epoch after the next: the receiver missed a message.
    pub skipped: u64,
    /// Not allowed from this sender, or not at this time.
    pub refused: u64,
    /// Refused because a limit of memory was reached.
    pub overflowed: u64,
}

impl Counters {
    /// Returns the number of refused messages.
    pub const fn refusals(&self) -> u64 {
        self.oversized
            + self.malformed
            + self.forged
            + self.replayed
            + self.skipped
            + self.refused
            + self.overflowed
    }

    /// Returns the number of refused messages by reason.
    pub const fn by_reason(&self) -> [(&'static str, u64); 7] {
        // The code does not compile until a new counter is named here.
        let &Self {
            taken: _,
            oversized,
            malformed,
            forged,
            replayed,
            skipped,
            refused,
            overflowed,
        } = self;
        [
            ("oversized", oversized),
            ("malformed", malformed),
            ("forged", forged),
            ("replayed", replayed),
            ("skipped", skipped),
            ("refused", refused),
            ("overflowed", overflowed),
        ]
    }

    /// Counts a party's refusal.
    pub(crate) fn count(&mut self, error: &Error) {
        diagnostics::refused(error);
        let counter = match error {
            Error::Misbehaved(what) => match what {
                Misbehaviour::Malformed
                | Misbehaviour::ForeignGroup
                | Misbehaviour::NotForUs
                | Misbehaviour::InvalidElement
                | Misbehaviour::InvalidRoster => &mut self.malformed,
                Misbehaviour::Forged | Misbehaviour::WrongKey => &mut self.forged,
                Misbehaviour::StaleEpoch { .. } | Misbehaviour::Replayed => &mut self.replayed,
                Misbehaviour::SkippedEpoch { .. } => &mut self.skipped,
                _ => &mut self.refused,
            },
            Error::Unsupported(Unsupported::TooManySources { .. }) => &mut self.overflowed,
            Error::Misuse(_) | Error::Unsupported(_) => &mut self.refused,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_as_that() {
        let mut counters = Counters::default();
        counters.count(&Unsupported::TooManySources { limit: 2 }.into());
        counters.count(&Unsupported::Operation.into());
        assert_eq!((counters.overflowed, counters.refused), (1, 1));
    }
}
