//! D-LKH costs what the header of its file says, in whatever tree comes about, and a leader that
//! hands on other keys than it should is noticed by those whom it deceives.

mod events;
mod tree;

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::{Error, Misbehaviour, Misuse};
use groupkey::{Command, MemberId, Recipient, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, Settings};
use tree::Tree;

use crate::schemes::distributed::{
    assert_nothing_was_missed, assert_refused, messages_and_confirmations as messages,
};
use crate::schemes::table::{Table, is_from, is_to, kind};

const SIZES: [u32; 13] = [2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 20, 30, 33];

#[test]
fn creation_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in SIZES {
            let mut rig = rig(profile, Suite::Standard);
            let report = rig.create(n).unwrap();
            rig.agreed_key().unwrap();
            let n = u64::from(n);
            // The confirmation, and a nonce from everybody.
            let broadcasts = (n + 1) * sound(profile);
            assert_eq!(messages(&report), (n - 1, n - 2, broadcasts), "{n} members");
            assert_eq!(report.total().exponentiations(), 2 * (n - 1));
            assert_eq!(report.total().tally(Primitive::Wrap).amount, 2 * n - 3);
            let tree = Tree::balanced(&(0..n as u32).collect::<Vec<_>>());
            for member in 0..n as u32 {
                let wraps = report.meter(MemberId(member).into()).tally(Primitive::Wrap).amount;
                let led = tree.levels_led_by(member);
                assert!(wraps <= 2 * led + 1, "{member} of {n} leads {led} and wraps {wraps}");
                let held = rig.party(MemberId(member).into()).footprint().permanent;
                let met = report.meter(MemberId(member).into()).exponentiations() as usize;
                assert_eq!(held, 16 * (tree.depth(member) + met));
            }
        }
    }
}

#[test]
fn changes_cost_what_the_header_says() {
    for profile in Profile::ALL {
        for n in SIZES {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n).unwrap();
            let mut tree = Tree::balanced(&(0..n).collect::<Vec<_>>());
            for (round, next) in (n..n + 6).enumerate() {
                let halves = tree.insert(next);
                let report = rig.add(next).unwrap();
                rig.agreed_key().unwrap();
                let h = halves.len() as u64;
                let wide = halves.iter().filter(|&&width| width > 1).count() as u64;
                // The joining member's nonce, and the confirmation.
                let expected = (h, wide, 2 * sound(profile));
                assert_eq!(messages(&report), expected, "{n} members, add {next}");
                let most = most_wrapped(&report);
                assert!(most <= h * (h + 1) / 2, "{most} wrapped, depth {h}");

                let members: Vec<_> = rig.members().collect();
                let leaver = members[(round * 7 + n as usize / 2) % members.len()];
                if members.len() == 2 {
                    continue;
                }
                let (half, halves) = tree.remove(leaver);
                let report = rig.remove(leaver).unwrap();
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
                let h = halves.len() as u64;
                let wide = halves.iter().chain([&half]).filter(|&&width| width > 1).count();
                let expected = (h, wide as u64, sound(profile));
                assert_eq!(messages(&report), expected, "{n} members, remove {leaver}");
                let most = most_wrapped(&report);
                assert!(most <= (h * (h + 3) / 2).max(1), "{most} wrapped, {h} nodes");
            }
        }
    }
}

/// The group of which B5's verification speaks: 30 members, the middle one leaves.
#[test]
fn the_known_example() {
    let mut rig = rig(Profile::Published, Suite::Standard);
    rig.create(30).unwrap();
    let (unicasts, multicasts, _) = messages(&rig.remove(15).unwrap());
    assert_eq!(unicasts, 4);
    assert!(multicasts <= 7, "{multicasts}: level by level there are 7");
}

#[test]
fn whoever_has_met_does_not_exponentiate_again() {
    let mut rig = rig(Profile::Sound, Suite::Published);
    rig.create(8).unwrap();
    // Member 2 is the sponsor and tells 0, which it met, and 4, which it did not.
    let report = rig.remove(3).unwrap();
    assert_eq!(report.total().exponentiations(), 2);
    // The joining member goes beside 2, the shallowest leaf, which tells 9, and 0 and 4 again.
    let report = rig.add(9).unwrap();
    assert_eq!(report.meter(MemberId(2).into()).exponentiations(), 1);
    assert_eq!(report.total().exponentiations(), 2);
}

#[test]
fn when_half_the_group_is_one_member_the_rest_gets_a_new_root() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, Suite::Standard);
        // ((0 1) 2): all that is left is the half (0 1), whose key the leaving member never had.
        rig.create(3).unwrap();
        let report = rig.remove(2).unwrap();
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key());
        assert_eq!(messages(&report), (0, 1, sound(profile)));
    }
}

