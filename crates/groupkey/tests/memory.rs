//! A controller's memory is mostly keys: at most twice what it counts as key material. Where it has
//! no key of each member, because those are derived or a subgroup controller has them, it must still
//! know who is in: that is at most 24 bytes a member. Where members hand keys on, a subgroup
//! controller also knows their order, four bytes a member, and where they were promised periods, which
//! ones, eight bytes a member: there it goes beyond twice by that.

#[path = "../benches/fleet/mod.rs"]
mod fleet;
mod pace;

use std::alloc::System;

use groupkey::Command;
use groupkey::catalogue::{Law, Profile, Recovery, SCHEMES};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::fleet::{Fleet, Outboxes, ids, is_served};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The fleet of S002.
const MEMBERS: u32 = 55_000;

#[test]
fn controllers_hold_little_but_keys() {
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            let configuration = scheme.configuration(profile);
            if !is_served(&configuration) {
                continue;
            }
            let members = pace::fleet(scheme, MEMBERS);
            let ids = ids(members);
            let region = Region::new(ALLOCATOR);
            let held = || region.change().bytes_allocated - region.change().bytes_deallocated;
            let mut fleet = Fleet::new(&configuration, false, Outboxes::default());
            fleet.step(Command::Enroll(&ids));
            fleet.step(Command::Create(&ids));
            fleet.outboxes = Outboxes::default();
            let (keys, subgroup_keys) = fleet.key_bytes();
            let all = held();
            let subgroups = fleet.into_subgroups();
            let below = held();
            drop(subgroups);
            for (who, held, keys) in
                [("controller", all - below, keys), ("subgroup controllers", below, subgroup_keys)]
            {
                let told = format!(
                    "{} {}, {who}: {held} bytes, {keys} of them keys",
                    scheme.id,
                    profile.name()
                );
                println!("{told}");
                let known_of_each = match (scheme.recovery, scheme.law) {
                    (Recovery::Relay, _) => 5,
                    (_, Law::PlannedPeriods) => 9,
                    _ => 0,
                };
                let members = members as usize;
                let most = known_of_each * members + (2 * keys).max(24 * members);
                assert!(held <= most, "{told}");
            }
        }
    }
}
