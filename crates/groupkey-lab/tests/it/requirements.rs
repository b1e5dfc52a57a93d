//! What every scheme of the catalogue asks of the network, from its own runs.

use groupkey::catalogue::{Class, Profile, SCHEMES};
use groupkey_lab::bench::requirements::requirements;
use groupkey_lab::bench::{Phase, Reach, Role};

#[test]
fn every_scheme_is_told() {
    for scheme in SCHEMES {
        let found = requirements(scheme, Profile::Sound)
            .unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
        assert!(!found.uses.is_empty(), "{}", scheme.id);
        for used in &found.uses {
            let parties = [used.from, used.to];
            let has_controller = parties.contains(&Role::Controller);
            assert!(
                !has_controller || scheme.class() != Class::Distributed,
                "{}: {used:?}",
                scheme.id
            );
            let has_subgroups = parties.contains(&Role::SubgroupController);
            assert!(!has_subgroups || scheme.class() == Class::Hybrid, "{}: {used:?}", scheme.id);
            // What is confidential goes to one party each.
            assert!(
                used.phase == Phase::Operational || used.reach == Reach::Unicast,
                "{}: {used:?}",
                scheme.id
            );
            assert!(used.messages > 0, "{}: {used:?}", scheme.id);
        }
        // Claimed secrecy shows at least in a new key at once.
        if scheme.claims.backward_secrecy && scheme.class() != Class::Hybrid {
            assert_ne!(found.join_changes_key, Some(false), "{}", scheme.id);
        }
    }
}
