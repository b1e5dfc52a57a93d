//! OFCT costs what the header of its file says, in complete trees and in trees with holes: a removal
//! takes one wrap for each key node above the evicted member, and one unwrap at every member; an add
//! one for each key node above the joining member and one more, and mostly derivations at the
//! others.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, costs, derivations, permanent, unwraps};
use crate::schemes::slots::{Slots, count_above, key_nodes, lowest_free};

#[test]
fn complete_trees_cost_what_the_formulas_say() {
    for height in 1..=7 {
        let n = 1 << height;
        for profile in Profile::ALL {
            let group_key = u32::from(profile == Profile::Sound);
            let mut rig = rig(profile);
            let created = rig.create(n).unwrap();
            assert_eq!(costs(&created), (1, 2 * n - 2));
            assert_eq!(calls(&created, MemberId(0), Primitive::Unwrap), height);
            assert_eq!(permanent(&rig, Controller), 16 * 2 * n);
            assert_eq!(permanent(&rig, MemberId(1)), 16 * (height + 2));
            if height > 1 {
                assert_eq!(costs(&rig.remove(n / 2).unwrap()), (1, height), "2^{height}");
                let added = rig.add(n).unwrap();
                assert_eq!(costs(&added), (2, height + 1), "2^{height}");
                assert_eq!(derivations(&added, Controller), height - 1 + 2 * group_key);
            }
            // The tree grows by a level: a fresh root, wrapped under the old one, and no derivation.
            let grown = rig.add(n + 1).unwrap();
            assert_eq!(costs(&grown), (2, 2));
            assert_eq!(derivations(&grown, Controller), 2 * group_key);
        }
    }
}

#[test]
fn changes_cost_what_the_formulas_say_in_trees_with_holes() {
    for n in [3, 5, 7, 8, 10, 11, 16, 17, 23, 37, 64, 65] {
        for profile in Profile::ALL {
            let group_key = u32::from(profile == Profile::Sound);
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            let mut slots: Slots = (0..n).map(|member| (member, member)).collect();
            for round in 0..2 * n {
                if round % 4 == 3 || slots.len() == 2 {
                    let (newcomer, slot) = (n + round, lowest_free(&slots));
                    let added = rig.add(newcomer).unwrap();
                    check_add(&added, &slots, newcomer, slot, group_key);
                    slots.insert(newcomer, slot);
                } else {
                    let place = (round * 7 + 1) as usize % slots.len();
                    let (leaver, slot) =
                        slots.iter().nth(place).map(|(&who, &slot)| (who, slot)).unwrap();
                    let key_nodes = key_nodes(&slots, 2, slot).len() as u32;
                    slots.remove(&leaver);
                    let removed = rig.remove(leaver).unwrap();
                    check_removal(&removed, &slots, key_nodes, group_key);
                }
            }
        }
    }
}

/// Everybody derives the keys that they shared with the joining member's place before; those below
/// the one that was not there open its wrap.
fn check_add(added: &OperationReport, before: &Slots, newcomer: u32, slot: u32, group_key: u32) {
    let old = key_nodes(before, 2, slot);
    let mut after = before.clone();
    after.insert(newcomer, slot);
    let mut new = key_nodes(&after, 2, slot);
    let all = new.len() as u32;
    new.retain(|node| !old.contains(node));
    let context = format!("{newcomer} joins {before:?} in slot {slot}");
    assert_eq!(new.len(), 1, "{context}");
    assert_eq!(costs(added), (2, all + 1), "{context}");
    assert_eq!(derivations(added, Controller), all - 1 + 2 * group_key, "{context}");
    assert_eq!(calls(added, Controller, Primitive::Random), 1, "{context}");
    assert_eq!(unwraps(added, MemberId(newcomer)), (1, all), "{context}");
    for (&member, &own) in before {
        let member = MemberId(member);
        assert_eq!(derivations(added, member), count_above(&old, own) + 2 * group_key, "{context}");
        assert_eq!(calls(added, member, Primitive::Unwrap), count_above(&new, own), "{context}");
    }
}

fn check_removal(removed: &OperationReport, staying: &Slots, key_nodes: u32, group_key: u32) {
    let context = format!("{staying:?} stay");
    assert_eq!(costs(removed), (1, key_nodes), "{context}");
    assert_eq!(removed.messages[0].to, Recipient::Group);
    let derived = (2 * key_nodes).saturating_sub(3).max(1) + group_key;
    assert_eq!(derivations(removed, Controller), derived, "{context}");
    let members = || staying.keys().map(|&member| MemberId(member));
    for member in members() {
        assert_eq!(calls(removed, member, Primitive::Unwrap), 1, "{context}");
    }
    let most = members().map(|member| derivations(removed, member)).max();
    assert_eq!(most, Some(derived), "{context}");
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("ofct").unwrap(), Settings { profile, ..Settings::default() })
}
