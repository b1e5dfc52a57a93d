//! Who is who: groups, members, parties, and the epochs of a group.

use core::fmt;

/// A group, as the application numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u64);

/// A member of a group, as the application numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u32);

/// A subgroup of a hybrid scheme, as the controller numbers them from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubgroupId(pub u32);

/// The life of one group key. The first key of a group has epoch 1; every change adds 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Anybody who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartyId {
    /// The key server of a centralized or hybrid scheme (papers: CI, KDC).
    Controller,
    /// The one who serves a subgroup of a hybrid scheme (papers: SgC).
    SubgroupController(SubgroupId),
    /// A member.
    Member(MemberId),
}

impl Epoch {
    /// The epoch after this one. There is none after the last, so that no message can cause an
    /// overflow.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SubgroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<SubgroupId> for PartyId {
    fn from(subgroup: SubgroupId) -> Self {
        Self::SubgroupController(subgroup)
    }
}

impl From<MemberId> for PartyId {
    fn from(member: MemberId) -> Self {
        Self::Member(member)
    }
}

impl fmt::Display for PartyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controller => write!(f, "controller"),
            Self::SubgroupController(subgroup) => write!(f, "subgroup controller {subgroup}"),
            Self::Member(member) => write!(f, "member {member}"),
        }
    }
}
