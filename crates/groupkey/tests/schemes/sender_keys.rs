//! Sender keys cost what the header of their file says; as published the group does not heal, and a
//! member can split it.

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{Command, MemberId, PartyId, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, SUITES, Settings};

use crate::schemes::distributed::{
    a_false_confirmation_leaves_one_without_key, assert_no_more_than, assert_refused,
    everybody_is_replaced, messages, messages_and_confirmations,
};
use crate::schemes::table::{Table, is_from, kind};

const SIZES: [u64; 8] = [2, 3, 4, 5, 8, 9, 16, 33];

#[test]
fn creation_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for suite in SUITES {
            for n in SIZES {
                let settings = Settings { profile, suite, ..Settings::default() };
                let mut rig = Rig::new(scheme(), settings);
                let report = rig.create(n as u32).unwrap();
                rig.agreed_key().unwrap();
                assert_all_paid(&report, 0..n as u32, drawn(n, n - 1, profile));
                assert_eq!(sent(&report), run(n, profile), "{n} members, {profile:?}");
            }
        }
    }
}

#[test]
fn as_published_members_draw_anew_only_if_somebody_left() {
    let profile = Profile::Published;
    for n in [3, 4, 5, 8, 9, 17] {
        let mut rig = rig(profile);
        rig.create(n).unwrap();
        let report = rig.add(n).unwrap();
        rig.agreed_key().unwrap();
        let (ids, n) = (0..n, u64::from(n) + 1);
        assert_all_paid(&report, ids, (1, 1, 1, 2 * n - 1, 4));
        assert_all_paid(&report, n as u32 - 1..n as u32, (n - 1, n - 1, n - 1, n, 3 * n - 2));
        assert_eq!(messages(&report), (n - 1, 1));

        let report = rig.rekey().unwrap();
        rig.agreed_key().unwrap();
        assert_all_paid(&report, 0..n as u32, (0, 0, 0, 2 * n, 1));
        assert_eq!(messages(&report), (0, 0));

        let report = rig.remove(1).unwrap();
        rig.agreed_key().unwrap();
        let stay = rig.members().collect::<Vec<_>>();
        assert_all_paid(&report, stay.into_iter(), drawn(n - 1, 0, profile));
        assert_eq!(sent(&report), run(n - 1, profile));
    }
}

#[test]
fn in_the_sound_form_every_event_costs_a_creation() {
    let profile = Profile::Sound;
    for n in [4, 5, 8, 9] {
        let mut rig = rig(profile);
        rig.create(n).unwrap();
        let check = |rig: &Rig, report: &OperationReport, members: &[u32]| {
            rig.agreed_key().unwrap();
            let n = members.len() as u64;
            assert_all_paid(report, members.iter().copied(), drawn(n, n - 1, profile));
            assert_eq!(sent(report), run(n, profile));
        };
        let members: Vec<_> = (0..=n).collect();
        let report = rig.add(n).unwrap();
        check(&rig, &report, &members);
        let report = rig.rekey().unwrap();
        check(&rig, &report, &members);
        let report = rig.remove(0).unwrap();
        check(&rig, &report, &members[1..]);
    }
}

#[test]
fn parts_of_a_group_go_on_and_come_together() {
    for profile in Profile::ALL {
        let mut rig = rig(profile);
        rig.create(6).unwrap();
        rig.partition(&[1, 3]).unwrap();
        rig.agreed_key().unwrap();
        rig.change_sides();
        rig.agreed_key().unwrap();
        let report = rig.merge().unwrap();
        rig.agreed_key().unwrap();
        assert_eq!(sent(&report), run(6, profile));
        // As published the members of a part have met, and have forgotten those of the other.
        let unmet = if profile == Profile::Sound { 5 } else { 2 };
        assert_eq!(report_of(&report, 0).0, unmet);
    }
}

#[test]
fn what_is_held_is_what_the_header_says() {
    for profile in Profile::ALL {
        for n in [2, 3, 6] {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            for member in 0..n {
                let footprint = rig.party(MemberId(member).into()).footprint();
                let n = n as usize;
                let (permanent, temporary) = match profile {
                    Profile::Sound => (1, (n + 2) + (n + 1) + (n - 1)),
                    _ => (1 + n + n - 1, n + 2),
                };
                assert_eq!(footprint.permanent, 16 * permanent);
                assert_eq!(footprint.temporary, 16 * temporary);
            }
        }
    }
}

