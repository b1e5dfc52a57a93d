//! CFKM costs what the header of its file says, whatever the number of members: the table decides,
//! and how many bits a member shares with the one who comes or goes.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Unsupported;
use groupkey::rig::{Report, Rig, RigError, Settings};
use groupkey::{MemberId, PartyId, Recipient};

#[test]
fn operations_cost_what_the_formulas_say() {
    for bits in [7, 8, 16, 24] {
        for n in [2, 3, 5, 8, 9, 17, 64, 100] {
            for profile in Profile::ALL {
                let mut rig = rig(profile, bits);
                let group_key = u32::from(profile == Profile::Sound);
                let created = rig.create(n).unwrap();
                assert_eq!(messages(&created), n);
                assert_eq!(wraps(&created), (n, n * (bits + 1)));
                assert_eq!(unwraps(&created, n - 1), (1, bits + 1));
                let permanent = |party| rig.party(party).footprint().permanent as u32;
                assert_eq!(permanent(Controller), 16 * (n + 2 * bits + 2));
                assert_eq!(permanent(MemberId(1).into()), 16 * (bits + 3));

                // The newcomer's slot is n.
                let added = rig.add(n).unwrap();
                let [welcome, notice] = &added.messages[added.messages.len() - 2..] else {
                    panic!("an add takes two messages");
                };
                assert_eq!(messages(&added), 2);
                assert_eq!(welcome.to, Recipient::Member(MemberId(n)));
                assert_eq!(notice.to, Recipient::Group);
                assert!(notice.body_bytes <= 5, "it carries no key");
                assert_eq!(wraps(&added), (1, bits + 1));
                assert_eq!(derivations(&added, Controller), bits + 1 + group_key);
                assert_eq!(unwraps(&added, n), (1, bits + 1));
                for member in 0..n {
                    let shared = bits - (member ^ n).count_ones();
                    let derived = derivations(&added, MemberId(member).into());
                    assert_eq!(derived, 1 + shared + group_key);
                    assert_eq!(unwraps(&added, member), (0, 0));
                }

                let leaver = n / 2;
                let removed = rig.remove(leaver).unwrap();
                assert_eq!(messages(&removed), 1);
                assert_eq!(removed.messages[0].to, Recipient::Group);
                assert_eq!(wraps(&removed), (2 * bits, 2 * bits));
                assert_eq!(derivations(&removed, Controller), bits + group_key);
                for member in (0..=n).filter(|&member| member != leaver) {
                    let shared = bits - (member ^ leaver).count_ones();
                    assert_eq!(unwraps(&removed, member), (1 + shared, 1 + shared));
                    let derived = derivations(&removed, MemberId(member).into());
                    assert_eq!(derived, shared + group_key);
                }

                // Whoever missed all of this gets everything in one message.
                rig.sleep(0);
                rig.add(n + 1).unwrap();
                if n > 2 {
                    rig.remove(n).unwrap();
                }
                let caught_up = rig.catch_up(0).unwrap();
                assert_eq!(messages(&caught_up), 2);
                assert_eq!(wraps(&caught_up), (1, bits + 1));
                assert_eq!(unwraps(&caught_up, 0), (1, bits + 1));
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

fn messages(report: &Report) -> u32 {
    report.open_messages().count() as u32
}

/// Calls, and wrapped keys.
fn wraps(report: &Report) -> (u32, u32) {
    let tally = report.meter(Controller).tally(Primitive::Wrap);
    (tally.calls as u32, tally.amount as u32)
}

/// Calls, and unwrapped keys.
fn unwraps(report: &Report, member: u32) -> (u32, u32) {
    let tally = report.meter(MemberId(member).into()).tally(Primitive::Unwrap);
    (tally.calls as u32, tally.amount as u32)
}

fn derivations(report: &Report, party: PartyId) -> u32 {
    report.meter(party).tally(Primitive::Derive).calls as u32
}
