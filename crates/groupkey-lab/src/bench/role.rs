//! Who computes, and when.

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The key server of a served scheme (papers: CI).
    Controller,
    /// A member that was in the group before and stays.
    Member,
    /// A member that joins a running group.
    NewMember,
    /// A member that acts for the others.
    Sponsor,
    /// The controller of a subgroup in a hybrid scheme (papers: SgC).
    SubgroupController,
}

/// When it computes: S003 calls the first the preparatory phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Once for each member, over a confidential channel.
    Deployment,
    /// Over open channels, whenever the group changes or talks.
    Operational,
}

impl Role {
    /// All roles, in the order in which tables show them.
    pub const ALL: [Self; 5] =
        [Self::Controller, Self::SubgroupController, Self::Sponsor, Self::Member, Self::NewMember];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Member => "member",
            Self::NewMember => "new-member",
            Self::Sponsor => "sponsor",
            Self::SubgroupController => "subgroup-controller",
        }
    }

    /// Which of the parties that play it is told of: each row is of one party.
    pub const fn choice(self) -> &'static str {
        match self {
            Self::Controller => "the only one",
            Self::Member => {
                "with a controller the one of those observed that has most to do, without one the \
                 one in the middle by what they have to do, the sponsor left out"
            }
            Self::NewMember => "the newcomer that has most to do",
            Self::Sponsor => {
                "who has most to do of members among themselves, if they differ; who begins a message"
            }
            Self::SubgroupController => {
                "the one that has most to do: the change is in its subgroup"
            }
        }
    }
}

impl Phase {
    /// Both phases.
    pub const ALL: [Self; 2] = [Self::Deployment, Self::Operational];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::Operational => "operational",
        }
    }
}
