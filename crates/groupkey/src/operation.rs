//! The operations of a group. Every message is part of one of them.

/// The operation that a message is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// Handing out an individual key (deployment phase).
    Enroll = 0,
    /// Creation of the group.
    Create = 1,
    /// A member joins.
    Add = 2,
    /// A member leaves or is evicted.
    Remove = 3,
    /// A member that missed changes catches up.
    CatchUp = 4,
    /// Members join and others leave, in one change of the key.
    Batch = 5,
    /// A new period begins, with the same members.
    Rekey = 6,
    /// A member gets the keys of the epochs that it was promised.
    Grant = 7,
    /// A member distributes a message's key.
    Send = 8,
    /// Two parts of a group come together.
    Merge = 9,
    /// A part of a group continues by itself.
    Partition = 10,
    /// The members of a distributed group agree on the next event.
    Order = 11,
}

impl Operation {
    /// All operations, in the order of their codes on the wire.
    pub(crate) const ALL: [Self; 12] = [
        Self::Enroll,
        Self::Create,
        Self::Add,
        Self::Remove,
        Self::CatchUp,
        Self::Batch,
        Self::Rekey,
        Self::Grant,
        Self::Send,
        Self::Merge,
        Self::Partition,
        Self::Order,
    ];
    /// The operations that change a running group's key, in the order in which the papers name
    /// them.
    pub const MEASURED: [Self; 3] = [Self::Create, Self::Add, Self::Remove];
    /// [`Self::MEASURED`], and the change of the key alone.
    pub const CHANGES: [Self; 4] = [Self::Create, Self::Add, Self::Remove, Self::Rekey];
    /// [`Self::CHANGES`], and the change of several members at once.
    pub const BATCHED_CHANGES: [Self; 5] =
        [Self::Create, Self::Add, Self::Remove, Self::Rekey, Self::Batch];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enroll => "enroll",
            Self::Create => "create",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::CatchUp => "catch-up",
            Self::Batch => "batch",
            Self::Rekey => "rekey",
            Self::Grant => "grant",
            Self::Send => "send",
            Self::Merge => "merge",
            Self::Partition => "partition",
            Self::Order => "order",
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}
