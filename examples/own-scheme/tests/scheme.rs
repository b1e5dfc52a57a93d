//! What a scheme must show before it is compared with others: the rig holds it to its law.

use groupkey::PartyId;
use groupkey::crypto::meter::Primitive;
use groupkey_testkit::law;
use groupkey_testkit::rig::{Rig, RigError, Settings};
use own_scheme::SCHEME;

/// Members agree, keys are new, who left is out, and no forged or replayed message changes anything.
#[test]
fn the_group_follows_its_law_among_forgers() {
    let passed = law::check(&SCHEME, [5, 12], 1, &|| false).expect("it follows its law");
    assert!(passed > 30, "{passed}");
}

/// The table in the scheme's header.
#[test]
fn costs_are_those_of_the_header() -> Result<(), RigError> {
    for n in [2, 3, 16, 17] {
        let mut rig = Rig::new(&SCHEME, Settings::default());
        let operations = [(rig.create(n)?, n), (rig.add(n)?, n + 1), (rig.remove(0)?, n)];
        for (report, members) in operations {
            assert_eq!(report.open_messages().count(), 1);
            let wraps = report.meter(PartyId::Controller).tally(Primitive::Wrap);
            assert_eq!(wraps.calls, u64::from(members));
            for member in rig.members().filter(|&member| member != n) {
                let member = groupkey::MemberId(member).into();
                assert_eq!(report.meter(member).tally(Primitive::Unwrap).calls, 1);
            }
        }
    }
    Ok(())
}

/// A member that sleeps through a change notices that it missed one, and must rejoin.
#[test]
fn who_missed_a_change_joins_again() -> Result<(), RigError> {
    let mut rig = Rig::new(&SCHEME, Settings::default());
    rig.create(4)?;
    rig.sleep(1);
    rig.remove(2)?;
    assert!(rig.catch_up(1).is_err());
    rig.remove(1)?;
    rig.add(9)?;
    rig.agreed_key()?;
    Ok(())
}
