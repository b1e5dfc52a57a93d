//! LNT costs what the header of its file says, and a member that sleeps holds up those below it and
//! nobody else, whatever happens meanwhile.

use std::collections::BTreeSet;

use groupkey::PartyId::Controller;
use groupkey::catalogue::Profile;
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

use crate::schemes::counts::{calls, every_member_unwraps_once, hashes, permanent, unwraps, wraps};
use crate::schemes::handing_on::{
    assert_hashes_go_with_keys, held_up_by, many_may_sleep, newcomers_are_in_at_once,
};
use crate::schemes::subgroups::{members_of, rig, unicasts};

#[test]
fn operations_cost_what_the_formulas_say() {
    for subgroups in [1, 2, 3, 7] {
        for n in [2, 3, 4, 5, 8, 9, 15, 16, 17, 64, 65] {
            let active = subgroups.min(n);
            let mut rig = rig("lnt", Profile::Sound, subgroups);
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
                let tree = Tree::of(members_of(member % subgroups, subgroups, n));
                let edges = tree.edges(member / subgroups);
                assert_eq!(permanent(&rig, MemberId(member)), 16 * (2 + edges));
                assert_eq!(calls(&created, MemberId(member), Primitive::Wrap), 0);
            }
            every_member_unwraps_once(&created, 0..n);
            (0..n).for_each(|member| assert_eq!(hashes(&created, MemberId(member)), 1));
            assert_eq!(permanent(&rig, Controller), 16 * (active + 1));

            // The joining member goes to the subgroup with the fewest, to its last position.
            let here = n % subgroups;
            let active = subgroups.min(n + 1);
            let m = members_of(here, subgroups, n + 1);
            let added = rig.add(n).unwrap();
            assert_eq!(unicasts(&added), active + n + 1);
            assert_eq!(wraps(&added, Controller), (active, active));
            let giver_is_not_the_root = u32::from(m > 3);
            let own = 1 + u32::from(m > 1) + giver_is_not_the_root;
            assert_eq!(calls(&added, SubgroupId(here), Primitive::Wrap), own);
            for other in (0..active).filter(|&other| other != here) {
                assert_eq!(calls(&added, SubgroupId(other), Primitive::Wrap), 1);
            }
            every_member_unwraps_once(&added, 0..=n);
            assert_hashes_go_with_keys(&added, active);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(unicasts(&rekeyed), active + n + 1);
            for subgroup in 0..active {
                assert_eq!(calls(&rekeyed, SubgroupId(subgroup), Primitive::Wrap), 1);
            }
            every_member_unwraps_once(&rekeyed, 0..=n);
            for member in 0..=n {
                let tree = Tree::of(members_of(member % subgroups, subgroups, n + 1));
                let takers = tree.takers(member / subgroups);
                assert_eq!(calls(&rekeyed, MemberId(member), Primitive::Wrap), takers);
            }
            assert_hashes_go_with_keys(&rekeyed, active);
        }
    }
}