#[test]
fn messages_may_come_in_any_order_but_their_senders() {
    for seed in 0..40 {
        for profile in Profile::ALL {
            let protection = if seed % 2 == 0 { Guard::Signature } else { Guard::Mac };
            let suite = Suite::ALL[seed as usize % 3];
            let settings =
                Settings { seed, profile, suite, protection, hostile: true, ..Settings::default() };
            let mut rig = Rig::new(scheme(), settings);
            let members = (0..2 + seed as u32 % 7).map(|i| (i * 37 + 5) % 101);
            rig.create_of(&members.collect::<Vec<_>>()).unwrap();
            rig.agreed_key().unwrap();
            rig.add(200).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn a_group_outlives_its_founders() {
    for profile in Profile::ALL {
        everybody_is_replaced("sender-keys", profile, [30, 20, 101, 10, 100, 103, 104]);
    }
}

#[test]
fn commands_out_of_place_are_refused() {
    let mut rig = rig(Profile::Sound);
    rig.create(4).unwrap();
    assert_refused(&mut rig, 0, Command::CatchUp, Unsupported::Operation);
    assert_refused(&mut rig, 0, Command::Send, Unsupported::Operation);
    assert_refused(&mut rig, 0, Command::Enroll(&[MemberId(9)]), Misuse::WrongRole);
    assert_no_more_than("sender-keys", 1000);
}

/// Member 1 hands member 0 the chain key of another run, as a member that draws two may.
#[test]
fn a_member_with_two_chain_keys_splits_the_group_as_published() {
    for n in [3, 5] {
        for profile in Profile::ALL {
            let mut other = begin(profile, n, 1);
            other.settle_with(0..n, |_, _, _| ());
            let lie = other.sent(1, CHAIN);
            let mut group = begin(profile, n, 2);
            let refused = group.settle_with(0..n, |_, message, to| {
                if to == 0 && is_from(message, 1) && kind(message) == CHAIN {
                    message.clone_from(&lie);
                }
            });
            let keys = group.keys();
            if profile == Profile::Sound {
                assert!(refused.contains(&Misbehaviour::Forged.into()), "{refused:?}");
                assert!(keys.iter().all(Option::is_none), "nobody takes a key that not all have");
            } else {
                assert_eq!(refused, []);
                assert!(keys.iter().all(Option::is_some));
                assert!(keys[0] != keys[1] && keys[1..].windows(2).all(|pair| pair[0] == pair[1]));
            }
        }
    }
}

#[test]
fn a_false_confirmation_is_refused() {
    a_false_confirmation_leaves_one_without_key("sender-keys", CONFIRM);
}

#[test]
fn who_confirms_without_a_chain_key_is_refused() {
    let mut whole = begin(Profile::Sound, 4, 6);
    whole.settle_with(0..4, |_, _, _| ());
    let mut group = begin(Profile::Sound, 4, 6);
    let refused = group.deliver(0, &whole.sent(1, CONFIRM));
    assert_eq!(refused, Err(Misbehaviour::UnexpectedMessage.into()));
    assert_eq!(group.settle_with(0..4, |_, _, _| ()), [], "and nothing has changed");
    assert!(group.keys().iter().all(|key| key.is_some() && *key == group.key(0)));
}

const CHAIN: u8 = 0;
const CONFIRM: u8 = 1;

/// Exponentiations, wraps, unwraps, hashes, derivations.
type Cost = (u64, u64, u64, u64, u64);

/// What it costs a member that all of n members draw a chain key, if it has not met so many of them.
fn drawn(n: u64, unmet: u64, profile: Profile) -> Cost {
    let derivations = if profile == Profile::Sound { 4 * n - 1 } else { 2 * n - 1 + unmet };
    (unmet, n - 1, n - 1, n, derivations)
}

/// Broadcasts of chain keys and of confirmations in such an event.
fn run(n: u64, profile: Profile) -> (u64, u64, u64) {
    (0, n, if profile == Profile::Sound { n } else { 0 })
}

fn sent(report: &OperationReport) -> (u64, u64, u64) {
    messages_and_confirmations(report)
}

#[track_caller]
fn assert_all_paid(report: &OperationReport, members: impl Iterator<Item = u32>, expected: Cost) {
    for member in members {
        assert_eq!(report_of(report, member), expected, "member {member}");
    }
}

fn report_of(report: &OperationReport, member: u32) -> Cost {
    cost(&report.meter(PartyId::from(MemberId(member))))
}

fn cost(meter: &Meter) -> Cost {
    let calls = |primitive| meter.tally(primitive).calls;
    (
        meter.exponentiations(),
        calls(Primitive::Wrap),
        calls(Primitive::Unwrap),
        calls(Primitive::Hash),
        calls(Primitive::Derive),
    )
}

/// Members who hand messages to each other unprotected, and were told to make a group.
fn begin(profile: Profile, n: u32, seed: u64) -> Table {
    Table::told_to_create(scheme(), profile, n, seed)
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme(), Settings { profile, ..Settings::default() })
}

fn scheme() -> &'static Scheme {
    catalogue::scheme("sender-keys").unwrap()
}
