//! How costs grow with the group: each scheme's cost table, in a form that a test can compare with
//! real runs (`groupkey-lab`, `tests/it/growth.rs`).

use crate::identity::PartyId;
use crate::party::Operation;
use crate::scheme::properties::Profile;

/// How the cost of one role grows with the number of members n, in some operations.
///
/// The cost is the time of all counted primitives. Messages are not protected, so their lengths do
/// not count. The number of subgroups and other parameters stay the same while n grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The role whose cost this is.
    pub role: Role,
    /// The form of its growth.
    pub by: Form,
    /// The operations in which it grows like this.
    pub operations: &'static [Operation],
    /// Whether only the published form grows like this, or only the sound form; both if none.
    pub published: Option<bool>,
}

/// The role of a party in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The controller (papers: CI).
    Controller,
    /// A subgroup controller (papers: SgC): the one with the most work.
    SubgroupController,
    /// The member with the most work, in schemes without a controller.
    Sponsor,
    /// A continuing member that is not the sponsor: the one with the most work.
    Member,
    /// The joining member.
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
    /// Makes a growth for both profiles.
    pub const fn of(role: Role, by: Form, operations: &'static [Operation]) -> Self {
        Self { role, by, operations, published: None }
    }

    /// Restricts the growth to the published profile.
    #[must_use]
    pub const fn only_published(self) -> Self {
        Self { published: Some(true), ..self }
    }

    /// Restricts the growth to the sound profile.
    #[must_use]
    pub const fn only_sound(self) -> Self {
        Self { published: Some(false), ..self }
    }

    /// Returns whether it describes a role's cost of an operation in a profile.
    pub fn concerns(&self, profile: Profile, operation: Operation, role: Role) -> bool {
        self.role == role
            && self.operations.contains(&operation)
            && self.published.is_none_or(|published| published == profile.is_published())
    }
}

impl Role {
    /// All roles, in the order in which tables show them.
    pub const ALL: [Self; 5] =
        [Self::Controller, Self::SubgroupController, Self::Sponsor, Self::Member, Self::NewMember];

    /// Returns the role of a party by its id. The id does not tell whether a member is new or acts
    /// for others.
    pub const fn of_party(party: PartyId) -> Self {
        match party {
            PartyId::Controller => Self::Controller,
            PartyId::Member(_) => Self::Member,
            PartyId::SubgroupController(_) => Self::SubgroupController,
        }
    }

    /// Returns the name used on the command line and in results.
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

    /// Returns the name used in tables.
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
