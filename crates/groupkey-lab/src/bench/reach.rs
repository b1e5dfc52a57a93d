//! Whom a message reaches, and what role and phase follow from party and channel.

use groupkey::{Channel, Recipient};

use super::{Phase, Traffic};

/// To how many a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// To one party.
    Unicast,
    /// To those who subscribed to a subset.
    Multicast,
    /// To all members.
    Broadcast,
}

impl Reach {
    /// How far a message to this recipient goes.
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

impl Phase {
    /// The phase of which a channel is.
    pub const fn of_channel(channel: Channel) -> Self {
        match channel {
            Channel::Confidential => Self::Deployment,
            Channel::Open => Self::Operational,
        }
    }
}

impl Traffic {
    /// Adds other messages.
    pub(super) const fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.payload_bytes += other.payload_bytes;
        self.wire_bytes += other.wire_bytes;
    }
}
