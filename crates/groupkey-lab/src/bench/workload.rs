//! Workloads: which groups are measured, and which role does what in them how often.
//!
//! The workloads of the papers are built in. Others are in a TOML file ([`Workload::load`]), which
//! `docs/workloads.md` describes.

mod file;
mod plans;

use groupkey::Operation;
use groupkey::catalogue::growth::Role;
use groupkey::catalogue::{Class, Scheme};

use super::Phase;

/// What a benchmark runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name on the command line and in results.
    pub name: String,
    /// Its subject, and its source.
    pub description: String,
    /// The classes of schemes that it compares.
    pub classes: Vec<Class>,
    /// The sizes of groups.
    pub members: Sizes,
    /// Subgroups of a hybrid scheme's group; 0 leaves the number to the scheme.
    pub subgroups: u32,
    /// Whether every repetition computes on the same values.
    pub randomness: Randomness,
    /// The patterns. A pattern that does not concern a scheme is left out for it.
    pub patterns: Vec<Pattern>,
}

/// Sizes of groups, from `min` to at most `max`; S002 calls them k_min and k_max.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest size (members, at least 2).
    pub min: u32,
    /// The upper bound of the sizes.
    pub max: u32,
    /// The step from one size to the next.
    pub step: u32,
}

/// Where random values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Randomness {
    /// New values in every repetition.
    Fresh,
    /// Static variables: the same values in every repetition, each the hash of the value before
    /// (S002, section 4.2.1).
    Static,
}

/// Which role does what, in which phase, how often: definitions 3.1 and 3.2 of S003, section IV.A
/// of S004.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The role; S003 calls it A.
    pub actor: Role,
    /// The phase; S003 calls it P.
    pub phase: Phase,
    /// The action; S003 calls it O, or C.
    pub action: ActorAction,
    /// How often the role does it; S003 calls it N.
    pub repetitions: u32,
}

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActorAction {
    /// It decrypts a message of this many bytes.
    Decrypt(u32),
    /// It encrypts a message of this many bytes.
    Encrypt(u32),
    /// It does nothing.
    Idle,
    /// It does its part of an operation on the group.
    Manage(Operation),
}

impl Workload {
    /// Returns the patterns that concern a scheme: the scheme has their actor and their operation.
    pub fn patterns_of(&self, scheme: &Scheme) -> impl Iterator<Item = &Pattern> {
        let class = scheme.class();
        let operations = scheme.operations;
        self.patterns.iter().filter(move |pattern| {
            let there = match pattern.actor {
                Role::Controller => class != Class::Distributed,
                Role::SubgroupController => class == Class::Hybrid,
                Role::Sponsor => class == Class::Distributed,
                Role::Member | Role::NewMember => true,
            };
            there
                && match pattern.action {
                    ActorAction::Manage(operation) => operations.contains(&operation),
                    ActorAction::Decrypt(_) | ActorAction::Encrypt(_) | ActorAction::Idle => true,
                }
        })
    }
}

impl Sizes {
    /// Returns all sizes, ascending: `min`, `min` + `step`, and so on. With the city's 2, 55,000
    /// and 100 the last size is 54,902, as in S002.
    pub fn all(self) -> impl Iterator<Item = u32> + Clone {
        (self.min..=self.max).step_by(self.step.max(1) as usize)
    }

    /// Returns at most this many sizes, for a first look. The first and the last size are among
    /// them. The others are spread evenly on a logarithmic axis.
    pub fn few(self, count: usize) -> Vec<u32> {
        let all: Vec<u32> = self.all().collect();
        let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Vec::new() };
        if all.len() <= count || count < 2 {
            return all.into_iter().take(count).collect();
        }
        let ratio = f64::from(last) / f64::from(first);
        let mut few: Vec<u32> = (0..count)
            .map(|place| {
                let wanted = f64::from(first) * ratio.powf(place as f64 / (count - 1) as f64);
                let index = all.partition_point(|&size| f64::from(size) < wanted - 0.5);
                all[index.min(all.len() - 1)]
            })
            .collect();
        few.dedup();
        few
    }
}

impl ActorAction {
    /// The name used in files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decrypt(_) => "decrypt",
            Self::Encrypt(_) => "encrypt",
            Self::Idle => "idle",
            Self::Manage(operation) => operation.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{SCHEMES, scheme};

    use super::*;

    fn named(name: &str) -> Workload {
        Workload::named(name).expect("built in")
    }

    #[test]
    fn every_built_in_workload_is_named_as_listed() {
        for name in Workload::names() {
            assert_eq!(named(name).name, name);
        }
        assert_eq!(Workload::named("village"), None);
    }

    /// S002 sections 4.2.1 and 6.2.1.
    #[test]
    fn the_sizes_are_the_papers() {
        let city = named("smart-city");
        let sizes: Vec<u32> = city.members.all().collect();
        assert_eq!((sizes.len(), sizes[0], sizes[1], sizes[549]), (550, 2, 102, 54_902));
        assert_eq!((city.subgroups, city.randomness), (55, Randomness::Static));
        assert!(city.patterns.iter().all(|pattern| pattern.repetitions == 1_000));
        assert_eq!(city.classes, [Class::Centralized, Class::Hybrid]);
        let platoon = named("platoon");
        assert_eq!(platoon.members.all().collect::<Vec<_>>(), (2..=30).collect::<Vec<_>>());
        assert_eq!(platoon.classes, [Class::Distributed]);
        assert!(platoon.patterns.iter().all(|pattern| pattern.repetitions == 1_000));
    }

    /// S004 section V.B: updates of groups from 50 to 550 members, messages of up to 50 bytes.
    #[test]
    fn nishats_patterns_are_the_papers() {
        let nishat = named("nishat");
        let sizes: Vec<u32> = nishat.members.all().collect();
        assert_eq!((sizes.len(), sizes[0], sizes[10]), (11, 50, 550));
        let has = |action| nishat.patterns.iter().any(|pattern| pattern.action == action);
        assert!(
            has(ActorAction::Idle) && has(ActorAction::Encrypt(50)) && has(ActorAction::Decrypt(1))
        );
        assert!(nishat.patterns.iter().all(|pattern| pattern.actor == Role::Member));
    }

    #[test]
    fn few_sizes_are_spread_over_all() {
        let sizes = named("smart-city").members;
        let few = sizes.few(5);
        assert_eq!((few.len(), few[0], few[4]), (5, 2, 54_902), "{few:?}");
        assert!(few.iter().all(|size| sizes.all().any(|known| known == *size)));
        assert_eq!(Sizes { min: 2, max: 4, step: 1 }.few(10), [2, 3, 4]);
        assert_eq!((sizes.few(1), sizes.few(0)), (vec![2], vec![]));
    }

    #[test]
    fn nobody_does_what_does_not_concern_it() {
        let city = named("smart-city");
        let skdc: Vec<_> = city.patterns_of(scheme("skdc").expect("known")).collect();
        assert!(skdc.iter().any(|pattern| pattern.actor == Role::Controller));
        assert!(skdc.iter().all(|pattern| pattern.actor != Role::SubgroupController));
        for scheme in SCHEMES {
            for pattern in city.patterns_of(scheme) {
                let ActorAction::Manage(operation) = pattern.action else { continue };
                assert!(scheme.operations.contains(&operation), "{}", scheme.id);
            }
        }
    }
}
