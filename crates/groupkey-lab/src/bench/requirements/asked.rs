//! What a scheme asks for and offers.

use groupkey::catalogue::Profile;
use groupkey::growth::Role;
use groupkey::{Operation, Suite};

use crate::bench::{Phase, Reach};

/// What a scheme asks for and offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// The scheme.
    pub scheme: &'static str,
    /// The profile that was run.
    pub profile: Profile,
    /// The suite in which it was run: lengths follow from it.
    pub suite: Suite,
    /// The messages of each operation, one entry for each way that they went.
    pub uses: Vec<Use>,
    /// What each of these operations did for the group: those that the scheme has.
    pub operations: Vec<Operation>,
    /// Whether a joining member's arrival changed the key at once, so that it has none of before; `None` if
    /// there is no group key or nobody can join.
    pub join_changes_key: Option<bool>,
    /// Whether a member's leaving changed the key at once, and the member did not get the new one; `None`
    /// if there is no group key or nobody can leave.
    pub leave_changes_key: Option<bool>,
    /// How much key material a member holds, at most, for each member that the group has more, or for each
    /// that it has room for more (bytes); `None` if that does not grow in proportion, so that members'
    /// memory does not limit the group.
    pub member_bytes_per_member: Option<f64>,
    /// Members that the implementation takes, at least and at most.
    pub members: (u32, u32),
}

/// Messages of one kind in one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The operation.
    pub operation: Operation,
    /// Before the group is in operation, over a confidential channel, or in operation over an open one.
    pub phase: Phase,
    /// Who sends.
    pub from: Role,
    /// Who receives.
    pub to: Role,
    /// To how many each message goes.
    pub reach: Reach,
    /// How many messages there were in a group of [`MEMBERS`] members.
    pub messages: usize,
    /// Bytes of the scheme's own bodies in the longest of them.
    pub longest_body_bytes: usize,
}

/// Members of the group that runs the operations.
pub const MEMBERS: u32 = 8;

impl Requirements {
    /// What an operation used in a phase.
    pub fn of(&self, operation: Operation, phase: Phase) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |used| used.operation == operation && used.phase == phase)
    }

    /// To how many the messages of an operation in a phase went, each kind once, fewest first.
    pub fn reaches(&self, operation: Operation, phase: Phase) -> Vec<Reach> {
        let mut reaches: Vec<_> = self.of(operation, phase).map(|used| used.reach).collect();
        reaches.sort_unstable();
        reaches.dedup();
        reaches
    }

    /// The topology: who sends to whom, in operation, each pair once.
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
