//! How costs grow with the group: what each scheme's table of costs comes to, in a form that a test
//! can hold against real runs (`groupkey-lab`, `tests/laboratory/growth.rs`).

use crate::identity::PartyId;
use crate::party::Operation;
use crate::scheme::properties::Profile;

/// How the cost of one role grows with the number of members n, in some operations.
///
/// Cost is the time of all counted primitives; messages are not protected, so that their lengths do
/// not count. The number of subgroups and other parameters stay as they are while n grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Whose cost.
    pub role: Role,
    /// How it grows.
    pub by: Form,
    /// In which operations.
    pub operations: &'static [Operation],
    /// In which profile; in both if none is named.
    pub profile: Option<Profile>,
}

/// What a party is to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The controller (papers: CI).
    Controller,
    /// The controller of a subgroup (papers: SgC): the one with the most to do.
    SubgroupController,
    /// Where there is no controller, the member with the most to do.
    Sponsor,
    /// A member that neither comes nor goes: of all but a sponsor the one with the most to do.
    Member,
    /// The member that an addition takes in.
    NewMember,
}

/// A form of growth, from the slowest to the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// As 1.
    Constant,
    /// As log n.
    Logarithmic,
    /// As the square of log n: a path of the tree for every node of a path.
    LogarithmSquared,
    /// As n.
    Linear,
    /// As n log n: a path of the tree for every member.
    Linearithmic,
    /// As n².
    Quadratic,
}

impl Growth {
    /// In both profiles.
    pub(crate) const fn of(role: Role, by: Form, operations: &'static [Operation]) -> Self {
        Self { role, by, operations, profile: None }
    }

    /// The same in one profile only.
    pub(crate) const fn only(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// Whether it is about a role's cost of an operation in a profile.
    pub fn concerns(&self, profile: Profile, operation: Operation, role: Role) -> bool {
        self.role == role
            && self.operations.contains(&operation)
            && self.profile.is_none_or(|only| only == profile)
    }
}

impl Role {
    /// All roles, in the order in which tables show them.
    pub const ALL: [Self; 5] =
        [Self::Controller, Self::SubgroupController, Self::Sponsor, Self::Member, Self::NewMember];

    /// The role that a party has by its place; whether a member is new or acts for others, that does not tell.
    pub const fn of_party(party: PartyId) -> Self {
        match party {
            PartyId::Controller => Self::Controller,
            PartyId::Member(_) => Self::Member,
            PartyId::SubgroupController(_) => Self::SubgroupController,
        }
    }

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::SubgroupController => "subgroup-controller",
            Self::Sponsor => "sponsor",
            Self::Member => "member",
            Self::NewMember => "new-member",
        }
    }
}

impl Form {
    /// All forms, from the slowest to the fastest.
    pub const ALL: [Self; 6] = [
        Self::Constant,
        Self::Logarithmic,
        Self::LogarithmSquared,
        Self::Linear,
        Self::Linearithmic,
        Self::Quadratic,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Logarithmic => "log n",
            Self::LogarithmSquared => "log² n",
            Self::Linear => "linear",
            Self::Linearithmic => "n log n",
            Self::Quadratic => "quadratic",
        }
    }
}
