//! Iolus costs what the header of its file says, a change touches one subgroup only, and a message
//! reaches every member and nobody else.

use groupkey::PartyId::Controller;
use groupkey::catalogue::Profile;
use groupkey::error::Misbehaviour;
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::OperationReport;

use crate::schemes::counts::{permanent, unwraps, wraps};
use crate::schemes::subgroups::{members_of, rig, sent};

#[test]
fn operations_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        for subgroups in [1, 2, 3, 7] {
            for n in [2, 3, 4, 8, 9, 17, 64, 65] {
                check(profile, subgroups, n);
            }
        }
    }
}

fn check(profile: Profile, subgroups: u32, n: u32) {
    let active = subgroups.min(n);
    let mut rig = rig("iolus", profile, subgroups);
    let created = rig.create(n).unwrap();
    assert_eq!(sent(&created), (active + n, 0));
    assert_eq!(wraps(&created, Controller), (active, active));
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    for subgroup in 0..active {
        let members = members_of(subgroup, subgroups, n);
        let id = SubgroupId(subgroup);
        assert_eq!(wraps(&created, id), (members, members));
        assert_eq!(unwraps(&created, id), ONE);
        assert_eq!(permanent(&rig, id), 16 * (members + 3));
    }
    assert!((0..n).all(|member| unwraps(&created, MemberId(member)) == ONE));

    let message = rig.send(n - 1).unwrap();
    assert_eq!(sent(&message), (0, active + 1));
    for member in 0..n {
        let (wrapped, unwrapped) = if member == n - 1 { (ONE, NONE) } else { (NONE, ONE) };
        assert_eq!(wraps(&message, MemberId(member)), wrapped);
        assert_eq!(unwraps(&message, MemberId(member)), unwrapped);
        assert_eq!(permanent(&rig, MemberId(member)), 48);
    }
    for subgroup in 0..active {
        let id = SubgroupId(subgroup);
        assert_eq!(wraps(&message, id), ONE);
        assert_eq!(unwraps(&message, id), ONE);
    }

    // The joining member goes to the subgroup with the fewest.
    let here = n % subgroups;
    let first_there = n < subgroups;
    let added = rig.add(n).unwrap();
    assert_eq!(sent(&added), if first_there { (2, 0) } else { (2, 1) });
    assert_eq!(wraps(&added, Controller), ONE);
    assert_eq!(wraps(&added, SubgroupId(here)), if first_there { ONE } else { (2, 2) });
    assert_untouched_elsewhere(&added, here, subgroups, n + 1);

    let members = members_of(here, subgroups, n + 1);
    rig.sleep(here);
    let removed = rig.remove(n).unwrap();
    assert_eq!(sent(&removed), (1, 1));
    assert_eq!(wraps(&removed, SubgroupId(here)), (members - 1, members - 1));
    assert_untouched_elsewhere(&removed, here, subgroups, n);

    if here < n {
        let caught_up = rig.catch_up(here).unwrap();
        assert_eq!(sent(&caught_up), (2, 0));
        assert_eq!(wraps(&caught_up, SubgroupId(here)), ONE);
        assert_eq!(unwraps(&caught_up, MemberId(here)), ONE);
    }
    let rekeyed = rig.rekey().unwrap();
    let following = subgroups.min(n + 1);
    assert_eq!(sent(&rekeyed), (following, following));
    assert_eq!(wraps(&rekeyed, Controller), (following, following));
    for subgroup in 0..active {
        let members = members_of(subgroup, subgroups, n);
        assert_eq!(wraps(&rekeyed, SubgroupId(subgroup)), (members, members));
    }
    assert!((0..n).all(|member| unwraps(&rekeyed, MemberId(member)) == ONE));
    rig.send(n - 1).unwrap();
    rig.agreed_key().unwrap();
    assert!(!rig.outsider_knows_key());
}

#[test]
fn a_message_that_comes_again_is_refused() {
    let mut rig = rig("iolus", Profile::Sound, 2);
    rig.create(6).unwrap();
    let first = rig.send(0).unwrap();
    rig.send(2).unwrap();
    let second = rig.send(0).unwrap();
    let key = rig.agreed_key().unwrap().clone();
    for message in first.messages.iter().chain(&second.messages) {
        for member in 0..6 {
            let refused = rig.inject(MemberId(member).into(), &message.bytes).unwrap_err();
            assert!(
                refused == Misbehaviour::Replayed.into()
                    || refused == Misbehaviour::NotForUs.into()
                    || refused == Misbehaviour::UnexpectedSender.into()
                    || refused == Misbehaviour::WrongKey.into(),
                "{refused}"
            );
        }
    }
    assert_eq!(&key, rig.agreed_key().unwrap());
    // An earlier key of its subgroup does not open what is sent under the next.
    rig.add(6).unwrap();
    rig.remove(4).unwrap();
    rig.send(1).unwrap();
    assert!(!rig.outsider_knows_key());
}

#[test]
fn former_members_do_not_get_messages_even_if_they_meet() {
    let mut rig = rig("iolus", Profile::Sound, 3);
    rig.create(12).unwrap();
    for leaver in [0, 1, 2, 6, 7] {
        rig.remove(leaver).unwrap();
        rig.send(5).unwrap();
        assert!(!rig.outsider_knows_key());
    }
}

fn assert_untouched_elsewhere(report: &OperationReport, here: u32, subgroups: u32, n: u32) {
    for subgroup in (0..subgroups).filter(|&subgroup| subgroup != here) {
        assert!(!report.meters.contains_key(&SubgroupId(subgroup).into()));
    }
    for member in (0..n).filter(|member| member % subgroups != here) {
        assert!(!report.meters.contains_key(&MemberId(member).into()));
    }
}

/// Calls, and keys: nothing is wrapped with anything else.
const NONE: (u32, u32) = (0, 0);
const ONE: (u32, u32) = (1, 1);
