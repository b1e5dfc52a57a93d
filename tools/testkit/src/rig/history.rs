//! Histories of a group, for model-based tests and fuzzing.

/// Operations of a random history, for model-based tests and fuzzing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A new member joins.
    Add,
    /// This many new members join and this many members at a place leave, in one change, if the
    /// scheme supports it.
    Batch(u8, u8, u16),
    /// The two parts of the group come together, if it was split.
    Merge,
    /// This many members from this place on continue by themselves, if the scheme supports it and
    /// the group is whole.
    Partition(u8, u16),
    /// A new period begins, if the scheme has periods.
    Rekey,
    /// The current member at this place (modulo their number) leaves.
    Remove(u16),
    /// The current member at this place sleeps through the operations that follow.
    Sleep(u16),
    /// The subgroup controller with this number (modulo how many there are) sleeps, if the scheme
    /// has subgroups.
    SleepSubgroup(u16),
    /// All sleepers catch up.
    Wake,
}
