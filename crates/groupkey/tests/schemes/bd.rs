//! BD costs what the header of its file says, and refuses what members that cheat, and messages of
//! other runs, try.

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{Command, MemberId, Recipient, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, SUITES, Settings};

use crate::schemes::distributed::{
    a_false_confirmation_leaves_one_without_key, assert_no_more_than, assert_refused,
};
use crate::schemes::table::{Table, is_from, kind};

const SIZES: [u64; 10] = [2, 3, 4, 5, 8, 9, 16, 17, 20, 33];

#[test]
fn creation_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for suite in SUITES {
            for n in SIZES {
                let settings = Settings { profile, suite, ..Settings::default() };
                let mut rig = Rig::new(scheme(), settings);
                let report = rig.create(n as u32).unwrap();
                rig.agreed_key().unwrap();
                let (expected, messages) = creation(n, profile);
                for member in 0..n as u32 {
                    let meter = report.meter(MemberId(member).into());
                    assert_eq!(cost(&meter), expected, "member {member} of {n}, {profile:?}");
                }
                assert_eq!(report.messages.len() as u64, messages, "{n} members, {profile:?}");
                assert!(report.messages.iter().all(|message| message.to == Recipient::Group));
                let length = if suite == Suite::Published { 128 } else { 32 };
                let elements = report.messages.iter().filter(|m| m.body_bytes > length).count();
                assert_eq!(elements as u64, if n == 2 { 2 } else { 2 * n });
            }
        }
    }
}

#[test]
fn what_is_held_is_what_the_header_says() {
    for profile in Profile::ALL {
        for (suite, exponent, element) in [(Suite::Standard, 32, 32), (Suite::Published, 20, 128)] {
            for n in [2, 3, 6] {
                let settings = Settings { profile, suite, ..Settings::default() };
                let mut rig = Rig::new(scheme(), settings);
                rig.create(n).unwrap();
                for member in 0..n {
                    let footprint = rig.party(MemberId(member).into()).footprint();
                    assert_eq!(footprint.permanent, 16);
                    let n = n as usize;
                    let elements = if n == 2 { 3 } else { n + 3 };
                    let more = if profile == Profile::Sound { 16 * (n + 1) } else { 0 };
                    assert_eq!(footprint.temporary, exponent + elements * element + more);
                }
            }
        }
    }
}

