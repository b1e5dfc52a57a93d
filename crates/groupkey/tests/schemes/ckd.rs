//! CKD costs what the header of its file says, whichever member is the controller, and only the
//! controller's word counts.

use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::{Error, Misbehaviour, Misuse, Unsupported};
use groupkey::{Command, MemberId, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, SUITES, Settings};

use crate::schemes::distributed::{
    a_missed_epoch_is_noticed, an_answer_is_taken_once, assert_no_more_than,
    assert_one_after_the_other, assert_refused, everybody_is_replaced, messages,
};

const SIZES: [u64; 9] = [2, 3, 4, 5, 8, 9, 16, 17, 20];

#[test]
fn creation_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for suite in SUITES {
            for n in SIZES {
                let mut rig = rig(profile, suite);
                let report = rig.create(n as u32).unwrap();
                rig.agreed_key().unwrap();
                check_pairing(&report, &(0..n).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_join_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in SIZES {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n as u32).unwrap();
            let report = rig.add(n as u32).unwrap();
            rig.agreed_key().unwrap();
            let sound = profile == Profile::Sound;
            for member in 0..=n {
                let expected = match (member, sound) {
                    (0, true) => n + 1,
                    (0, false) => 1,
                    (newcomer, _) if newcomer == n => 2,
                    (_, true) => 1,
                    (_, false) => 0,
                };
                assert_eq!(exponentiations(&report, member), expected, "{member}, n = {n}");
            }
            assert_eq!(messages(&report), (2, 1), "n = {n}");
            assert_eq!(wraps(&report), (n, n), "n = {n}");
        }
    }
}

#[test]
fn an_eviction_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in &SIZES[1..] {
            for leaver in [1, n / 2, n - 1] {
                let mut rig = rig(profile, Suite::Standard);
                rig.create(*n as u32).unwrap();
                let report = rig.remove(leaver as u32).unwrap();
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
                for member in (0..*n).filter(|&member| member != leaver) {
                    let expected = match (member, profile) {
                        (_, Profile::Published) => 0,
                        (0, Profile::Sound) => n - 1,
                        (_, Profile::Sound) => 1,
                    };
                    assert_eq!(exponentiations(&report, member), expected, "{member}, n = {n}");
                }
                assert_eq!(messages(&report), (0, 1), "n = {n}");
                assert_eq!(wraps(&report), (n - 2, n - 2), "n = {n}");
            }
            let mut rig = rig(profile, Suite::Standard);
            rig.create(*n as u32).unwrap();
            let report = rig.remove(0).unwrap();
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
            check_pairing(&report, &(1..*n).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_merger_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for (n, m) in [(2, 2), (3, 2), (4, 4), (9, 5), (16, 8)] {
            let mut rig = rig(profile, Suite::Standard);
            rig.create((n + m) as u32).unwrap();
            rig.partition(&(n as u32..(n + m) as u32).collect::<Vec<_>>()).unwrap();
            let report = rig.merge().unwrap();
            rig.agreed_key().unwrap();
            for member in 0..n + m {
                let expected = match (member, profile) {
                    (0, Profile::Sound) => n + m,
                    (0, Profile::Published) => m,
                    (guest, _) if guest >= n => 2,
                    (_, Profile::Sound) => 1,
                    (_, Profile::Published) => 0,
                };
                assert_eq!(exponentiations(&report, member), expected, "{member}, {n} and {m}");
            }
            assert_eq!(messages(&report), (m, 2), "{n} and {m}");
            assert_eq!(wraps(&report), (n + m - 1, n + m - 1), "{n} and {m}");
        }
    }
}

#[test]
fn a_partition_and_a_refreshment_cost_what_the_header_says() {
    for profile in Profile::ALL {
        for (n, m) in [(2, 2), (3, 2), (4, 4), (9, 5)] {
            let mut rig = rig(profile, Suite::Standard);
            rig.create((n + m) as u32).unwrap();
            let report = rig.partition(&(n as u32..(n + m) as u32).collect::<Vec<_>>()).unwrap();
            rig.agreed_key().unwrap();
            let check = |report: &OperationReport| {
                for member in 0..n {
                    let expected = match (member, profile) {
                        (_, Profile::Published) => 0,
                        (0, Profile::Sound) => n,
                        (_, Profile::Sound) => 1,
                    };
                    assert_eq!(exponentiations(report, member), expected, "{member} of {n}");
                }
            };
            check(&report);
            // The other part has a new controller, who pairs with everybody.
            for member in n..n + m {
                let expected = if member == n { m } else { 2 };
                assert_eq!(exponentiations(&report, member), expected, "{member}");
            }
            assert_eq!(messages(&report), (m - 1, 3), "{n} and {m}");
            assert_eq!(wraps(&report), (n + m - 2, n + m - 2), "{n} and {m}");
            let report = rig.rekey().unwrap();
            rig.agreed_key().unwrap();
            check(&report);
            assert_eq!(messages(&report), (0, 1));
            assert_eq!(wraps(&report), (n - 1, n - 1));
        }
    }
}