#[test]
fn who_slept_catches_up() {
    for profile in Profile::ALL {
        for suite in Suite::ALL.into_iter().filter(|suite| suite.group().is_some()) {
            let mut rig = rig(profile, suite);
            rig.create(8).unwrap();
            // Nobody needs 1 or 5: they lead nothing.
            rig.sleep(5);
            rig.sleep(1);
            rig.remove(3).unwrap();
            rig.add(20).unwrap();
            for sleeper in [5, 1] {
                let report = rig.catch_up(sleeper).unwrap();
                assert_eq!(report.messages.len(), 2, "a request and an answer");
            }
            rig.agreed_key().unwrap();
            assert_nothing_was_missed(&mut rig, 5);
            rig.remove(0).unwrap();
            rig.add(21).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn a_skipped_epoch_is_noticed() {
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(8).unwrap();
    rig.sleep(1);
    rig.remove(3).unwrap();
    for late in rig.remove(6).unwrap().messages {
        if late.to == Recipient::Group {
            let error = rig.inject(MemberId(1).into(), &late.bytes);
            assert!(matches!(error, Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }))));
        }
    }
    rig.catch_up(1).unwrap();
    rig.agreed_key().unwrap();
}

#[test]
fn commands_out_of_place_are_refused() {
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(4).unwrap();
    assert_refused(&mut rig, 0, Command::Remove(MemberId(0)), Misuse::WrongRole);
    assert_refused(&mut rig, 1, Command::Add(MemberId(0)), Misuse::AlreadyMember(MemberId(0)));
}

/// The sponsor sends one half other keys than the other one.
#[test]
fn a_group_that_is_split_notices() {
    for profile in Profile::ALL {
        let [mut table, mut other] = [1, 2].map(|seed| {
            let mut table = group(profile, 8);
            table.draw_from(seed);
            remove(&mut table, 3);
            table
        });
        // ((0 1) 2) ((4 5) (6 7)): 2 tells 0 and 4.
        let (to_zero, to_four) = (keys_to(&table, 0), keys_to(&other, 4));
        table.deliver(0, &to_zero).unwrap();
        table.deliver(4, &to_four).unwrap();
        other.wire.clear();
        if profile == Profile::Published {
            assert!(table.key(0).is_some() && table.key(4).is_some());
            assert_ne!(table.key(0), table.key(4), "and nobody knows");
            continue;
        }
        let before = table.key(4);
        let confirmation = confirmation(&table);
        table.deliver(0, &confirmation).unwrap();
        assert_eq!(table.key(0), table.key(2));
        let refused = table.deliver(4, &confirmation);
        assert_eq!(refused, Err(Misbehaviour::Forged.into()));
        assert_eq!(table.key(4), before, "4 stays with the key that it had");
    }
}

/// The same members make a group of the same name again, and one of them gets what was sent in the first.
#[test]
fn what_was_sent_in_an_old_group_does_not_do_in_a_new_one() {
    for profile in Profile::ALL {
        let [mut old, mut new] = [1, 2].map(|seed| {
            let mut table = table(profile);
            table.draw_from(seed);
            table.create(2);
            table
        });
        if let Some(nonce) = old.find(1, NONCE) {
            old.deliver(0, &nonce).unwrap();
        }
        let kept: Vec<_> = old.wire.iter().filter(|bytes| is_from(bytes, 0)).cloned().collect();
        let taken: Result<(), _> = kept.iter().try_for_each(|bytes| new.deliver(1, bytes));
        if profile == Profile::Published {
            taken.unwrap();
            assert_eq!(new.key(1), old.key(0), "an old key");
        } else {
            assert!(old.key(0).is_some());
            assert_eq!(taken, Err(Misbehaviour::Forged.into()));
            assert_eq!(new.key(1), None);
        }
    }
}

/// A group of the same name is made again, and a joining member gets the welcome that it got in the
/// first.
#[test]
fn an_old_welcome_does_not_do_in_a_new_group() {
    for profile in Profile::ALL {
        let [mut old, mut new] = [1, 2].map(|seed| {
            let mut table = group(profile, 4);
            table.draw_from(seed);
            (0..5).for_each(|id| table.command(id, Command::Add(MemberId(4))));
            table
        });
        if profile == Profile::Sound {
            let nonce = old.wire[0].clone();
            old.deliver(3, &nonce).unwrap();
        }
        let mut kept = old.wire.iter().filter(|bytes| is_to(bytes, 4) || kind(bytes) == CONFIRM);
        let taken: Result<(), _> = kept.try_for_each(|bytes| new.deliver(4, bytes));
        if profile == Profile::Published {
            taken.unwrap();
            assert_eq!(new.key(4), old.key(3), "an old key");
        } else {
            assert_eq!(taken, Err(Misbehaviour::WrongKey.into()));
            assert_eq!(new.key(4), None);
            new.settle(0..5);
            assert!((0..5).all(|id| new.key(id) == new.key(3)), "the right one is taken");
        }
    }
}

