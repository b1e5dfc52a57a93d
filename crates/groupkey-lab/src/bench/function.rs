//! The specification: the functions that the benchmark measures, by role, operation and phase.
//!
//! The basis is tables 1 to 3 of S002 (controller; members and subgroup controllers; members among
//! themselves). The phases and encryption are those of S003 (definitions 3.1 and 3.2). The other
//! operations are those that the catalogue's schemes have beyond creating, adding and removing.

use std::fmt;

use groupkey::catalogue::growth::Role;
use groupkey::catalogue::{Class, Scheme};

use super::Activity;

/// What a role computes in one phase of one activity: a line of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The role.
    pub role: Role,
    /// The activity.
    pub activity: Activity,
    /// The phase.
    pub phase: Phase,
}

impl Function {
    /// Returns what a scheme's roles do in an activity; nothing if the scheme lacks it. The roles
    /// follow from the scheme's class. A role that turns out to have nothing to do has no row.
    pub fn of(scheme: &Scheme, activity: Activity) -> Vec<Self> {
        if !activity.is_of(scheme) {
            return Vec::new();
        }
        Self::all()
            .filter(|function| function.activity == activity && function.is_of(scheme.class()))
            .collect()
    }

    /// Returns all functions, in the order of activities, phases and roles.
    pub fn all() -> impl Iterator<Item = Self> {
        let all = Activity::ALL.into_iter().flat_map(|activity| {
            Phase::ALL.into_iter().flat_map(move |phase| {
                Role::ALL.into_iter().map(move |role| Self { role, activity, phase })
            })
        });
        all.filter(|function| function.definition().is_some())
    }

    /// Returns the inputs; n is the number of members.
    pub fn inputs(self) -> &'static str {
        self.definition().map_or("", |(inputs, _)| inputs)
    }

    /// Returns the results that the function must have.
    pub fn results(self) -> &'static str {
        self.definition().map_or("", |(_, results)| results)
    }

    fn is_of(self, class: Class) -> bool {
        let served = class != Class::Distributed;
        match (self.role, self.activity) {
            (Role::Controller, _) => served,
            (Role::SubgroupController, _) => class == Class::Hybrid,
            (Role::Sponsor, Activity::Send) => true,
            (Role::Sponsor, _) => !served,
            _ => served || self.phase == Phase::Operational,
        }
    }

    /// Returns inputs and results; `None` if a role has no such function.
    fn definition(self) -> Option<(&'static str, &'static str)> {
        use Activity as A;
        use Role as R;
        let Self { role, activity, phase } = self;
        let definition = match (phase, activity, role) {
            (Phase::Deployment, A::Create, R::Controller) => (
                "ids of n members",
                "an individual key for each; in hybrid schemes, news for subgroups",
            ),
            (Phase::Deployment, A::Add, R::Controller) => (
                "id of the newcomer",
                "its individual key; in hybrid schemes, news for its subgroup",
            ),
            (Phase::Deployment, A::Batch, R::Controller) => {
                ("ids of the newcomers", "an individual key for each")
            }
            (Phase::Deployment, A::Create | A::Add, R::SubgroupController) => {
                ("the members enrolled in its subgroup", "an individual key for each of them")
            }
            (Phase::Deployment, A::Create, R::Member) => {
                ("the message with its individual key", "holds its individual key")
            }
            (Phase::Deployment, A::Add | A::Batch, R::NewMember) => {
                ("the message with its individual key", "holds its individual key")
            }
            (Phase::Operational, A::Create, R::Controller) => (
                "ids of n members, in order",
                "the group key, and all messages for members or subgroups",
            ),
            (Phase::Operational, A::Add, R::Controller) => {
                ("id of the newcomer", "the next group key, and all messages")
            }
            (Phase::Operational, A::Remove, R::Controller) => {
                ("id of the leaving member", "the next group key, and all messages")
            }
            (Phase::Operational, A::Batch, R::Controller) => {
                ("ids of the joining and leaving members", "the next group key, and all messages")
            }
            (Phase::Operational, A::Rekey, R::Controller | R::SubgroupController) => {
                ("nothing but that a period begins", "the next group key, and all messages")
            }
            (Phase::Operational, A::Create | A::Add | A::Remove, R::SubgroupController) => {
                ("the controller's message", "messages for the members of its subgroup")
            }
            (Phase::Operational, A::Send, R::SubgroupController) => {
                ("the message's key, wrapped", "the same, wrapped for the next subgroup")
            }
            (Phase::Operational, A::Create, R::Member) => {
                ("the messages for it; without a controller also the ids of all", "the group key")
            }
            (Phase::Operational, A::Add | A::Remove | A::Batch | A::Rekey, R::Member) => (
                "the messages for it; without a controller also the joining or leaving member",
                "the next group key",
            ),
            (Phase::Operational, A::Partition | A::Merge, R::Member) => (
                "the members out of reach, or back; the messages for it",
                "the next group key of its part",
            ),
            (Phase::Operational, A::Send, R::Member) => {
                ("the message's key, wrapped", "the message's key")
            }
            (Phase::Operational, A::Add | A::Batch, R::NewMember) => {
                ("the messages for it; without a controller also the ids of all", "the group key")
            }
            (
                Phase::Operational,
                A::Create | A::Add | A::Remove | A::Batch | A::Rekey | A::Partition | A::Merge,
                R::Sponsor,
            ) => ("what the other members get", "the group key, and what the others need for it"),
            (Phase::Operational, A::Send, R::Sponsor) => {
                ("nothing but that a message begins", "the message's key, wrapped for its subgroup")
            }
            (Phase::Operational, A::Encrypt, R::Member) => {
                ("a message of B bytes; the group key", "a COSE object under the group key")
            }
            (Phase::Operational, A::Decrypt, R::Member) => {
                ("a COSE object under the group key; the group key", "the message, and who sent it")
            }
            _ => return None,
        };
        Some(definition)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, activity, phase } = self;
        write!(f, "{} at {}, {}", role.name(), activity.name(), phase.name())
    }
}

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

#[cfg(test)]
mod tests {
    use groupkey::catalogue::SCHEMES;

    use super::*;

    #[test]
    fn every_operation_of_the_catalogue_is_measured() {
        for scheme in SCHEMES {
            for &operation in scheme.operations {
                let activity = Activity::ALL.into_iter().find(|a| a.operation() == Some(operation));
                let activity =
                    activity.unwrap_or_else(|| panic!("{} of {}", operation.name(), scheme.id));
                assert!(!Function::of(scheme, activity).is_empty(), "{}", scheme.id);
            }
        }
    }

    #[test]
    fn only_served_schemes_have_controllers_and_only_others_a_deployment_without() {
        let of = |id: &str, activity| {
            Function::of(groupkey::catalogue::scheme(id).expect("in the catalogue"), activity)
        };
        let names = |functions: Vec<Function>| {
            functions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            names(of("skdc", Activity::Create)),
            "controller at create, deployment; member at create, deployment; \
             controller at create, operational; member at create, operational"
        );
        assert_eq!(
            names(of("tgdh", Activity::Add)),
            "sponsor at add, operational; member at add, operational; new-member at add, operational"
        );
        assert_eq!(of("skdc", Activity::Merge), []);
    }
}