#[test]
fn who_slept_catches_up() {
    for profile in Profile::ALL {
        for n in [3, 4, 9] {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n).unwrap();
            rig.sleep(1);
            rig.add(20).unwrap();
            rig.add(21).unwrap();
            rig.remove(2).unwrap();
            let report = rig.catch_up(1).unwrap();
            rig.agreed_key().unwrap();
            assert_eq!(messages(&report), (2, 0), "a request and an answer");
            assert_eq!(wraps(&report), (1, 1));
            let each = u64::from(profile == Profile::Sound);
            assert_eq!(exponentiations(&report, 0), each);
            assert_eq!(exponentiations(&report, 1), each);
            // It knows who is there, and can become the controller.
            rig.remove(0).unwrap();
            rig.add(30).unwrap();
            rig.remove(20).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn an_answer_is_taken_once_and_only_if_asked_for() {
    an_answer_is_taken_once("ckd", 4, 1, 2);
}

#[test]
fn a_skipped_epoch_is_noticed() {
    a_missed_epoch_is_noticed("ckd", 5, 1, [3, 2]);
}

#[test]
fn the_controller_can_change_every_time() {
    for profile in Profile::ALL {
        everybody_is_replaced("ckd", profile, [30, 10, 20, 100, 103, 101, 102]);
    }
}

#[test]
fn what_is_held_is_what_the_header_says() {
    for (suite, exponent, element) in [(Suite::Standard, 32, 32), (Suite::Published, 20, 128)] {
        for profile in Profile::ALL {
            let mut rig = rig(profile, suite);
            rig.create(6).unwrap();
            rig.add(6).unwrap();
            let sound = profile == Profile::Sound;
            let of = |member: u32| rig.party(MemberId(member).into()).footprint();
            let other = if sound { element } else { 16 };
            assert_eq!(of(0).permanent, 16 + exponent + element + 6 * other);
            let shares = if sound { 5 * element } else { 0 };
            let creation = exponent + 2 * element + 5 * 16 + shares;
            assert_eq!(of(0).temporary, creation);
            for member in 1..7 {
                assert_eq!(of(member).permanent, 16 + if sound { exponent } else { 16 });
                assert_eq!(of(member).temporary, exponent + 2 * element + 16);
            }
        }
    }
}

#[test]
fn only_the_controllers_word_counts() {
    for profile in Profile::ALL {
        let rig = || {
            let protection = Guard::None;
            let settings = Settings { profile, protection, ..Settings::default() };
            let mut rig = Rig::new(scheme("ckd").unwrap(), settings);
            rig.create(4).unwrap();
            rig
        };
        // What the same group sends when it evicts member 3.
        let genuine = rig().remove(3).unwrap().messages[0].bytes.to_vec();
        let mut rig = rig();
        let receiver = MemberId(2).into();
        rig.command_to(receiver, Command::Remove(MemberId(3))).unwrap();
        let mut refused = |message: &[u8], misbehaviour: Misbehaviour| {
            assert_eq!(rig.inject(receiver, message), Err(misbehaviour.into()));
        };
        // Headers of small numbers: an array of seven, one byte each; the sender is the sixth.
        for other in [1, 2, 3] {
            let mut message = genuine.clone();
            message[6] = other + 1;
            refused(&message, Misbehaviour::UnexpectedSender);
        }
        let (rest, wrapped) = genuine.split_at(genuine.len() - 48);
        let (first, second) = wrapped.split_at(24);
        refused(&[rest, second, first].concat(), Misbehaviour::WrongKey);
        refused(&[rest, first].concat(), Misbehaviour::Malformed);
        rig.inject(receiver, &genuine).unwrap();
    }
}

#[test]
fn commands_out_of_place_are_refused() {
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(3).unwrap();
    let [zero, four] = [0, 4].map(MemberId);
    assert_refused(&mut rig, 0, Command::CatchUp, Misuse::WrongRole);
    assert_refused(&mut rig, 0, Command::Enroll(&[four]), Misuse::WrongRole);
    assert_refused(&mut rig, 0, Command::Remove(zero), Misuse::WrongRole);
    assert_refused(&mut rig, 1, Command::Add(zero), Misuse::AlreadyMember(zero));
    assert_refused(&mut rig, 1, Command::Send, Unsupported::Operation);
    assert_one_after_the_other(&mut rig);
    assert_no_more_than("ckd", 1000);
}

/// One member is told of another third member than the rest.
#[test]
fn who_thinks_otherwise_of_who_is_there_does_not_get_the_key() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, Suite::Standard);
        rig.bring(&[0, 1, 2]).unwrap();
        for (member, third) in [(0, 2), (1, 9), (2, 2)] {
            let told = [0, 1, third].map(MemberId);
            rig.command_to(MemberId(member).into(), Command::Create(&told)).unwrap();
        }
        let settled = rig.settle().map(drop);
        if profile == Profile::Published {
            settled.unwrap();
            assert_eq!(rig.key_of(MemberId(1).into()), rig.key_of(MemberId(0).into()));
        } else {
            let wrong = Error::from(Misbehaviour::WrongKey);
            assert_eq!(settled.unwrap_err(), RigError::Refused(MemberId(1).into(), wrong));
            assert!(rig.key_of(MemberId(1).into()).is_none());
        }
    }
}

/// What a controller costs that pairs with everybody: the first of these members.
fn check_pairing(report: &OperationReport, members: &[u64]) {
    let n = members.len() as u64;
    for &member in members {
        let expected = if member == members[0] { n } else { 2 };
        assert_eq!(exponentiations(report, member), expected, "member {member} of {n}");
    }
    assert_eq!(messages(report), (n - 1, 2), "{n} members");
    assert_eq!(wraps(report), (n - 1, n - 1), "{n} members");
}

fn rig(profile: Profile, suite: Suite) -> Rig {
    Rig::new(scheme("ckd").unwrap(), Settings { profile, suite, ..Settings::default() })
}

fn exponentiations(report: &OperationReport, member: u64) -> u64 {
    report.meter(MemberId(member as u32).into()).exponentiations()
}

/// Keys wrapped and unwrapped, of members that are in the group.
fn wraps(report: &OperationReport) -> (u64, u64) {
    let sum = report.total();
    (sum.tally(Primitive::Wrap).amount, sum.tally(Primitive::Unwrap).amount)
}
