//! A controller's memory is mostly keys: at most twice what it counts as key material. Where it has
//! no key of each member, because those are derived or a subgroup controller has them, it must still
//! know who is in, at most 16 bytes a member. The floor is 12: the id and the number of the enrolment,
//! which tells a device from one that had its id before, take 8, the subgroup and whether it joined 4.
//! The rest is what it takes to find an id among many.

#[path = "../benches/fleet/mod.rs"]
mod fleet;

use std::alloc::System;

use groupkey::Command;
use groupkey::catalogue::{Profile, SCHEMES, Scheme};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::fleet::{Fleet, Outboxes, ids, is_served};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The fleet of S002.
const MEMBERS: u32 = 55_000;

/// What a controller without individual keys holds of each member, at most (bytes).
const KNOWN_OF_EACH: usize = 16;

/// What does not grow with the members: nothing beside 55,000 of them, but something beside a hundred.
const FIXED: usize = 4096;

#[test]
fn controllers_hold_little_but_keys() {
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            let configuration = scheme.configuration(profile);
            if !is_served(&configuration) {
                continue;
            }
            let members = members(scheme);
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
                let floor = KNOWN_OF_EACH * members as usize;
                assert!(held <= (2 * keys).max(floor) + FIXED, "{told}");
            }
        }
    }
}

/// Pairings take milliseconds where other schemes take microseconds, so those have smaller fleets
/// here. Published, Boneh+ takes the square of the members.
fn members(scheme: &Scheme) -> u32 {
    match scheme.id {
        "boneh-fat" => 100,
        "boneh-thin" => 500,
        "fame" => 500,
        "nishat" => 20_000,
        _ => MEMBERS,
    }
}
