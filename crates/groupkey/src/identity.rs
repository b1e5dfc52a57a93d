//! Identifiers of groups, members and parties, and the epochs of a group.

use core::fmt;

/// A group, as the application numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u64);

/// A founding of a group: 16 random bytes that its founder draws, or a hash of what all founders have
/// drawn. A group that is founded anew, even
/// with the same number and the same members, has another instance. So nothing that was recorded in
/// the earlier group counts in the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance(pub [u8; Self::BYTES]);

/// A member of a group, as the application numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u32);

/// A subgroup of a hybrid scheme, as the controller numbers them from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubgroupId(pub u32);

/// The life of one group key. The first key of a group has epoch 1; every change adds 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Any party that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartyId {
    /// The key server of a centralized or hybrid scheme (papers: CI, KDC).
    Controller,
    /// The party that serves a subgroup of a hybrid scheme (papers: SgC).
    SubgroupController(SubgroupId),
    /// A member.
    Member(MemberId),
}

impl Instance {
    /// The length of every instance.
    pub const BYTES: usize = 16;
}

impl PartyId {
    /// Returns the party's number on the wire: 0 is the controller, `n + 1` is member `n`, and
    /// `-1 - s` is the controller of subgroup `s`.
    pub const fn number(self) -> i64 {
        match self {
            Self::Controller => 0,
            Self::Member(MemberId(member)) => member as i64 + 1,
            Self::SubgroupController(SubgroupId(subgroup)) => -1 - subgroup as i64,
        }
    }

    /// Returns the party with this number, if there can be one.
    pub fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Controller,
            1.. => Self::Member(MemberId(u32::try_from(number - 1).ok()?)),
            _ => Self::SubgroupController(SubgroupId(u32::try_from(-1 - number).ok()?)),
        })
    }
}

impl Epoch {
    /// Returns the epoch after this one. The last epoch is followed by itself, so that no message
    /// can cause an overflow.
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
