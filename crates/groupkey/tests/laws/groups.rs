//! Every group under every scheme that computes in one: members agree, and messages carry elements
//! as long as the group's.

use groupkey::catalogue::{Class, Profile, SCHEMES};
use groupkey::crypto::group::Element;
use groupkey::crypto::meter::Primitive;
use groupkey::{Operation, Suite};
use groupkey_testkit::rig::{Rig, SUITES, Settings};

#[test]
fn members_agree_in_every_group() {
    // Other tests run the suites of SUITES.
    let has_group = |suite: &Suite| suite.group().is_some() && !SUITES.contains(suite);
    for suite in Suite::ALL.into_iter().filter(has_group) {
        for scheme in SCHEMES.iter().filter(|scheme| scheme.class() == Class::Distributed) {
            let settings = Settings { suite, profile: Profile::Sound, ..Settings::default() };
            let mut rig = Rig::new(scheme, settings);
            let report = rig.create(3).unwrap();
            let agreed = rig.agreed_key();
            assert!(agreed.is_ok(), "{}, {}", scheme.id, suite.name());
            if report.total().exponentiations() == 0 {
                continue;
            }
            // Their elements are long-term keys, which nobody sends.
            if ["d-lkh", "d-oft", "sender-keys"].contains(&scheme.id) {
                continue;
            }
            let longest = report.messages.iter().map(|message| message.body_bytes).max();
            assert!(longest.unwrap() > Element::length(suite), "{}, {}", scheme.id, suite.name());
            assert!(report.total().tally(Primitive::CheckElement).calls > 0);
            if scheme.operations.contains(&Operation::Remove) {
                rig.remove(1).unwrap();
                rig.agreed_key().unwrap();
            }
        }
    }
}
