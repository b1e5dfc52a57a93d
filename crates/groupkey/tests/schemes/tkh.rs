//! TKH costs what the header of its file says, with full and with ragged sibling sets.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::{Rig, Settings};

use crate::schemes::counts::{calls, every_member_unwraps_once, permanent, wraps};
use crate::schemes::subgroups::{self, assert_one_answer_brings_back, members_of, sent};

#[test]
fn operations_cost_what_the_formulas_say() {
    for (subgroups, siblings) in [(1, 2), (1, 8), (2, 4), (3, 8), (7, 3)] {
        for n in [2, 3, 4, 8, 9, 16, 17, 64, 65] {
            check(subgroups, siblings, n);
        }
    }
}

fn check(subgroups: u32, siblings: u32, n: u32) {
    let active = subgroups.min(n);
    let parameters = vec![("subgroups", subgroups), ("siblings", siblings)];
    let mut rig = Rig::new(scheme("tkh").unwrap(), Settings { parameters, ..Settings::default() });
    let created = rig.create(n).unwrap();
    assert_eq!(sent(&created), (active + n, 0));
    assert_eq!(wraps(&created, Controller), (active, active));
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    assert_eq!(permanent(&rig, MemberId(n - 1)), 16 * 4);
    for subgroup in 0..active {
        let members = members_of(subgroup, subgroups, n);
        let id = SubgroupId(subgroup);
        assert_eq!(wraps(&created, id), (members, 3 * members));
        assert_eq!(calls(&created, id, Primitive::Unwrap), 1);
        assert_eq!(permanent(&rig, id), 16 * (members + 3 + members.div_ceil(siblings)));
    }
    every_member_unwraps_once(&created, 0..n);

    // The joining member's subgroup, and its slot there.
    let (here, slot) = (n % subgroups, n / subgroups);
    let active = subgroups.min(n + 1);
    let in_set = slot % siblings;
    let added = rig.add(n).unwrap();
    assert_eq!(sent(&added), (active + 1, if slot == 0 { active - 1 } else { active }));
    assert_eq!(wraps(&added, Controller), (active, active));
    let expected = match (slot, in_set) {
        (0, _) => (1, 3),
        (_, 0) => (2, 3 + 2),
        _ => (3, 3 + 2 + 1),
    };
    assert_eq!(wraps(&added, SubgroupId(here)), expected);
    for other in (0..active).filter(|&other| other != here) {
        assert_eq!(wraps(&added, SubgroupId(other)), (1, 1));
    }
    for member in 0..n {
        let sibling =
            member % subgroups == here && member / subgroups / siblings == slot / siblings;
        let unwraps = calls(&added, MemberId(member), Primitive::Unwrap);
        assert_eq!(unwraps, 1 + u32::from(sibling));
    }

    let rekeyed = rig.rekey().unwrap();
    assert_eq!(sent(&rekeyed), (active, active));

    // Slots before the joining member's are full: whole sets without it, and its own.
    let other_sets = slot / siblings;
    let removed = rig.remove(n).unwrap();
    assert_eq!(sent(&removed), (active + in_set, active - 1 + other_sets));
    let here = SubgroupId(here);
    assert_eq!(wraps(&removed, here), (in_set + other_sets, 3 * in_set + 2 * other_sets));
    every_member_unwraps_once(&removed, 0..n);

    assert_one_answer_brings_back(&mut rig, n + 1, 3);
}

#[test]
fn both_profiles_are_the_same() {
    // The keys differ, because the profile is part of the group's context.
    let messages = |profile| {
        let mut rig = subgroups::rig("tkh", profile, 2);
        let reports = [rig.create(20), rig.remove(3), rig.add(20)];
        let messages = reports.into_iter().flat_map(|report| report.unwrap().messages);
        messages.map(|message| (message.to, message.body_bytes)).collect::<Vec<_>>()
    };
    assert_eq!(messages(Profile::Sound), messages(Profile::Published));
}
