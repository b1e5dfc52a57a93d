//! Schemes whose members send each other keys: forgeries and replays fail, whichever member
//! speaks for the group.

use groupkey::Suite;
use groupkey::catalogue::{self, Profile};
use groupkey_testkit::rig::{Guard, Rig, Settings};
use groupkey_testkit::sample;

#[test]
fn forgeries_fail_against_ckd_as_published() {
    forgeries_fail("ckd", Profile::Published);
}

#[test]
fn forgeries_fail_against_ckd_in_the_sound_form() {
    forgeries_fail("ckd", Profile::Sound);
}

#[test]
fn forgeries_fail_against_d_lkh() {
    for profile in Profile::ALL {
        forgeries_fail("d-lkh", profile);
    }
}

#[test]
fn forgeries_fail_against_d_oft() {
    for profile in Profile::ALL {
        forgeries_fail("d-oft", profile);
    }
}

#[test]
fn forgeries_fail_against_sender_keys() {
    for profile in Profile::ALL {
        forgeries_fail("sender-keys", profile);
    }
}

/// Every suite once with each protection, in three days.
fn forgeries_fail(scheme: &str, profile: Profile) {
    let scheme = catalogue::scheme(scheme).expect("it is in the catalogue");
    let usable = Suite::ALL.into_iter().filter(|suite| scheme.unsuited_to(*suite).is_none());
    let suites = usable.clone().count() as u64;
    for (seed, suite) in sample::one_in(3, (0..3 * suites).zip(usable.cycle())) {
        let protections = [Guard::Signature, Guard::Mac, Guard::Merkle];
        let protection = protections[(seed + seed / suites) as usize % 3];
        let hostile = true;
        let settings =
            Settings { seed, profile, suite, protection, hostile, ..Settings::default() };
        let mut rig = Rig::new(scheme, settings);
        rig.create(2 + seed as u32 % 9).unwrap();
        for round in 0..2 {
            rig.add(50 + round).unwrap();
            let leaver = rig.members().nth((seed as usize * 5 + 1) % 3).unwrap();
            rig.remove(leaver).unwrap();
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}
