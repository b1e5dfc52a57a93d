//! What a scheme asks of the network and what it offers: tables 1 and 2 of S003, computed from what the
//! scheme's parties did.
//!
//! A small group runs every operation of the scheme; each message is noted by operation, phase, who sent
//! it to whom, over which channel, and to how many. Whether something limits the group's size follows from
//! groups of three sizes. Nothing here is a claim from the catalogue.

mod published;
mod run;

use groupkey::catalogue::{Profile, Scheme};
use groupkey::rig::RigError;
use groupkey::{Operation, Suite};

pub use self::published::{Comparison, compare};
use super::{Phase, Reach, Role};

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
    /// Whether a newcomer's arrival changed the key at once, so that it has none of before; `None` if there
    /// is no group key or nobody can join.
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

/// Runs a scheme in a profile, with the profile's suite, and tells what it asked for. Nothing is left to chance: the result is the same every time.
pub fn requirements(scheme: &'static Scheme, profile: Profile) -> Result<Requirements, RigError> {
    run::requirements(scheme, profile)
}

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

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    fn of(id: &str) -> Requirements {
        let scheme = scheme(id).expect("in the catalogue");
        requirements(scheme, Profile::Sound).unwrap_or_else(|error| panic!("{id}: {error}"))
    }

    #[test]
    fn skdc_sends_unicasts_only() {
        let skdc = of("skdc");
        assert_eq!(skdc.reaches(Operation::Create, Phase::Deployment), [Reach::Unicast]);
        assert_eq!(skdc.reaches(Operation::Create, Phase::Operational), [Reach::Unicast]);
        let create: Vec<_> = skdc.of(Operation::Create, Phase::Operational).collect();
        assert_eq!((create.len(), create[0].messages), (1, 8));
        assert_eq!(
            skdc.links(),
            [(Role::Controller, Role::Member), (Role::Controller, Role::NewMember)]
        );
        assert_eq!((skdc.join_changes_key, skdc.leave_changes_key), (Some(true), Some(true)));
        assert!(!skdc.is_limited());
    }

    #[test]
    fn members_among_themselves_have_no_deployment() {
        let tgdh = of("tgdh");
        assert!(tgdh.uses.iter().all(|used| used.phase == Phase::Operational));
        assert!(
            tgdh.links().iter().all(|(from, to)| {
                ![from, to].into_iter().any(|role| *role == Role::Controller)
            })
        );
        assert!(tgdh.is_limited(), "each has the tree of all");
    }

    #[test]
    fn a_subset_is_a_multicast() {
        let key_oriented = of("lkh-key");
        assert!(
            key_oriented.reaches(Operation::Remove, Phase::Operational).contains(&Reach::Multicast)
        );
        assert!(!key_oriented.is_limited(), "a path is logarithmic");
        let group_oriented = of("lkh-group");
        assert_eq!(
            group_oriented.reaches(Operation::Remove, Phase::Operational),
            [Reach::Broadcast]
        );
    }
}
