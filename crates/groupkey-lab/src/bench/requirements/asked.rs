//! What a scheme asks for and offers.

use groupkey::catalogue::Profile;
use groupkey::catalogue::growth::Role;
use groupkey::{Operation, Suite};

use crate::bench::{Phase, Reach};

/// What a scheme asks for and offers.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeRequirements {
    /// The scheme.
    pub scheme: &'static str,
    /// The profile that was run.
    pub profile: Profile,
    /// The suite in which it was run. Lengths follow from it.
    pub suite: Suite,
    /// The messages of each operation, one entry for each way that they took.
    pub uses: Vec<Use>,
    /// The operations that the scheme has.
    pub operations: Vec<Operation>,
    /// Whether a join changed the key at once, so that the joining member has no earlier key.
    /// `None` if there is no group key or no member can join.
    pub join_changes_key: Option<bool>,
    /// Whether a leave changed the key at once and the leaving member did not get the new key.
    /// `None` if there is no group key or no member can leave.
    pub leave_changes_key: Option<bool>,
    /// Largest key material of a member (bytes) for each further member of the group, or for each
    /// further member that there is room for. `None` if it does not grow in proportion, so that
    /// members' memory does not limit the group.
    pub member_bytes_per_member: Option<f64>,
    /// Smallest and largest number of members that the implementation takes.
    pub members: (u32, u32),
}

/// Messages of one kind in one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The operation.
    pub operation: Operation,
    /// The phase: before operation over a confidential channel, or in operation over an open
    /// channel.
    pub phase: Phase,
    /// The role of the sender.
    pub from: Role,
    /// The role of the receiver.
    pub to: Role,
    /// How many parties each message goes to.
    pub reach: Reach,
    /// Number of messages in a group of [`MEMBERS`] members.
    pub messages: usize,
    /// Bytes of the scheme's own bodies in the longest of them.
    pub longest_body_bytes: usize,
}

/// Members of the group that runs the operations.
pub const MEMBERS: u32 = 8;

impl SchemeRequirements {
    /// Returns the messages of an operation in a phase.
    pub fn of(&self, operation: Operation, phase: Phase) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |used| used.operation == operation && used.phase == phase)
    }

    /// Returns the reaches of an operation's messages in a phase, each reach once, fewest receivers
    /// first.
    pub fn reaches(&self, operation: Operation, phase: Phase) -> Vec<Reach> {
        let mut reaches: Vec<_> = self.of(operation, phase).map(|used| used.reach).collect();
        reaches.sort_unstable();
        reaches.dedup();
        reaches
    }

    /// Returns the topology in operation: the roles of sender and receiver, each pair once.
    pub fn links(&self) -> Vec<(Role, Role)> {
        let operational = self.uses.iter().filter(|used| used.phase == Phase::Operational);
        let mut links: Vec<_> = operational.map(|used| (used.from, used.to)).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Whether members' memory limits the group's size: the feature of S003's table 2.
    pub const fn is_limited(&self) -> bool {
        self.member_bytes_per_member.is_some()
    }
}
