//! What was taken and what was refused, counted.

use groupkey::Error;
use groupkey::error::Misbehaviour;

/// Messages by what became of them. They only grow, and start at zero with the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Taken.
    pub taken: u64,
    /// Longer than [`MAX_PAYLOAD`](crate::join::MAX_PAYLOAD).
    pub oversized: u64,
    /// Not what belongs on the topic: malformed, of another group, or for somebody else.
    pub malformed: u64,
    /// A signature, MAC or proof that does not hold, or a key that does not open.
    pub forged: u64,
    /// Seen before, or of an epoch that is over.
    pub replayed: u64,
    /// Of a later epoch than the next: something was missed.
    pub skipped: u64,
    /// From somebody who may not, or at a time when it may not.
    pub refused: u64,
    /// Refused because a limit of memory was reached.
    pub overflowed: u64,
}

impl Counters {
    /// All that were refused.
    pub const fn refusals(&self) -> u64 {
        self.oversized
            + self.malformed
            + self.forged
            + self.replayed
            + self.skipped
            + self.refused
            + self.overflowed
    }

    /// Those that were refused, by reason.
    pub const fn by_reason(&self) -> [(&'static str, u64); 7] {
        // A counter that is added must be named here or not compile.
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
    pub(crate) const fn count(&mut self, error: &Error) {
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
            Error::Misuse(_) | Error::Unsupported(_) => &mut self.refused,
        };
        *counter += 1;
    }
}
