//! Who does something, when in a group's life, and how a message goes: the words of the papers' tables.

use std::fmt;

use groupkey::{Channel, PartyId, Recipient};

use super::Traffic;

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The controller of the group (papers: CI).
    Controller,
    /// The controller of a subgroup (papers: SgC).
    SubgroupController,
    /// A member.
    Member,
    /// A member that joins in this operation.
    NewMember,
    /// The member of a distributed group that acts for the others.
    Sponsor,
}

/// When something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Once for each member, before it is in operation, over a confidential channel.
    Deployment,
    /// From then on, over open channels.
    Operational,
}

/// To how many a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cast {
    /// To one party.
    Unicast,
    /// To those who subscribed to a subset.
    Multicast,
    /// To all members.
    Broadcast,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Controller, Self::SubgroupController, Self::Member, Self::NewMember, Self::Sponsor];

    /// The role that a party has by its place.
    pub const fn of(party: PartyId) -> Self {
        match party {
            PartyId::Controller => Self::Controller,
            PartyId::Member(_) => Self::Member,
            PartyId::SubgroupController(_) => Self::SubgroupController,
        }
    }

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Member => "member",
            Self::NewMember => "new-member",
            Self::Sponsor => "sponsor",
            Self::SubgroupController => "subgroup-controller",
        }
    }
}

impl Phase {
    /// Both, in their order.
    pub const ALL: [Self; 2] = [Self::Deployment, Self::Operational];

    /// The phase of which a channel is.
    pub const fn of(channel: Channel) -> Self {
        match channel {
            Channel::Confidential => Self::Deployment,
            Channel::Open => Self::Operational,
        }
    }

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::Operational => "operational",
        }
    }
}

impl Cast {
    /// All, by the number of those whom a message reaches.
    pub const ALL: [Self; 3] = [Self::Unicast, Self::Multicast, Self::Broadcast];

    /// How a message to this recipient goes.
    pub const fn of(recipient: Recipient) -> Self {
        match recipient {
            Recipient::Group => Self::Broadcast,
            Recipient::Subset(_) => Self::Multicast,
            Recipient::Controller | Recipient::Member(_) | Recipient::SubgroupController(_) => {
                Self::Unicast
            }
        }
    }

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Multicast => "multicast",
            Self::Unicast => "unicast",
        }
    }
}

impl Traffic {
    /// Counts one message more.
    pub(super) fn count(&mut self, payload_bytes: usize, wire_bytes: usize) {
        self.messages += 1;
        self.payload_bytes += payload_bytes as u64;
        self.wire_bytes += wire_bytes as u64;
    }

    /// Adds other messages.
    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.payload_bytes += other.payload_bytes;
        self.wire_bytes += other.wire_bytes;
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
