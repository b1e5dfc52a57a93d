//! RiSeG costs what the header of its file says, and a member that sleeps holds up those behind it
//! and nobody else, whatever happens meanwhile.

use std::collections::BTreeSet;

use groupkey::PartyId::Controller;
use groupkey::catalogue::Profile;
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, SubgroupId};

use crate::schemes::counts::{
    calls, derivations, every_member_unwraps_once, hashes, permanent, wraps,
};
use crate::schemes::handing_on::{
    assert_hashes_go_with_keys, held_up_by, many_may_sleep, newcomers_are_in_at_once,
};
use crate::schemes::subgroups::{members_of, rig, unicasts};

#[test]
fn operations_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        let sound = profile == Profile::Sound;
        // What a ring of r members costs its controller at the end of a change.
        let checks = |r| if sound { (0, r + 1) } else { (1, 0) };
        for subgroups in [1, 2, 3, 7] {
            for n in [2, 3, 4, 5, 8, 9, 16, 17, 64, 65] {
                let active = subgroups.min(n);
                let mut rig = rig("riseg", profile, subgroups);
                let created = rig.create(n).unwrap();
                assert_eq!(unicasts(&created), active + n);
                assert_eq!(wraps(&created, Controller), (active, active));
                for subgroup in 0..active {
                    let m = members_of(subgroup, subgroups, n);
                    let id = SubgroupId(subgroup);
                    assert_eq!(wraps(&created, id), (m, 3 * m - 2));
                    assert_eq!(hashes(&created, id), 3 * m - 2);
                    assert_eq!(permanent(&rig, id), 16 * (m + 2));
                }
                for member in 0..n {
                    let m = members_of(member % subgroups, subgroups, n);
                    let place = member / subgroups;
                    let edges = u32::from(place > 0) + u32::from(place + 1 < m);
                    assert_eq!(permanent(&rig, MemberId(member)), 16 * (2 + edges));
                    assert_eq!(calls(&created, MemberId(member), Primitive::Wrap), 0);
                }
                every_member_unwraps_once(&created, 0..n);
                (0..n).for_each(|member| assert_eq!(hashes(&created, MemberId(member)), 1));
                assert_eq!(permanent(&rig, Controller), 16 * (active + 1));

                // The joining member goes to the subgroup with the fewest, and stands first.
                let here = n % subgroups;
                let active = subgroups.min(n + 1);
                let m = members_of(here, subgroups, n + 1);
                let added = rig.add(n).unwrap();
                assert_eq!(unicasts(&added), 2 * active + n + 1);
                assert_eq!(wraps(&added, Controller), (active, active));
                let own = match m {
                    1 => (1, 1),
                    2 => (2, 4),
                    _ => (2, 5),
                };
                assert_eq!(wraps(&added, SubgroupId(here)), own);
                every_member_unwraps_once(&added, 0..=n);

                let rekeyed = rig.rekey().unwrap();
                assert_eq!(unicasts(&rekeyed), 2 * active + n + 1);
                every_member_unwraps_once(&rekeyed, 0..=n);
                for subgroup in 0..active {
                    let r = members_of(subgroup, subgroups, n + 1);
                    let id = SubgroupId(subgroup);
                    let keys = if r == 1 { 1 } else { 2 };
                    assert_eq!(wraps(&rekeyed, id), (1, keys));
                    for report in [&added, &rekeyed] {
                        // One more unwrap: of what the controller sends.
                        let (unwraps, derived) = checks(r);
                        assert_eq!(calls(report, id, Primitive::Unwrap), 1 + unwraps);
                        assert_eq!(derivations(report, id), derived);
                    }
                }
                assert_hashes_go_with_keys(&added, active);
                assert_hashes_go_with_keys(&rekeyed, active);
                let lasts = (0..=n).filter(|&member| {
                    let id = MemberId(member);
                    assert_eq!(derivations(&rekeyed, id), if sound { 2 } else { 0 });
                    calls(&rekeyed, id, Primitive::Wrap) == 0
                });
                assert_eq!(lasts.count() as u32, if sound { active } else { 0 });
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn a_removal_has_envelopes_for_those_beside_the_hole() {
    for profile in Profile::ALL {
        for m in [3, 4, 5, 8, 9, 33] {
            for hole in 0..m {
                let mut rig = rig("riseg", profile, 1);
                rig.create(m).unwrap();
                let removed = rig.remove(hole).unwrap();
                assert_eq!(unicasts(&removed), 2 + m - 1);
                let mut places = BTreeSet::from([0]);
                places.extend(hole.checked_sub(1));
                places.extend((hole < m - 1).then_some(hole));
                let edges = |place| u32::from(place > 0) + u32::from(place < m - 2);
                let wraps = wraps(&removed, SubgroupId(0));
                let keys = places.iter().map(|&place| 1 + edges(place)).sum();
                assert_eq!(wraps, (places.len() as u32, keys));
                assert!(wraps.0 <= 3 && wraps.1 <= 8);
                let derived = if profile == Profile::Sound { m } else { 0 };
                assert_eq!(derivations(&removed, SubgroupId(0)), derived);
                every_member_unwraps_once(&removed, (0..m).filter(|&member| member != hole));
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
            }
        }
    }
}

#[test]
fn who_wakes_hands_on_to_those_it_held_up() {
    for profile in Profile::ALL {
        for m in [3, 8, 20] {
            for sleeper in 0..m {
                let mut rig = rig("riseg", profile, 1);
                rig.create(m).unwrap();
                let behind: BTreeSet<_> = (sleeper + 1..m).collect();
                assert_eq!(held_up_by(&mut rig, sleeper), behind, "behind {sleeper}");
                // The last one confirms.
                let caught_up = rig.catch_up(sleeper).unwrap();
                assert_eq!(unicasts(&caught_up), 2 + behind.len() as u32 + 1);
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn who_missed_that_somebody_left_asks_for_itself() {
    for m in [4, 8, 20] {
        for sleeper in 1..m {
            let mut rig = rig("riseg", Profile::Sound, 1);
            rig.create(m).unwrap();
            rig.sleep(sleeper);
            rig.remove(0).unwrap();
            let behind = m - 1 - sleeper;
            let caught_up = rig.catch_up(sleeper).unwrap();
            assert_eq!(unicasts(&caught_up), 2 + 3 * behind + 1);
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn a_newcomer_is_in_at_once_whoever_sleeps() {
    newcomers_are_in_at_once("riseg", 0..5);
}

#[test]
fn many_may_sleep_whatever_happens() {
    for (profile, subgroups) in Profile::ALL.into_iter().flat_map(|p| [(p, 1), (p, 2), (p, 3)]) {
        (0..40).for_each(|seed| many_may_sleep("riseg", profile, subgroups, seed));
    }
}
