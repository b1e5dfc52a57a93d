//! D-OFT costs what the header of its file says, in whatever tree comes about; a member that slept
//! catches up, and a wrong blinded secret is noticed.

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misbehaviour;
use groupkey::{MemberId, Recipient, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, Settings};

use crate::schemes::distributed::{
    assert_nothing_was_missed, messages_and_confirmations as messages,
};

const SIZES: [u32; 13] = [2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 20, 30, 33];

#[test]
fn creation_costs_what_the_header_says() {
    for profile in Profile::ALL {
        for n in SIZES {
            let mut rig = rig(profile, Suite::Standard);
            let report = rig.create(n).unwrap();
            rig.agreed_key().unwrap();
            // Balanced: leaves are at depth ⌈log2 n⌉, or one above it.
            let height = n.next_power_of_two().ilog2();
            let depths = n * height - (n.next_power_of_two() - n);
            assert_eq!(
                messages(&report),
                (depths.into(), 0, confirmations(profile, n)),
                "{n} members"
            );
            for member in 0..n {
                let meter = report.meter(MemberId(member).into());
                let hashes = meter.tally(Primitive::Hash).calls;
                let received = meter.tally(Primitive::Unwrap).calls;
                assert_eq!(hashes, 2 * received, "one unwrap and two hashes a level");
                let held = rig.party(MemberId(member).into()).footprint().permanent as u64;
                assert_eq!(held, 16 * (2 * received + 2 + meter.exponentiations()));
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
            let mut tree: Vec<(u32, Vec<bool>)> = balanced(&(0..n).collect::<Vec<_>>(), &[]);
            for (round, next) in (n..n + 6).enumerate() {
                // The shallowest leaf, of several the rightmost.
                let (_, place) = tree
                    .iter()
                    .enumerate()
                    .map(|(place, (_, way))| (way.len(), std::cmp::Reverse(place)))
                    .min()
                    .unwrap();
                let (sponsor, way) = tree[place.0].clone();
                tree[place.0].1.push(false);
                tree.insert(place.0 + 1, (next, [&way[..], &[true]].concat()));
                let report = rig.add(next).unwrap();
                rig.agreed_key().unwrap();
                let h = way.len() as u64 + 1;
                let confirmed = confirmations(profile, tree.len() as u32);
                let expected = (h + 1, wide_halves(&tree, sponsor), confirmed);
                assert_eq!(messages(&report), expected, "{n} members, add {next}");
                for (id, way) in &tree {
                    let shared = shared(way, way_of(&tree, sponsor));
                    let levels = if *id == sponsor { h } else { shared + 1 };
                    let more = u64::from(*id == sponsor);
                    assert_eq!(hashes(&report, *id), 2 * levels + more, "{id}, add {next}");
                }

                let members: Vec<_> = rig.members().collect();
                let leaver = members[(round * 7 + n as usize / 2) % members.len()];
                let (_, way) = tree.iter().find(|(id, _)| *id == leaver).unwrap().clone();
                let above = way.len() - 1;
                let sibling = [&way[..above], &[!way[above]]].concat();
                tree.retain(|(id, _)| *id != leaver);
                let mut sponsor = None;
                for (id, way) in &mut tree {
                    if way.starts_with(&sibling) {
                        sponsor = sponsor.or(Some(*id));
                        way.remove(above);
                    }
                }
                let sponsor = sponsor.unwrap();
                let report = rig.remove(leaver).unwrap();
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
                let depth = tree.iter().find(|(id, _)| *id == sponsor).unwrap().1.len() as u64;
                let repair = if profile == Profile::Sound { above as u64 } else { 0 };
                let confirmed = confirmations(profile, tree.len() as u32);
                let expected = (depth + repair, wide_halves(&tree, sponsor), confirmed);
                assert_eq!(messages(&report), expected, "{n} members, remove {leaver}");
                for (id, way) in &tree {
                    let shared = shared(way, way_of(&tree, sponsor));
                    let half = way.iter().copied().take(shared as usize + 1).collect::<Vec<_>>();
                    let leads =
                        tree.iter().find(|(_, way)| way.starts_with(&half)).unwrap().0 == *id;
                    let expected = match (*id == sponsor, shared < repair, leads) {
                        (true, ..) => 2 * depth,
                        (false, false, _) => 2 * (shared + 1),
                        (false, true, false) => 2 * (shared + 1) + 1,
                        (false, true, true) => 2 * (shared + 1) + 3,
                    };
                    assert_eq!(hashes(&report, *id), expected, "{id}, remove {leaver}");
                }

                let (epoch, _) = rig.key_of(MemberId(sponsor).into()).unwrap();
                let (sponsor, way) = tree[(epoch.0 % tree.len() as u64) as usize].clone();
                let depth = way.len() as u64;
                let report = rig.rekey().unwrap();
                rig.agreed_key().unwrap();
                let expected = (depth, wide_halves(&tree, sponsor), confirmed);
                assert_eq!(messages(&report), expected, "{n} members, rekey by {sponsor}");
                for (id, other) in &tree {
                    let levels = if *id == sponsor { depth } else { shared(other, &way) + 1 };
                    assert_eq!(hashes(&report, *id), 2 * levels, "{id}, rekey by {sponsor}");
                }
            }
        }
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
                assert_eq!(report.meter(MemberId(sleeper).into()).tally(Primitive::Hash).calls, 0);
                assert_eq!(report.total().tally(Primitive::Hash).calls, 1);
            }
            rig.agreed_key().unwrap();
            assert_nothing_was_missed(&mut rig, 5);
            rig.remove(0).unwrap();
            rig.add(21).unwrap();
            rig.remove(7).unwrap();
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

/// CBC has no integrity: a changed byte gives another blinded secret, and so another key.
#[test]
fn a_wrong_blinded_secret_is_noticed() {
    for (profile, noticed) in [(Profile::Published, false), (Profile::Sound, true)] {
        let group = || {
            let settings = Settings {
                profile,
                suite: Suite::Published,
                protection: Guard::None,
                ..Settings::default()
            };
            let mut rig = Rig::new(scheme(), settings);
            rig.create(4).unwrap();
            rig
        };
        // ((0 1) (2 3)) without 3: 2 tells 0, who tells 1.
        let report = group().remove(3).unwrap();
        let mut rig = group();
        let receiver = MemberId(1).into();
        rig.command_to(receiver, groupkey::Command::Remove(MemberId(3))).unwrap();
        let before = rig.key_of(receiver).map(|(_, key)| key.clone());
        let find = |body: fn(&groupkey_testkit::rig::SentMessage) -> bool| {
            let mut group = report.messages.iter().filter(|message| message.to == Recipient::Group);
            group.find(|message| body(message)).map(|message| message.bytes.to_vec())
        };
        let mut spread = find(|message| message.body_bytes != 17).unwrap();
        *spread.last_mut().unwrap() ^= 1;
        rig.inject(receiver, &spread).unwrap();
        if noticed {
            let confirmation = find(|message| message.body_bytes == 17).unwrap();
            let refused = rig.inject(receiver, &confirmation);
            assert_eq!(refused, Err(Misbehaviour::Forged.into()));
            assert_eq!(rig.key_of(receiver).map(|(_, key)| key.clone()), before);
        } else {
            assert_ne!(rig.key_of(receiver).map(|(_, key)| key.clone()), before);
        }
    }
}

/// One of sponsor and witness may lie, so the others hear both, in any order, and each once.
#[test]
fn a_key_is_taken_when_sponsor_and_witness_confirm_it() {
    // ((0 1) (2 3)) without 3: 2 is the sponsor, and 0 the witness, which leads the other half.
    let receiver = MemberId(1).into();
    let left = groupkey::Command::Remove(MemberId(3));
    let group = || {
        let mut rig = rig(Profile::Sound, Suite::Standard);
        rig.create(4).unwrap();
        rig
    };
    let report = group().remove(3).unwrap();
    let to_all = report.messages.iter().filter(|message| message.to == Recipient::Group);
    let (confirmations, spread): (Vec<_>, Vec<_>) =
        to_all.map(|message| message.bytes.to_vec()).partition(|bytes| {
            let forger = group().forger();
            forger.read(bytes).unwrap().1.len() == 17
        });
    assert_eq!([confirmations.len(), spread.len()], [2, 1]);
    for [first, second] in [[0, 1], [1, 0]] {
        let mut rig = group();
        let before = rig.key_of(receiver).map(|(epoch, key)| (epoch, key.clone()));
        rig.command_to(receiver, left).unwrap();
        rig.inject(receiver, &spread[0]).unwrap();
        rig.inject(receiver, &confirmations[first]).unwrap();
        assert_eq!(rig.key_of(receiver), before.as_ref().map(|(epoch, key)| (*epoch, key)));
        let again = rig.inject(receiver, &confirmations[first]);
        assert_eq!(again, Err(Misbehaviour::UnexpectedMessage.into()));
        rig.inject(receiver, &confirmations[second]).unwrap();
        assert_eq!(rig.key_of(receiver).map(|(epoch, _)| epoch.0), Some(2));
        // A witness that confirms another key is noticed.
        let mut rig = group();
        let mut forger = rig.forger();
        rig.command_to(receiver, left).unwrap();
        rig.inject(receiver, &spread[0]).unwrap();
        let (header, body) = forger.read(&confirmations[second]).unwrap();
        let mut body = body.to_vec();
        body[16] ^= 1;
        let false_one = forger.forge(header.sender, &header, &body);
        assert_eq!(rig.inject(receiver, &false_one), Err(Misbehaviour::Forged.into()));
        assert_eq!(rig.key_of(receiver), before.as_ref().map(|(epoch, key)| (*epoch, key)));
    }
}

/// Members from left to right, with their ways from the root: false is left.
fn balanced(members: &[u32], way: &[bool]) -> Vec<(u32, Vec<bool>)> {
    if let [member] = members {
        return vec![(*member, way.to_vec())];
    }
    let (left, right) = members.split_at(members.len().div_ceil(2));
    let mut tree = balanced(left, &[way, &[false]].concat());
    tree.extend(balanced(right, &[way, &[true]].concat()));
    tree
}

/// Halves of two or more beside a member's path.
fn wide_halves(tree: &[(u32, Vec<bool>)], member: u32) -> u64 {
    let (_, way) = tree.iter().find(|(id, _)| *id == member).unwrap();
    let beside = (0..way.len()).map(|level| [&way[..level], &[!way[level]]].concat());
    let width = |half: &Vec<bool>| tree.iter().filter(|(_, way)| way.starts_with(half)).count();
    beside.filter(|half| width(half) > 1).count() as u64
}

fn way_of(tree: &[(u32, Vec<bool>)], member: u32) -> &[bool] {
    let (_, way) = tree.iter().find(|(id, _)| *id == member).unwrap();
    way
}

/// How many steps two ways have in common.
fn shared(one: &[bool], other: &[bool]) -> u64 {
    one.iter().zip(other).take_while(|(one, other)| one == other).count() as u64
}

fn hashes(report: &OperationReport, member: u32) -> u64 {
    report.meter(MemberId(member).into()).tally(Primitive::Hash).calls
}

fn scheme() -> &'static Scheme {
    catalogue::scheme("d-oft").unwrap()
}

fn rig(profile: Profile, suite: Suite) -> Rig {
    Rig::new(scheme(), Settings { profile, suite, ..Settings::default() })
}

/// The sponsor's, and that of the witness if anybody is left to hear it.
fn confirmations(profile: Profile, members: u32) -> u64 {
    match (profile, members) {
        (Profile::Published, _) => 0,
        (Profile::Sound, 2) => 1,
        (Profile::Sound, _) => 2,
    }
}
