//! When a party computes.

/// When a party computes. S003 calls the first phase the preparatory phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Once for each member, over a confidential channel.
    Deployment,
    /// Over open channels, whenever the group changes or members send messages.
    Operational,
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