#[test]
fn messages_may_come_in_any_order_but_their_senders() {
    for seed in 0..40 {
        for profile in Profile::ALL {
            let n = 2 + seed % 7;
            let protection = if seed % 2 == 0 { Guard::Signature } else { Guard::Mac };
            let settings =
                Settings { seed, profile, protection, hostile: true, ..Settings::default() };
            let mut rig = Rig::new(scheme(), settings);
            rig.create_of(&(0..n as u32).map(|i| (i * 37 + 5) % 101).collect::<Vec<_>>()).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn every_event_costs_a_creation() {
    for profile in Profile::ALL {
        for n in [2, 3, 4, 5, 9] {
            let mut rig = Rig::new(scheme(), Settings { profile, ..Settings::default() });
            rig.create(n).unwrap();
            let mut keys = vec![rig.agreed_key().unwrap().clone()];
            let mut check = |rig: &Rig, report: &OperationReport, members: &[u32]| {
                let n = members.len() as u64;
                for &member in members {
                    let meter = report.meter(MemberId(member).into());
                    assert_eq!(cost(&meter), creation(n, profile).0, "{member} of {n}");
                }
                let key = rig.agreed_key().unwrap();
                assert!(!keys.contains(key));
                keys.push(key.clone());
            };
            let members: Vec<_> = (0..=n).collect();
            let report = rig.add(n).unwrap();
            check(&rig, &report, &members);
            assert_eq!(report.messages.len() as u64, creation(u64::from(n) + 1, profile).1);
            let report = rig.rekey().unwrap();
            check(&rig, &report, &members);
            assert_eq!(report.messages.len() as u64, creation(u64::from(n) + 1, profile).1);
            let report = rig.remove(0).unwrap();
            check(&rig, &report, &members[1..]);
            assert_eq!(report.messages.len() as u64, creation(u64::from(n), profile).1);
            if n < 4 {
                continue;
            }
            let report = rig.partition(&[1, 3]).unwrap();
            let rest: Vec<_> = rig.members().collect();
            check(&rig, &report, &rest);
            let expected = creation(2, profile).1 + creation(u64::from(n) - 2, profile).1;
            assert_eq!(report.messages.len() as u64, expected);
            rig.change_sides();
            check(&rig, &report, &[1, 3]);
            let report = rig.merge().unwrap();
            check(&rig, &report, &members[1..]);
            assert_eq!(report.messages.len() as u64, creation(u64::from(n), profile).1);
        }
    }
}

#[test]
fn commands_out_of_place_are_refused() {
    let mut rig = Rig::new(scheme(), Settings::default());
    rig.create(4).unwrap();
    assert_refused(&mut rig, 0, Command::CatchUp, Unsupported::Operation);
    assert_refused(&mut rig, 0, Command::Send, Unsupported::Operation);
    assert_refused(&mut rig, 0, Command::Enroll(&[MemberId(9)]), Misuse::WrongRole);
    assert_no_more_than("bd", 1000);
}

#[test]
fn ratios_that_do_not_close_the_circle_are_refused() {
    for n in [3, 5] {
        // Member 1 sends member 0 another valid element in place of its ratio.
        let cheat = |circle: &Table, message: &mut Vec<u8>, to: u32| {
            if to == 0 && is_from(message, 1) && kind(message) == RATIO {
                let other = circle.sent(2, SHARE);
                let length = message.len();
                message[length - 32..].copy_from_slice(&other[other.len() - 32..]);
            }
        };
        let mut circle = begin(Profile::Sound, n, 1);
        assert_eq!(circle.settle_with(0..n, cheat)[0], Misbehaviour::InvalidElement.into());
        assert!(circle.keys().iter().all(Option::is_none), "nobody confirms, nobody has a key");
        // As published nobody notices, and member 0 is left alone with a key of its own.
        let mut circle = begin(Profile::Published, n, 1);
        assert_eq!(circle.settle_with(0..n, cheat), []);
        let keys = circle.keys();
        assert!(keys.iter().all(Option::is_some));
        assert!(keys[0] != keys[1] && keys[1..].windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn a_false_confirmation_is_refused() {
    a_false_confirmation_leaves_one_without_key("bd", CONFIRM);
}

#[test]
fn a_message_of_another_run_is_refused() {
    for n in [2, 4] {
        // Both runs have the same group, epoch and members, so signatures of one hold in the other.
        let mut before = begin(Profile::Sound, n, 3);
        assert_eq!(before.settle_with(0..n, |_, _, _| ()), []);
        for old_kind in [SHARE, RATIO] {
            let Some(old) = before.find(1, old_kind) else { continue };
            let mut circle = begin(Profile::Sound, n, 4);
            let refused = circle.settle_with(0..n, |_, message, to| {
                if to == 0 && is_from(message, 1) && kind(message) == old_kind {
                    message.clone_from(&old);
                }
            });
            assert!(refused.contains(&Misbehaviour::Replayed.into()), "{refused:?}");
            assert!(circle.keys()[0].is_none());
        }
        // An old nonce makes another session, and nothing of this run fits it.
        let old = before.sent(1, NONCE);
        let mut circle = begin(Profile::Sound, n, 4);
        let refused = circle.settle_with(0..n, |_, message, to| {
            if to == 0 && is_from(message, 1) && kind(message) == NONCE {
                message.clone_from(&old);
            }
        });
        assert!(refused.contains(&Misbehaviour::Replayed.into()), "{refused:?}");
        assert!(circle.keys().iter().all(Option::is_none));
    }
}

#[test]
fn a_neighbour_that_repeats_the_other_ones_share_is_refused() {
    for profile in Profile::ALL {
        let mut circle = begin(profile, 5, 5);
        let refused = circle.settle_with(0..5, |circle, message, to| {
            if to == 2 && is_from(message, 3) && kind(message) == SHARE {
                let other = circle.sent(1, SHARE);
                let length = message.len();
                message[length - 32..].copy_from_slice(&other[other.len() - 32..]);
            }
        });
        assert_eq!(refused[0], Misbehaviour::InvalidElement.into());
        assert!(circle.keys()[2].is_none());
    }
}

#[test]
fn what_comes_before_its_turn_is_refused() {
    let mut whole = begin(Profile::Sound, 4, 6);
    whole.settle_with(0..4, |_, _, _| ());
    for early in [SHARE, RATIO, CONFIRM] {
        let mut circle = begin(Profile::Sound, 4, 6);
        let refused = circle.deliver(0, &whole.sent(1, early));
        assert_eq!(refused, Err(Misbehaviour::UnexpectedMessage.into()), "kind {early}");
        assert_eq!(circle.settle_with(0..4, |_, _, _| ()), [], "and nothing has changed");
        assert!(circle.keys().iter().all(|key| key.is_some() && *key == circle.keys()[0]));
    }
}

const NONCE: u8 = 0;
const SHARE: u8 = 1;
const RATIO: u8 = 2;
const CONFIRM: u8 = 3;

/// Members who hand messages to each other unprotected, and were told to make a group.
fn begin(profile: Profile, n: u32, seed: u64) -> Table {
    Table::told_to_create(scheme(), profile, n, seed)
}

fn scheme() -> &'static Scheme {
    catalogue::scheme("bd").unwrap()
}

fn creation(n: u64, profile: Profile) -> ((u64, u64, u64, u64), u64) {
    match (n, profile) {
        (2, Profile::Sound) => ((2, 1, 0, 1), 6),
        (2, Profile::Published) => ((2, 1, 0, 1), 2),
        (_, Profile::Sound) => ((3, 2 * n - 1, 1, n + 1), 4 * n),
        (_, Profile::Published) => ((3, 2 * n - 2, 1, n + 1), 2 * n),
    }
}

/// Exponentiations, products, quotients and checks of elements.
fn cost(meter: &Meter) -> (u64, u64, u64, u64) {
    let calls = |primitive| meter.tally(primitive).calls;
    (
        meter.exponentiations(),
        calls(Primitive::MultiplyElements),
        calls(Primitive::DivideElements),
        calls(Primitive::CheckElement),
    )
}
