//! What a scheme asks of the network and what it offers: tables 1 and 2 of S003, computed from the
//! actions of the scheme's parties.
//!
//! A small group runs every operation of the scheme. Each message is noted with its operation,
//! phase, sender, receiver, channel and reach. Groups of three sizes show whether something limits
//! the group's size. Nothing here is a claim from the catalogue.

mod asked;
mod published;
mod run;

use groupkey::catalogue::{Profile, Scheme};
use groupkey_testkit::rig::RigError;

pub use self::asked::{MEMBERS, SchemeRequirements, Use};
pub use self::published::{RequirementComparison, compare};

/// Runs a scheme in a profile, with the profile's suite, and returns what it asked for. Nothing is
/// left to chance: the result is the same every time.
pub fn requirements(
    scheme: &'static Scheme,
    profile: Profile,
) -> Result<SchemeRequirements, RigError> {
    run::requirements(scheme, profile)
}

#[cfg(test)]
mod tests {
    use groupkey::Operation;
    use groupkey::catalogue::growth::Role;
    use groupkey::catalogue::scheme;

    use super::*;
    use crate::bench::{Phase, Reach};

    fn of(id: &str) -> SchemeRequirements {
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
