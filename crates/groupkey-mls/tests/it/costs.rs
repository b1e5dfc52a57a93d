//! What the header of the crate says of messages and signatures, from real runs.

use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, PartyId};
use groupkey_mls::SCHEMES;
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

#[test]
fn messages_and_signatures_are_those_of_the_header() {
    for scheme in SCHEMES {
        let is_openmls = scheme.id == "openmls";
        let of = |mls_rs: u64, openmls: u64| if is_openmls { openmls } else { mls_rs };
        for n in [4, 9, 17] {
            let at = format!("{} with {n} members", scheme.id);
            let mut rig = Rig::new(scheme, Settings::default());
            let all = u64::from(n);

            let created = rig.create(n).unwrap();
            assert_eq!(created.open_messages().count(), n as usize, "{at}");
            let founder = (of(3, 4), of(2 * all - 1, 2 * all - 2));
            assert_eq!(signatures(&created, 0), founder, "{at}");
            assert_eq!(signatures(&created, 1), (2, all + 1), "{at}");

            // Epoch 2, and the third member's turn.
            let added = rig.add(n).unwrap();
            assert_eq!(added.open_messages().count(), 3, "{at}");
            assert_eq!(signatures(&added, 2), (of(2, 3), 2), "{at}");
            assert_eq!(signatures(&added, 0), (0, 3), "{at}");
            assert_eq!(signatures(&added, n), (2, all + 2), "{at}");

            let removed = rig.remove(n).unwrap();
            assert_eq!(removed.open_messages().count(), 1, "{at}");
            assert_eq!(signatures(&removed, 3), (3, 0), "{at}");
            assert_eq!(signatures(&removed, 0), (0, 2), "{at}");

            let renewed = rig.rekey().unwrap();
            assert_eq!(renewed.open_messages().count(), 1, "{at}");
            assert_eq!(signatures(&renewed, 4 % n), (3, 0), "{at}");
            assert_eq!(signatures(&renewed, 1), (0, 2), "{at}");

            let changed = rig.batch(&[30, 31], &[0]).unwrap();
            assert_eq!(changed.open_messages().count(), 3 + 2, "{at}");

            let returned = rig.catch_up(1).unwrap();
            assert_eq!(returned.open_messages().count(), 3, "{at}");
            let members = rig.members().len() as u64;
            assert_eq!(signatures(&returned, 1), (of(4, 3), members + 1), "{at}");
            assert_eq!(signatures(&returned, 2), (1, 2), "{at}");
            assert_eq!(signatures(&returned, 30), (0, 2), "{at}");
        }
    }
}

fn signatures(report: &OperationReport, member: u32) -> (u64, u64) {
    let meter = report.meter(PartyId::Member(MemberId(member)));
    (meter.tally(Primitive::Sign).calls, meter.tally(Primitive::Verify).calls)
}
