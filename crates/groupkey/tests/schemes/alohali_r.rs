//! Alohali-R costs what the header of its file says, and stores no key for each member.

use groupkey::PartyId::Controller;
use groupkey::catalogue::Profile;
use groupkey::error::{Error, Unsupported};
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::RigError;

use crate::schemes::counts::{derivations, permanent, unwraps, wraps};
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
    let (active, published) = (subgroups.min(n), profile == Profile::Published);
    let mut rig = rig("alohali-r", profile, subgroups);
    for report in [rig.create(n).unwrap(), rig.rekey().unwrap()] {
        assert_eq!(sent(&report), if published { (active, active) } else { (active + n, 0) });
        assert_eq!(wraps(&report, Controller), (active, active));
        for subgroup in 0..active {
            let members = members_of(subgroup, subgroups, n);
            let id = SubgroupId(subgroup);
            assert_eq!(unwraps(&report, id), (1, 1));
            let (wrapped, derived) = if published { (1, 0) } else { (members, members) };
            assert_eq!(wraps(&report, id), (wrapped, wrapped));
            assert_eq!(derivations(&report, id), derived);
        }
        for member in 0..n {
            assert_eq!(unwraps(&report, MemberId(member)), (1, 1));
        }
    }
    let area_key = u32::from(published);
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    assert_eq!(permanent(&rig, SubgroupId(0)), 16 * (3 + area_key), "whatever n is");
    assert_eq!(permanent(&rig, MemberId(0)), 16 * (2 + area_key));

    rig.sleep(0);
    rig.rekey().unwrap();
    rig.rekey().unwrap();
    let caught_up = rig.catch_up(0).unwrap();
    assert_eq!(sent(&caught_up), (2, 0));
    assert_eq!(wraps(&caught_up, SubgroupId(0)), (1, 1));
    rig.agreed_key().unwrap();
}

#[test]
fn joining_and_leaving_are_not_supported() {
    let mut rig = rig("alohali-r", Profile::Sound, 2);
    rig.create(4).unwrap();
    let unsupported = RigError::Command(Error::Unsupported(Unsupported::Operation));
    assert_eq!(rig.add(4).map(drop), Err(unsupported.clone()));
    assert_eq!(rig.remove(1).map(drop), Err(unsupported));
}
