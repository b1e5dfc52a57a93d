//! What a service tells its operator: events, and the devices that it knows.

use groupkey::{Epoch, MemberId};

/// What a service tells its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A device is a member now.
    Admitted {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// A device is not let in. It is told once a minute.
    Refused {
        /// The name that it gives, unchecked.
        name: String,
        /// The reason.
        why: Why,
    },
    /// A device may join, and waits for the group to be founded.
    Waits {
        /// Its name.
        name: String,
        /// How many wait.
        waiting: usize,
        /// How many there must be.
        founders: usize,
    },
    /// A member is out.
    Left {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// The group has a new key.
    Rekeyed {
        /// Its epoch.
        epoch: Epoch,
        /// How many members have it.
        members: usize,
    },
}

/// Why a device is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It was evicted.
    Barred,
    /// Too many wait.
    Full,
    /// What it shows is no key, token or identity by which it may join.
    NoPermission,
    /// It has said something later before: its clock was ahead then, or somebody repeats what it said.
    Replayed,
    /// It is a member that has lost its memory, and the group is too small to lose it.
    TooFew,
}

/// A device that is or was a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its number.
    pub member: MemberId,
    /// Whether it is a member now.
    pub is_current: bool,
    /// Whether it was evicted, and may not come back until it is readmitted.
    pub is_barred: bool,
}
