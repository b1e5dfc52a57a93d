//! ELK costs what the header of its file says, in complete trees and in trees with holes: an add
//! and a rekey take a hash for each key of the tree, a removal five for each key node that stays.

use groupkey::PartyId::Controller;
use groupkey::author::Reader;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, costs, derivations, permanent, unwraps};
use crate::schemes::slots::{Slots, count_above, key_nodes, lowest_free};

#[test]
fn complete_trees_cost_what_the_formulas_say() {
    for height in 1..=7 {
        let n: u32 = 1 << height;
        for profile in Profile::ALL {
            let sound = u32::from(profile == Profile::Sound);
            let mut rig = rig(profile);
            let created = rig.create(n).unwrap();
            assert_eq!(costs(&created), (1, 2 * n - 2));
            assert_eq!(calls(&created, MemberId(0), Primitive::Unwrap), height);
            assert_eq!(permanent(&rig, Controller), 16 * 2 * n);
            assert_eq!(permanent(&rig, MemberId(1)), 16 * (height + 2));
            let rekeyed = rig.rekey().unwrap();
            assert_eq!(costs(&rekeyed), (1, 0));
            assert_eq!(calls(&rekeyed, Controller, Primitive::Hash), n - 1);
            assert_eq!(derivations(&rekeyed, Controller), 2 * sound);
            assert_eq!(calls(&rekeyed, MemberId(0), Primitive::Hash), height);
            if height > 1 {
                let removed = rig.remove(n / 2).unwrap();
                assert_eq!(costs(&removed), (1, 0));
                assert_eq!(calls(&removed, Controller, Primitive::Hash), 5 * (height - 1));
                let added = rig.add(n).unwrap();
                assert_eq!(costs(&added), (2, height), "2^{height}");
            }
            // The tree grows by a level: the fresh root's key follows from the old root's.
            let grown = rig.add(n + 1).unwrap();
            assert_eq!(costs(&grown), (2, 1));
            assert_eq!(calls(&grown, Controller, Primitive::Hash), n - 1);
            assert_eq!(derivations(&grown, Controller), 1 + 2 * sound);
        }
    }
}

#[test]
fn changes_cost_what_the_formulas_say_in_trees_with_holes() {
    for n in [3, 5, 7, 8, 10, 11, 16, 17, 23, 37, 64, 65] {
        for profile in Profile::ALL {
            let sound = u32::from(profile == Profile::Sound);
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            let mut slots: Slots = (0..n).map(|member| (member, member)).collect();
            for round in 0..2 * n {
                if round % 4 == 3 || slots.len() == 2 {
                    let (newcomer, slot) = (n + round, lowest_free(&slots));
                    let added = rig.add(newcomer).unwrap();
                    check_add(&added, &slots, newcomer, slot, sound);
                    slots.insert(newcomer, slot);
                } else {
                    let place = (round * 7 + 1) as usize % slots.len();
                    let (leaver, slot) =
                        slots.iter().nth(place).map(|(&who, &slot)| (who, slot)).unwrap();
                    let key_nodes = key_nodes(&slots, 2, slot).len() as u32;
                    slots.remove(&leaver);
                    let removed = rig.remove(leaver).unwrap();
                    check_removal(&rig, &removed, &slots, key_nodes, profile);
                }
                rig.agreed_key().unwrap();
            }
        }
    }
}

/// All keys move on but that of the one node that gets its first key; those below its only child
/// derive that.
fn check_add(added: &OperationReport, before: &Slots, newcomer: u32, slot: u32, sound: u32) {
    let old = key_nodes(before, 2, slot);
    let mut after = before.clone();
    after.insert(newcomer, slot);
    let mut new = key_nodes(&after, 2, slot);
    let all = new.len() as u32;
    new.retain(|node| !old.contains(node));
    let context = format!("{newcomer} joins {before:?} in slot {slot}");
    assert_eq!(new.len(), 1, "{context}");
    assert_eq!(costs(added), (2, all), "{context}");
    assert_eq!(calls(added, Controller, Primitive::Hash), after.len() as u32 - 2, "{context}");
    assert_eq!(derivations(added, Controller), 1 + 2 * sound, "{context}");
    assert_eq!(calls(added, Controller, Primitive::Random), 0, "{context}");
    assert_eq!(unwraps(added, MemberId(newcomer)), (1, all), "{context}");
    assert_eq!(calls(added, MemberId(newcomer), Primitive::Hash), 0, "{context}");
    for (&member, &own) in before {
        let member = MemberId(member);
        let held = key_nodes(before, 2, own).len() as u32;
        assert_eq!(calls(added, member, Primitive::Hash), held, "{context}");
        let first = count_above(&new, own);
        assert_eq!(derivations(added, member), first + 2 * sound, "{context}");
        assert_eq!(calls(added, member, Primitive::Unwrap), 0, "{context}");
    }
    let notice = added.messages.iter().find(|sent| sent.to == Recipient::Group).unwrap();
    assert!(notice.body_bytes <= 5 + 17 * sound as usize, "{context}");
}

fn check_removal(
    rig: &Rig,
    removed: &OperationReport,
    staying: &Slots,
    key_nodes: u32,
    profile: Profile,
) {
    let context = format!("{staying:?} stay");
    let sound = u32::from(profile == Profile::Sound);
    let renewed = (key_nodes - 1).max(1);
    assert_eq!(costs(removed), (1, 0), "{context}");
    assert_eq!(removed.messages[0].to, Recipient::Group);
    assert_eq!(calls(removed, Controller, Primitive::Hash), 5 * renewed, "{context}");
    assert_eq!(derivations(removed, Controller), 2 * sound, "{context}");
    assert_eq!(calls(removed, Controller, Primitive::Random), 0, "{context}");
    let hashes = |&member: &u32| calls(removed, MemberId(member), Primitive::Hash);
    assert_eq!(staying.keys().map(hashes).max(), Some(3 * renewed), "{context}");
    let forger = rig.forger();
    let sent = removed.open_messages().next().unwrap();
    let (_, body) = forger.read(&sent.bytes).unwrap();
    let mut body = Reader::new(body);
    body.number32().unwrap();
    assert_eq!(body.bytes().unwrap().len(), renewed as usize);
    let pair = if profile == Profile::Sound { 32 } else { 7 };
    assert_eq!(body.bytes().unwrap().len(), renewed as usize * pair);
}

/// Contributions of every length make one key.
#[test]
fn contributions_may_have_any_length() {
    for (left, right) in [(8, 8), (9, 15), (16, 36), (127, 128), (128, 8)] {
        let parameters = vec![("left", left), ("right", right)];
        let settings = Settings { profile: Profile::Published, parameters, ..Settings::default() };
        let mut rig = Rig::new(scheme("elk").unwrap(), settings);
        rig.create(6).unwrap();
        for leaver in [0, 3, 5] {
            rig.remove(leaver).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

/// A node that gets its second child again has another key than the last time: who was its second
/// child then does not have it.
#[test]
fn a_node_that_comes_again_has_another_key() {
    for profile in Profile::ALL {
        let mut rig = rig(profile);
        rig.create(3).unwrap();
        let mut beside_the_last = |newcomer| {
            rig.add(newcomer).unwrap();
            let tree = rig.key_tree_of(Controller);
            rig.remove(newcomer).unwrap();
            let leaf = tree.iter().find(|node| node.member == Some(MemberId(newcomer))).unwrap();
            tree[leaf.parent.unwrap()].fingerprint
        };
        assert_ne!(beside_the_last(3), beside_the_last(4), "{profile:?}");
    }
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("elk").unwrap(), Settings { profile, ..Settings::default() })
}
