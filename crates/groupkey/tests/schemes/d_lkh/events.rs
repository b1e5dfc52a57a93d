//! Parts of a group that lose sight of each other and come together again, and new periods.

use groupkey::catalogue::Profile;
use groupkey::crypto::meter::Primitive;
use groupkey::error::{Misbehaviour, Misuse};
use groupkey::protection::Protection;
use groupkey::{Command, Context, Epoch, Key, MemberId, Outbox, Setting, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, Settings};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::tree::Tree;
use super::{confirmation, group, keys_to, messages, rig, scheme, sound};
use crate::schemes::distributed::assert_refused;
use crate::schemes::table::kind;

#[test]
fn parting_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for (n, step) in [(4, 2), (5, 2), (8, 2), (8, 3), (9, 2), (17, 4), (20, 3), (30, 7)] {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n).unwrap();
            let tree = Tree::balanced(&(0..n).collect::<Vec<_>>());
            let apart: Vec<_> = (1..n).step_by(step).collect();
            let rest: Vec<_> = (0..n).filter(|member| !apart.contains(member)).collect();
            let report = rig.partition(&apart).unwrap();
            let key = rig.agreed_key().unwrap().clone();
            rig.change_sides();
            assert_ne!(*rig.agreed_key().unwrap(), key, "each part has a key of its own");
            rig.change_sides();
            let mut expected = (0, 0, 0);
            for leavers in [&apart, &rest] {
                let (part, halves) = tree.without(leavers);
                let (unicasts, multicasts) = merging(&halves);
                expected.0 += unicasts;
                expected.1 += multicasts;
                expected.2 += sound(profile);
                assert_wrapped(&report, &part.unwrap());
            }
            assert_eq!(messages(&report), expected, "{n} members, every {step}th");
            rig.merge().unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn merging_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in [4, 5, 6, 8, 9, 12, 16, 17, 20, 30] {
            for apart in [2, 3, n / 2] {
                if n - apart < 2 {
                    continue;
                }
                let mut rig = rig(profile, Suite::Standard);
                rig.create(n).unwrap();
                let whole = Tree::balanced(&(0..n).collect::<Vec<_>>());
                let guests: Vec<_> = (n - apart..n).collect();
                let hosts: Vec<_> = (0..n - apart).collect();
                let parts = [&guests, &hosts].map(|leavers| whole.without(leavers).0.unwrap());
                let parts = match parts[0].width() >= parts[1].width() {
                    true => parts,
                    false => {
                        let [one, other] = parts;
                        [other, one]
                    }
                };
                rig.partition(&guests).unwrap();
                let before = rig.agreed_key().unwrap().clone();
                let report = rig.merge().unwrap();
                assert_ne!(*rig.agreed_key().unwrap(), before);
                let (tree, halves) = parts[0].merged(&parts[1], profile == Profile::Sound);
                let (unicasts, multicasts) = merging(&halves);
                // Each part's leader tells its tree.
                let branches = report.messages.iter().filter(|sent| kind(&sent.bytes) == BRANCH);
                assert_eq!(branches.count(), 2);
                let expected = (unicasts, multicasts + 2, sound(profile));
                assert_eq!(messages(&report), expected, "{n} members, {apart} apart");
                assert_wrapped(&report, &tree);
                for member in tree.leaves() {
                    let held = rig.party(MemberId(member).into()).footprint().permanent;
                    assert!(
                        held >= 16 * tree.depth(member),
                        "{n} members, {apart} apart: {member}"
                    );
                }
                // The tree is the one that everybody thinks it is.
                rig.add(n).unwrap();
                rig.remove(0).unwrap();
                rig.agreed_key().unwrap();
            }
        }
    }
}

/// Unicasts, and multicasts to halves, new ones included, of two or more.
fn merging(halves: &[usize]) -> (u64, u64) {
    let s = halves.len() as u64;
    let wide = halves.iter().filter(|&&width| width > 1).count() as u64;
    (s - 1, wide + s.saturating_sub(2))
}

fn assert_wrapped(report: &OperationReport, tree: &Tree) {
    for member in tree.leaves() {
        let Some(meter) = report.meters.get(&MemberId(member).into()) else { continue };
        let (wrapped, led) = (meter.tally(Primitive::Wrap).amount, tree.levels_led_by(member));
        assert!(wrapped <= 2 * led + 1, "{member} leads {led} and wraps {wrapped}");
    }
}

