//! How many parties a message reaches, and which phase its channel belongs to.

use groupkey::{Channel, Recipient};

use super::{MessageTraffic, Phase};

/// How many parties a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// To one party.
    Unicast,
    /// To the parties that subscribed to a subset.
    Multicast,
    /// To all members.
    Broadcast,
}

impl Reach {
    /// Returns the reach of a message to this recipient.
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
    /// Returns the phase that a channel belongs to.
    pub const fn of_channel(channel: Channel) -> Self {
        match channel {
            Channel::Confidential => Self::Deployment,
            Channel::Open => Self::Operational,
        }
    }
}

impl MessageTraffic {
    pub(super) const fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.payload_bytes += other.payload_bytes;
        self.wire_bytes += other.wire_bytes;
    }
}
