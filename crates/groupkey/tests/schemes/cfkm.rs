//! CFKM costs what the header of its file says, whatever the number of members: the table decides,
//! and how many bits a member shares with the member that joins or leaves.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::error::Unsupported;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{Rig, RigError, Settings};

use crate::schemes::counts::{derivations, permanent, unwraps, wraps};

#[test]
fn operations_cost_what_the_formulas_say() {
    for bits in [7, 8, 16, 24] {
        for n in [2, 3, 5, 8, 9, 17, 64, 100] {
            for profile in Profile::ALL {
                let mut rig = rig(profile, bits);
                let group_key = u32::from(profile == Profile::Sound);
                let created = rig.create(n).unwrap();
                assert_eq!(created.open_messages().count() as u32, n);
                assert_eq!(wraps(&created, Controller), (n, n * (bits + 1)));
                assert_eq!(unwraps(&created, MemberId(n - 1)), (1, bits + 1));
                assert_eq!(permanent(&rig, Controller), 16 * (n + 2 * bits + 2));
                assert_eq!(permanent(&rig, MemberId(1)), 16 * (bits + 3));

                // The joining member's slot is n.
                let added = rig.add(n).unwrap();
                let [welcome, notice] = &added.messages[added.messages.len() - 2..] else {
                    panic!("an add takes two messages");
                };
                assert_eq!(added.open_messages().count(), 2);
                assert_eq!(welcome.to, Recipient::Member(MemberId(n)));
                assert_eq!(notice.to, Recipient::Group);
                let confirmation = 17 * group_key as usize;
                assert!(notice.body_bytes <= 5 + confirmation, "it carries no key");
                assert_eq!(wraps(&added, Controller), (1, bits + 1));
                // In `sound` one more for the group key, and one for its confirmation.
                assert_eq!(derivations(&added, Controller), bits + 1 + 2 * group_key);
                assert_eq!(derivations(&added, MemberId(n)), group_key);
                assert_eq!(unwraps(&added, MemberId(n)), (1, bits + 1));
                for member in 0..n {
                    let shared = bits - (member ^ n).count_ones();
                    let derived = derivations(&added, MemberId(member));
                    assert_eq!(derived, 1 + shared + 2 * group_key);
                    assert_eq!(unwraps(&added, MemberId(member)), (0, 0));
                }

                let leaver = n / 2;
                let removed = rig.remove(leaver).unwrap();
                assert_eq!(removed.open_messages().count(), 1);
                assert_eq!(removed.messages[0].to, Recipient::Group);
                assert_eq!(wraps(&removed, Controller), (2 * bits, 2 * bits));
                assert_eq!(derivations(&removed, Controller), bits + group_key);
                for member in (0..=n).filter(|&member| member != leaver) {
                    let shared = bits - (member ^ leaver).count_ones();
                    assert_eq!(unwraps(&removed, MemberId(member)), (1 + shared, 1 + shared));
                    let derived = derivations(&removed, MemberId(member));
                    assert_eq!(derived, shared + group_key);
                }

                // A party that missed all of this gets everything in one message.
                rig.sleep(0);
                rig.add(n + 1).unwrap();
                if n > 2 {
                    rig.remove(n).unwrap();
                }
                let caught_up = rig.catch_up(0).unwrap();
                assert_eq!(caught_up.open_messages().count(), 2);
                assert_eq!(wraps(&caught_up, Controller), (1, bits + 1));
                assert_eq!(unwraps(&caught_up, MemberId(0)), (1, bits + 1));
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn slots_are_reused_up_to_a_full_table() {
    let mut rig = rig(Profile::Sound, 7);
    rig.create(128).unwrap();
    for round in 0..20 {
        rig.remove(round * 6).unwrap();
        assert!(!rig.outsider_knows_key());
        rig.add(1000 + round).unwrap();
        assert!(!rig.outsider_knows_key());
        rig.agreed_key().unwrap();
    }
    let full = Unsupported::TooManyMembers { limit: 128 };
    assert_eq!(rig.add(2000).map(drop), Err(RigError::Command(full.into())));
}

fn rig(profile: Profile, bits: u32) -> Rig {
    let parameters = vec![("bits", bits)];
    Rig::new(scheme("cfkm").unwrap(), Settings { profile, parameters, ..Settings::default() })
}