#[test]
fn a_new_period_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in [2, 3, 5, 8, 9, 20, 30] {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n).unwrap();
            let tree = Tree::balanced(&(0..n).collect::<Vec<_>>());
            let mut keys = vec![rig.agreed_key().unwrap().clone()];
            for epoch in 1..=4 {
                // Members take turns.
                let (_, halves) = tree.without(&[epoch % n]);
                let depth = tree.depth(epoch % n);
                let report = rig.rekey().unwrap();
                let wide = halves.iter().filter(|&&width| width > 1).count() as u64;
                assert_eq!(messages(&report), (depth as u64, wide, sound(profile)), "{n} members");
                let key = rig.agreed_key().unwrap().clone();
                assert!(!keys.contains(&key));
                keys.push(key);
            }
        }
    }
}

/// A party that got hold of the group keys of before a merger has the one after it, as published;
/// and not in the sound profile, where nothing was sent under them.
#[test]
fn what_former_group_keys_are_worth() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, Suite::Standard);
        rig.create(8).unwrap();
        rig.partition(&[4, 5, 6, 7]).unwrap();
        let mut leaked = vec![rig.agreed_key().unwrap().clone()];
        rig.change_sides();
        leaked.push(rig.agreed_key().unwrap().clone());
        rig.change_sides();
        let report = rig.merge().unwrap();
        let (epoch, key) = rig.key_of(MemberId(0).into()).unwrap();
        let opened = leaked.iter().any(|leaked| opens(rig.setting(), &report, epoch, leaked, key));
        assert_eq!(opened, profile == Profile::Published);
    }
}

/// Nobody draws keys of nodes that it is not below: when it goes, they would stay, and be of use.
#[test]
fn who_is_evicted_has_nothing_that_opens_what_comes() {
    for profile in Profile::ALL {
        for (n, apart) in [(4, &[0, 1][..]), (6, &[0, 2, 4]), (8, &[1, 4]), (9, &[3, 4, 5, 8])] {
            for leaver in 0..n {
                for is_merged in [false, true] {
                    let mut rig = rig(profile, Suite::Standard).traced();
                    rig.create(n).unwrap();
                    rig.partition(apart).unwrap();
                    if is_merged {
                        rig.merge().unwrap();
                    } else if apart.contains(&leaver) {
                        rig.change_sides();
                    }
                    if rig.members().count() == 2 {
                        continue;
                    }
                    let had = keys_had_by(&mut rig, leaver);
                    let report = rig.remove(leaver).unwrap();
                    let heir = rig.members().next().unwrap();
                    let (epoch, key) = rig.key_of(MemberId(heir).into()).unwrap();
                    let opened =
                        had.iter().any(|had| opens(rig.setting(), &report, epoch, had, key));
                    assert!(!opened, "{leaver} of {n}, {apart:?} apart, merged: {is_merged}");
                }
            }
        }
    }
}

/// All that went through a member's hands and is as long as a key.
fn keys_had_by(rig: &mut Rig, member: u32) -> Vec<Key> {
    let trace = rig.trace().unwrap();
    let own = trace.acts().iter().filter(|act| act.party == MemberId(member).into());
    let values = own.flat_map(|act| trace.outputs(act)).map(|&id| &trace.values()[id as usize]);
    values.filter_map(|value| Some(Key::from_bytes(value[..].try_into().ok()?))).collect()
}

/// Whether a key opens some `SPREAD` to this group key.
fn opens(
    setting: Setting,
    report: &OperationReport,
    epoch: Epoch,
    leaked: &Key,
    key: &Key,
) -> bool {
    let (mut outbox, mut probe) = (Outbox::new(), ());
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let (none, me) = (Protection::None, MemberId(0).into());
    let mut cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
    let spreads = report.messages.iter().filter(|sent| kind(&sent.bytes) == SPREAD);
    spreads.into_iter().any(|sent| {
        // The wrapped keys are the last item of the body; the tag of 16 bytes takes 17.
        let end = sent.bytes.len() - 17;
        let one = end - cx.wrapped_length(1);
        let mut opened = [Key::default()];
        cx.unwrap_keys(leaked, epoch, 0, &sent.bytes[one..end], &mut opened).is_ok()
            && opened[0] == *key
    })
}

#[test]
fn parts_come_together_in_any_order_and_under_attack() {
    for seed in 0..8 {
        for profile in Profile::ALL {
            let suite = Suite::ALL[seed as usize % 8];
            let protection = if seed % 2 == 0 { Guard::Signature } else { Guard::Mac };
            let hostile = true;
            let settings =
                Settings { seed, profile, suite, protection, hostile, ..Settings::default() };
            let mut rig = Rig::new(scheme(), settings);
            rig.create(5 + seed as u32 % 5).unwrap();
            for round in 0..3 {
                let apart: Vec<_> = rig.members().skip(1 + round % 2).step_by(2).collect();
                rig.partition(&apart).unwrap();
                rig.agreed_key().unwrap();
                rig.add(50 + round as u32).unwrap();
                rig.change_sides();
                rig.rekey().unwrap();
                rig.agreed_key().unwrap();
                rig.merge().unwrap();
                rig.agreed_key().unwrap();
                rig.rekey().unwrap();
                let leaver = rig.members().nth(seed as usize % 3).unwrap();
                rig.remove(leaver).unwrap();
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
            }
        }
    }
}

