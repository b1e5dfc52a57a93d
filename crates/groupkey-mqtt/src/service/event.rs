//! The reports of a service to its operator: events, and the devices that it knows.

use alloc::string::String;

use groupkey::{Epoch, MemberId};

use super::succession::ChangeError;

/// An event that a service reports to its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceEvent {
    /// The members send under the key of this epoch, which has waited
    /// ([`Policy::activate`](crate::Policy::activate)).
    Activated {
        /// The epoch.
        epoch: Epoch,
    },
    /// A device is a member now.
    Admitted {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// The group has another scheme or other parameters, and a new key.
    Changed {
        /// The scheme's name.
        scheme: &'static str,
        /// The number of members that came along.
        members: usize,
        /// The number of members that did not. They join again by themselves.
        left_behind: usize,
        /// When the group was founded that has them now, ms since 1970. Its epochs begin at 1.
        founded: u64,
    },
    /// The members are told that the group changes its scheme or parameters.
    ChangeBegun {
        /// The name of the new scheme.
        scheme: &'static str,
    },
    /// The group keeps its scheme and key.
    ChangeFailed {
        /// The name of the scheme that it was to have.
        scheme: &'static str,
        /// The reason.
        why: ChangeError,
    },
    /// The group has another founding time, because the service has another founding.
    Founding {
        /// When the group is founded, ms since 1970.
        founded: u64,
    },
    /// The service refuses a device. It tells the operator once a minute.
    Refused {
        /// The name in its request, unchecked.
        name: String,
        /// The reason.
        why: RefusalReason,
    },
    /// A member started again and goes on, with the key that the group has.
    Resumed {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// A device may join, and waits for the group to be created.
    Waits {
        /// Its name.
        name: String,
        /// How many devices wait.
        waiting: usize,
        /// How many must wait before the group is created.
        founders: usize,
    },
    /// A member was evicted.
    Left {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// A member is out, because it was not heard for
    /// [`Policy::evict_silent_after`](crate::Policy::evict_silent_after). It may join again.
    Silent {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// The broker retains no notice that shows whether the store is the service's last state. The
    /// service does nothing until the operator accepts the state. An evicted device may be a member
    /// again in an old copy.
    Unconfirmed,
    /// The group has a new key.
    Rekeyed {
        /// The epoch of the new key.
        epoch: Epoch,
        /// The number of members.
        members: usize,
    },
}

/// The reason why a device is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// It was evicted.
    Barred,
    /// Too many devices wait.
    Full,
    /// It has no key, token or identity that permits it to join.
    NoPermission,
}

/// A device that is or was a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceStatus<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its number.
    pub member: MemberId,
    /// Whether it is a member now.
    pub is_current: bool,
    /// Whether it was evicted, and may not rejoin until it is readmitted.
    pub is_barred: bool,
    /// The latest epoch that it said to have since the service began.
    pub confirmed: Option<Epoch>,
    /// When it last asked for anything since the service began, ns since 1970.
    pub seen: Option<u64>,
    /// Whether it said since the last change of the key that it has an earlier one.
    pub is_behind: bool,
}