#[test]
fn only_who_leads_is_believed() {
    let mut table = group(Profile::Sound, 8);
    remove(&mut table, 3);
    let genuine = keys_to(&table, 4);
    for other in [0, 1, 5] {
        let mut message = genuine.clone();
        message[6] = other + 1;
        let refused = table.deliver(4, &message);
        assert_eq!(refused, Err(Misbehaviour::UnexpectedSender.into()), "as if from {other}");
    }
    let mut message = genuine.clone();
    *message.last_mut().unwrap() ^= 1;
    assert_eq!(table.deliver(4, &message), Err(Misbehaviour::WrongKey.into()));
    table.deliver(4, &genuine).unwrap();
    assert_eq!(table.deliver(4, &genuine), Err(Misbehaviour::UnexpectedMessage.into()));
    // What 4 spreads in (4 5 6 7), from 6, or for another half.
    let spread = table.wire.last().unwrap().clone();
    let mut message = spread.clone();
    message[6] = 7;
    assert_eq!(table.deliver(5, &message), Ok(()), "6 leads no half of four: nothing is taken");
    let mut message = spread.clone();
    message[8] = 2;
    let refused = table.deliver(5, &message);
    assert_eq!(refused, Err(Misbehaviour::UnexpectedSender.into()));
    table.deliver(5, &spread).unwrap();
    let confirmation = confirmation(&table);
    table.deliver(5, &confirmation).unwrap();
    assert_eq!(table.key(5), table.key(2));
}

const KEYS: u8 = 0;
const CONFIRM: u8 = 3;
const NONCE: u8 = 7;

/// Eight members without protection, of whom the first n make a group.
fn group(profile: Profile, n: u32) -> Table {
    let mut table = table(profile);
    table.create(n);
    table.settle(0..n);
    table
}

fn table(profile: Profile) -> Table {
    Table::new(&scheme().configuration(profile), Guard::None, 8, 0)
}

/// The seven others evict one of eight.
fn remove(table: &mut Table, leaver: u32) {
    let others = (0..8).filter(|&id| id != leaver);
    others.for_each(|id| table.command(id, Command::Remove(MemberId(leaver))));
}

fn keys_to(table: &Table, id: u32) -> Vec<u8> {
    let found = table.wire.iter().find(|bytes| kind(bytes) == KEYS && is_to(bytes, id));
    found.expect("keys were sent").clone()
}

fn confirmation(table: &Table) -> Vec<u8> {
    table.wire.iter().find(|bytes| kind(bytes) == CONFIRM).expect("it was sent").clone()
}

fn scheme() -> &'static Scheme {
    catalogue::scheme("d-lkh").unwrap()
}

fn rig(profile: Profile, suite: Suite) -> Rig {
    Rig::new(scheme(), Settings { profile, suite, ..Settings::default() })
}

fn sound(profile: Profile) -> u64 {
    u64::from(profile == Profile::Sound)
}

fn most_wrapped(report: &OperationReport) -> u64 {
    let wrapped = |member: &groupkey::crypto::meter::Meter| member.tally(Primitive::Wrap).amount;
    report.meters.values().map(wrapped).max().unwrap_or(0)
}

/// Another's confirmation, or an old one of the sponsor's, takes no place of the one that counts.
#[test]
fn a_confirmation_that_comes_first_is_kept_beside_others() {
    let mut table = table(Profile::Sound);
    table.create(4);
    table.settle(0..4);
    for id in 0..5 {
        table.command(id, Command::Add(MemberId(4)));
    }
    for message in core::mem::take(&mut table.wire) {
        for id in 0..4 {
            let _ = table.deliver(id, &message);
        }
    }
    let wire = table.wire.clone();
    let of_kind = |wanted| wire.iter().find(|message| kind(message) == wanted).unwrap();
    let (confirmation, welcome) = (of_kind(3), of_kind(2));
    table.deliver(4, confirmation).unwrap();
    let mut other = confirmation.clone();
    other[6] = if other[6] == 1 { 2 } else { 1 };
    table.deliver(4, &other).unwrap();
    table.deliver(4, welcome).unwrap();
    assert!(table.key(4).is_some(), "the newcomer is left behind");
}
