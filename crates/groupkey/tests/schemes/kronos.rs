//! Kronos costs what the header of its file says, with full, ragged and empty subgroups, and whether
//! the master key stays or is replaced.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::{Rig, Settings};

use crate::schemes::counts::{calls, derivations, every_member_unwraps_once, permanent, wraps};
use crate::schemes::subgroups::{assert_one_answer_brings_back, members_of, sent};

#[test]
fn operations_cost_what_the_formulas_say() {
    for subgroups in [1, 2, 3, 7] {
        for n in [2, 3, 4, 8, 9, 17, 64, 65] {
            let active = subgroups.min(n);
            let mut rig = rig(Profile::Sound, subgroups, 0);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (active, 2 * active));
            assert_eq!(derivations(&created, Controller), 2);
            for subgroup in 0..active {
                let members = members_of(subgroup, subgroups, n);
                let id = SubgroupId(subgroup);
                assert_eq!(wraps(&created, id), (members, 2 * members));
                assert_eq!(derivations(&created, id), 2);
                assert_eq!(calls(&created, id, Primitive::Unwrap), 1);
                assert_eq!(permanent(&rig, id), 16 * (members + 5));
            }
            every_member_unwraps_once(&created, 0..n);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 3));
            assert_eq!(permanent(&rig, MemberId(0)), 48);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (0, active));
            assert_eq!(wraps(&rekeyed, Controller), (0, 0));
            assert_eq!(derivations(&rekeyed, Controller), 2);
            for subgroup in 0..active {
                let id = SubgroupId(subgroup);
                assert_eq!(wraps(&rekeyed, id), (1, 1));
                assert_eq!(derivations(&rekeyed, id), 2);
            }
            every_member_unwraps_once(&rekeyed, 0..n);

            // The joining member goes to the subgroup with the fewest, of which it may be the
            // first.
            let here = n % subgroups;
            let opens = u32::from(n < subgroups);
            let active = subgroups.min(n + 1);
            let added = rig.add(n).unwrap();
            assert_eq!(sent(&added), (active + 1, active - opens));
            assert_eq!(wraps(&added, Controller), (opens, 2 * opens));
            let told = 2 - opens;
            assert_eq!(wraps(&added, SubgroupId(here)), (told, 2 * told));
            for other in (0..active).filter(|&other| other != here) {
                assert_eq!(wraps(&added, SubgroupId(other)), (1, 1));
            }
            every_member_unwraps_once(&added, 0..=n);

            let members = members_of(here, subgroups, n + 1);
            let removed = rig.remove(n).unwrap();
            assert_eq!(sent(&removed), (active + members - 1, active - 1));
            assert_eq!(wraps(&removed, Controller), (active, 2 * active));
            let here = SubgroupId(here);
            assert_eq!(wraps(&removed, here), (members - 1, 2 * (members - 1)));
            assert_eq!(calls(&removed, here, Primitive::Unwrap), 1);
            every_member_unwraps_once(&removed, 0..n);

            assert_one_answer_brings_back(&mut rig, n + 1, 2);
        }
    }
}

#[test]
fn a_new_master_key_costs_a_message_for_each_subgroup() {
    for subgroups in [1, 2, 7] {
        for reseed in [1, 2, 3, 24] {
            let mut rig = rig(Profile::Sound, subgroups, reseed);
            rig.create(17).unwrap();
            let mut served = 1;
            for _ in 0..60 {
                let rekeyed = rig.rekey().unwrap();
                let seeds = if served == reseed { subgroups } else { 0 };
                served = if served == reseed { 1 } else { served + 1 };
                assert_eq!(sent(&rekeyed), (seeds, subgroups));
                assert_eq!(wraps(&rekeyed, Controller), (seeds, 2 * seeds));
                assert_eq!(derivations(&rekeyed, Controller), 2);
                rig.agreed_key().unwrap();
            }
            // A removal brings a new one, which serves its time from then on.
            rig.remove(3).unwrap();
            for served in 1..=reseed {
                let seeds = if served == reseed { subgroups } else { 0 };
                assert_eq!(sent(&rig.rekey().unwrap()), (seeds, subgroups));
            }
        }
    }
}

#[test]
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig(Profile::Published, subgroups, 0);
            let created = rig.create(n).unwrap();
            let active = subgroups.min(n);
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(derivations(&created, Controller), 1);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 2));
            let first = SubgroupId(0);
            assert_eq!(permanent(&rig, first), 16 * (members_of(0, subgroups, n) + 3));
            assert_eq!(permanent(&rig, MemberId(0)), 32);

            let opens = u32::from(n < subgroups);
            let added = rig.add(n).unwrap();
            let active = subgroups.min(n + 1);
            assert_eq!(sent(&added), (active + n + 1, 0));
            assert_eq!(wraps(&added, Controller), (opens, 2 * opens));
            assert_eq!(derivations(&added, first), 1);
            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (n + 1, 0));
            let removed = rig.remove(1).unwrap();
            assert_eq!(sent(&removed), (active + n, 0));
            for report in [&added, &rekeyed, &removed] {
                every_member_unwraps_once(report, 0..1);
            }
            assert_eq!(wraps(&rekeyed, Controller), (0, 0));
            assert_eq!(wraps(&removed, Controller), (0, 0));
        }
    }
}

#[test]
fn a_subgroup_may_become_empty_and_fill_again() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, 3, 4);
        rig.create(3).unwrap();
        rig.remove(1).unwrap();
        for newcomer in 10..16 {
            rig.agreed_key().unwrap();
            rig.rekey().unwrap();
            let report = rig.add(newcomer).unwrap();
            let first = newcomer == 10 && profile == Profile::Sound;
            assert_eq!(sent(&report).1, if first { 2 } else { 3 * sound(profile) });
            rig.agreed_key().unwrap();
        }
        assert!(!rig.outsider_knows_key());
    }
}

fn sound(profile: Profile) -> u32 {
    u32::from(profile == Profile::Sound)
}

#[test]
fn a_subgroup_may_open_with_a_new_master_key() {
    let mut rig = rig(Profile::Sound, 3, 1);
    rig.create(2).unwrap();
    let opened = rig.add(2).unwrap();
    assert_eq!(sent(&opened), (4, 2));
    assert_eq!(wraps(&opened, Controller), (3, 6));
    for _ in 0..3 {
        rig.agreed_key().unwrap();
        rig.rekey().unwrap();
    }
}

fn rig(profile: Profile, subgroups: u32, reseed: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups), ("reseed", reseed)];
    Rig::new(scheme("kronos").unwrap(), Settings { profile, parameters, ..Settings::default() })
}
