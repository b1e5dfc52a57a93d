//! DEP costs what the header of its file says, with full and with ragged subgroups.

use groupkey::PartyId::Controller;
use groupkey::catalogue::Profile;
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::OperationReport;

use crate::schemes::counts::{calls, derivations, permanent, wraps};
use crate::schemes::subgroups::{members_of, rig, sent};

#[test]
fn operations_cost_what_the_formulas_say() {
    for subgroups in [1, 2, 3, 7] {
        for n in [2, 3, 4, 8, 9, 17, 64, 65] {
            let active = subgroups.min(n);
            let mut rig = rig("dep", Profile::Sound, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (2 * active + n, 3 * active + n));
            assert_eq!(derivations(&created, Controller), n);
            assert_eq!(calls(&created, Controller, Primitive::Hash), active + n);
            assert!((0..n).all(|member| hashes(&created, member) == 2));
            for subgroup in 0..active {
                let members = members_of(subgroup, subgroups, n);
                let id = SubgroupId(subgroup);
                assert_eq!(wraps(&created, id), (members + 1, members + 2));
                assert_eq!(calls(&created, id, Primitive::Unwrap), 1);
                assert_eq!(permanent(&rig, id), 16 * (members + 2));
            }
            assert!((0..n).all(|member| unwrapped(&created, member) == 4));
            assert_eq!(permanent(&rig, Controller), 16 * (2 * active + 2));
            assert_eq!(permanent(&rig, MemberId(0)), 16 * 5);

            // The joining member goes to the subgroup with the fewest.
            let here = n % subgroups;
            let active = subgroups.min(n + 1);
            let members = members_of(here, subgroups, n + 1);
            let added = rig.add(n).unwrap();
            assert_eq!(sent(&added), (active + members, active - 1));
            assert_eq!(wraps(&added, Controller), (2 * active + members, 3 * active + members));
            assert_eq!(derivations(&added, Controller), members);
            assert_eq!(calls(&added, Controller, Primitive::Hash), active + members);
            check_subgroups(&added, here, subgroups, n + 1, members);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (active, active));
            assert_eq!(wraps(&rekeyed, Controller), (2 * active, 3 * active));
            assert_eq!(calls(&rekeyed, Controller, Primitive::Hash), active);
            assert!((0..=n).all(|member| unwrapped(&rekeyed, member) == 2));
            assert!((0..=n).all(|member| hashes(&rekeyed, member) == 1));

            let left = members - 1;
            let removed = rig.remove(n).unwrap();
            assert_eq!(sent(&removed), (active + left, active - 1));
            assert_eq!(wraps(&removed, Controller), (2 * active + left, 3 * active + left));
            assert_eq!(derivations(&removed, Controller), left);
            assert_eq!(calls(&removed, Controller, Primitive::Hash), active + left);
            check_subgroups(&removed, here, subgroups, n, left);

            rig.sleep(0);
            rig.add(n + 1).unwrap();
            rig.rekey().unwrap();
            let caught_up = rig.catch_up(0).unwrap();
            assert_eq!(sent(&caught_up), (4, 0));
            assert_eq!(wraps(&caught_up, Controller), (1, 1));
            assert_eq!(derivations(&caught_up, Controller), 1);
            assert_eq!(wraps(&caught_up, SubgroupId(0)), (2, 3));
            assert_eq!(calls(&caught_up, Controller, Primitive::Hash), 1);
            assert_eq!((unwrapped(&caught_up, 0), hashes(&caught_up, 0)), (4, 2));
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig("dep", Profile::Published, subgroups);
            let created = rig.create(n).unwrap();
            let active = subgroups.min(n);
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (2 * active, 3 * active));
            assert_eq!(permanent(&rig, Controller), 16 * (2 * active + 2));
            assert_eq!(permanent(&rig, MemberId(0)), 16 * 5);
            let active = subgroups.min(n + 1);
            for (report, members) in [(rig.add(n), n + 1), (rig.rekey(), n + 1), (rig.remove(1), n)]
            {
                let report = report.unwrap();
                assert_eq!(sent(&report), (active + members, 0));
                assert_eq!(wraps(&report, Controller), (2 * active, 3 * active));
                assert_eq!((unwrapped(&report, 0), hashes(&report, 0)), (3, 0));
            }
            rig.sleep(0);
            rig.rekey().unwrap();
            assert_eq!(sent(&rig.catch_up(0).unwrap()), (2, 0));
        }
    }
}

#[test]
fn a_member_that_comes_back_has_another_end_to_end_key() {
    let mut rig = rig("dep", Profile::Sound, 2);
    rig.create(6).unwrap();
    for _ in 0..4 {
        rig.remove(3).unwrap();
        rig.add(3).unwrap();
        rig.rekey().unwrap();
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key(), "the old member 3 hears everything");
    }
}

/// Those of the subgroup concerned get everything anew, the others the group key.
fn check_subgroups(report: &OperationReport, here: u32, subgroups: u32, n: u32, members: u32) {
    assert_eq!(wraps(report, SubgroupId(here)), (members + 1, members + 2));
    for other in (0..subgroups.min(n)).filter(|&other| other != here) {
        assert_eq!(wraps(report, SubgroupId(other)), (1, 2));
    }
    for member in 0..n {
        let opened = if member % subgroups == here { 4 } else { 2 };
        assert_eq!((unwrapped(report, member), hashes(report, member)), (opened, opened / 2));
    }
}

fn hashes(report: &OperationReport, member: u32) -> u32 {
    calls(report, MemberId(member), Primitive::Hash)
}

fn unwrapped(report: &OperationReport, member: u32) -> u32 {
    calls(report, MemberId(member), Primitive::Unwrap)
}