#[test]
fn a_removal_has_envelopes_for_those_around_the_hole_and_the_last() {
    for m in [3, 4, 5, 7, 8, 9, 16, 17, 33] {
        for hole in 0..m {
            let mut rig = rig("lnt", Profile::Sound, 1);
            rig.create(m).unwrap();
            let removed = rig.remove(hole).unwrap();
            assert_eq!(unicasts(&removed), 1 + m - 1);
            let (last, tree) = (m - 1, Tree::of(m - 1));
            let giver = |position: u32| position.checked_sub(1).map(|before| before / 2);
            let mut places = BTreeSet::from([0]);
            places.extend(giver(hole).into_iter().chain(giver(last)));
            if hole < last {
                places.insert(hole);
                places.extend((2 * hole + 1..2 * hole + 3).filter(|&taker| taker < last));
            }
            let wraps = wraps(&removed, SubgroupId(0));
            assert!(wraps.0 <= 6);
            let keys = places.iter().map(|&position| 1 + tree.edges(position)).sum();
            assert_eq!(wraps, (places.len() as u32, keys));
            assert_hashes_go_with_keys(&removed, 1);
            every_member_unwraps_once(&removed, (0..m).filter(|&member| member != hole));
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn a_change_takes_as_many_hops_as_the_tree_is_deep() {
    for m in [1, 2, 3, 4, 7, 8, 15, 16, 17, 100] {
        let mut rig = rig("lnt", Profile::Sound, 2);
        rig.create(2 * m).unwrap();
        let report = rig.rekey().unwrap();
        // Even members are in the first subgroup; each got the key from one that had it before.
        let mut hops = vec![0; 2 * m as usize];
        for message in report.open_messages() {
            if let (from, Recipient::Member(MemberId(to))) = (message.from, message.to) {
                let before = match from {
                    PartyId::Member(MemberId(giver)) => hops[giver as usize],
                    _ => 0,
                };
                hops[to as usize] = before + 1;
            }
        }
        assert_eq!(hops.iter().max(), Some(&(1 + m.ilog2())));
    }
}

#[test]
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig("lnt", Profile::Published, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(unicasts(&created), subgroups.min(n) + n);
            assert_eq!(permanent(&rig, MemberId(0)), 32);
            let m = members_of(0, subgroups, n);
            assert_eq!(permanent(&rig, SubgroupId(0)), 16 * (m + 2));
            for (report, members) in [(rig.add(n), n + 1), (rig.rekey(), n + 1), (rig.remove(1), n)]
            {
                let report = report.unwrap();
                assert_eq!(unicasts(&report), subgroups.min(n + 1) + members);
                assert_eq!(unwraps(&report, MemberId(0)), (1, 1));
                assert_eq!(calls(&report, MemberId(0), Primitive::Wrap), 0);
            }
            rig.sleep(0);
            rig.rekey().unwrap();
            rig.rekey().unwrap();
            assert_eq!(unicasts(&rig.catch_up(0).unwrap()), 2);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn who_wakes_hands_on_to_those_it_held_up() {
    for m in [3, 7, 8, 20] {
        for sleeper in 0..m {
            let mut rig = rig("lnt", Profile::Sound, 1);
            rig.create(m).unwrap();
            let behind = Tree::of(m).below(sleeper);
            assert_eq!(held_up_by(&mut rig, sleeper), behind, "behind {sleeper}");
            let caught_up = rig.catch_up(sleeper).unwrap();
            assert_eq!(unicasts(&caught_up), 2 + behind.len() as u32);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn who_missed_that_somebody_left_asks_for_itself() {
    for m in [4, 8, 20] {
        for sleeper in 0..m - 1 {
            let mut rig = rig("lnt", Profile::Sound, 1);
            rig.create(m).unwrap();
            rig.sleep(sleeper);
            // The last one: everybody else keeps its place.
            rig.remove(m - 1).unwrap();
            let behind = Tree::of(m - 1).below(sleeper);
            let caught_up = rig.catch_up(sleeper).unwrap();
            assert_eq!(unicasts(&caught_up), 2 + 3 * behind.len() as u32);
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn a_newcomer_is_in_at_once_whoever_sleeps() {
    newcomers_are_in_at_once("lnt", 1..5);
}

#[test]
fn many_may_sleep_whatever_happens() {
    for subgroups in [1, 2, 3] {
        (0..60).for_each(|seed| many_may_sleep("lnt", Profile::Sound, subgroups, seed));
    }
}

/// A tree in heap order.
struct Tree {
    size: u32,
}

impl Tree {
    fn of(size: u32) -> Self {
        Self { size }
    }

    fn takers(&self, position: u32) -> u32 {
        (2 * position + 1..2 * position + 3).filter(|&taker| taker < self.size).count() as u32
    }

    fn edges(&self, position: u32) -> u32 {
        u32::from(position > 0) + self.takers(position)
    }

    fn below(&self, top: u32) -> BTreeSet<u32> {
        let is_below = |mut position: u32| {
            while position > top {
                position = (position - 1) / 2;
            }
            position == top
        };
        (top + 1..self.size).filter(|&position| is_below(position)).collect()
    }
}