#[test]
fn who_slept_through_a_merger_catches_up() {
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(8).unwrap();
    rig.partition(&[4, 5, 6, 7]).unwrap();
    // Who leads nothing.
    rig.sleep(1);
    rig.merge().unwrap();
    rig.catch_up(1).unwrap();
    rig.agreed_key().unwrap();
}

#[test]
fn events_out_of_place_are_refused() {
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(4).unwrap();
    let [one, two, three, nine] = [1, 2, 3, 9].map(MemberId);
    for (member, apart, misuse) in [
        (0, &[][..], Misuse::EmptyBatch),
        (1, &[one], Misuse::WrongRole),
        (0, &[nine], Misuse::NotMember(nine)),
        (0, &[one, one], Misuse::NamedTwice(one)),
        (0, &[one, two, three], Misuse::TooFewMembers),
    ] {
        assert_refused(&mut rig, member, Command::Partition(apart), misuse);
    }
    for (members, epoch, misuse) in [
        (&[nine][..], 1, Misuse::EpochOver(Epoch(1))),
        (&[one], 2, Misuse::AlreadyMember(one)),
        (&[], 2, Misuse::EmptyBatch),
    ] {
        assert_refused(&mut rig, 0, Command::Merge { members, epoch: Epoch(epoch) }, misuse);
    }
}

/// What a leader says is believed only if it is about its part, and what comes before it is kept.
#[test]
fn a_branch_of_others_is_refused() {
    let mut table = group(Profile::Sound, 8);
    let (hosts, guests) = ([0, 1, 2, 3, 4].map(MemberId), [5, 6, 7].map(MemberId));
    for (part, apart) in [(0..5, &guests[..]), (5..8, &hosts)] {
        part.clone().for_each(|id| table.command(id, Command::Partition(apart)));
        table.settle(part);
    }
    let merge = |members| Command::Merge { members, epoch: Epoch(9) };
    (0..5).for_each(|id| table.command(id, merge(&guests)));
    (5..8).for_each(|id| table.command(id, merge(&hosts)));
    let [of_hosts, of_guests] = &table.wire[..] else { panic!("each leader tells its tree") };
    let (of_hosts, of_guests) = (of_hosts.clone(), of_guests.clone());
    let body = of_guests.len() - 8;
    assert_eq!(of_guests[body..], [0x83, 5, 6, 7, 0x43, 1, 2, 2], "ids and depths");
    for (place, changed, refusal) in [
        (body + 1, 4, Misbehaviour::UnexpectedSender),
        (body + 2, 4, Misbehaviour::InvalidRoster),
        (body + 3, 5, Misbehaviour::InvalidRoster),
        (body + 5, 2, Misbehaviour::InvalidRoster),
        (6, 7, Misbehaviour::UnexpectedSender),
    ] {
        let mut message = of_guests.clone();
        message[place] = changed;
        assert_eq!(table.deliver(0, &message), Err(refusal.into()), "byte {place}");
    }
    assert_eq!(table.deliver(1, &of_hosts), Ok(()), "what 1 knows");
    // 5 leads the guests. What 0 sends it comes before the hosts' tree.
    table.deliver(0, &of_guests).unwrap();
    let (keys, confirmation) = (keys_to(&table, 5), confirmation(&table));
    for message in [&keys, &confirmation] {
        table.deliver(5, message).unwrap();
        let again = table.deliver(5, message);
        assert_eq!(again, Err(Misbehaviour::UnexpectedMessage.into()), "it is kept once");
        let mut of_nobody = message.clone();
        of_nobody[6] = 9;
        let refused = table.deliver(5, &of_nobody);
        assert_eq!(refused, Err(Misbehaviour::UnexpectedSender.into()));
    }
    table.deliver(5, &of_hosts).unwrap();
    assert_eq!(table.key(5), table.key(0));
    let heard = |message: &Vec<u8>| ![&keys, &of_guests, &confirmation].contains(&message);
    let rest: Vec<_> = table.wire.iter().filter(|message| heard(message)).cloned().collect();
    // The other hosts get the guests' tree last, the other guests the hosts' one first.
    table.wire = [vec![confirmation.clone()], rest.clone(), vec![of_guests]].concat();
    table.settle(1..5);
    table.wire = [rest, vec![confirmation]].concat();
    table.settle(6..8);
    (1..8).for_each(|id| assert_eq!(table.key(id), table.key(0)));
}

const SPREAD: u8 = 1;
const BRANCH: u8 = 6;
