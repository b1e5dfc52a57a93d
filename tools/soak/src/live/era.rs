//! Which key a group has. Epochs begin anew when another founding succeeds the group.

use std::fmt;

/// A founding (ms since 1970; 0 before there is a group) and an epoch of it. Later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Era {
    pub(super) founding: u64,
    pub(super) epoch: u64,
}

impl Era {
    /// Later than every group.
    pub(super) const NEVER: Self = Self { founding: u64::MAX, epoch: 0 };

    /// Returns whether at least two keys lie between a state and a later one.
    pub(super) const fn is_well_before(self, later: Self) -> bool {
        self.founding < later.founding && later.epoch >= 2
            || self.founding == later.founding && self.epoch + 2 <= later.epoch
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of founding {}", self.epoch, self.founding)
    }
}
