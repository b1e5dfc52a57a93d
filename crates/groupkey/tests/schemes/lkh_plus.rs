//! LKH+ costs what the header of its file says: messages, wrapped keys and derivations, at the
//! controller and at the members, in complete trees and in trees with holes.

use std::collections::BTreeMap;

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::rig::{Report, Rig, Settings};
use groupkey::{MemberId, PartyId, Recipient};

#[test]
fn lkh_plus_matches_its_formulas_in_complete_trees() {
    for (degree, height) in [(2u32, 2), (2, 4), (2, 6), (3, 2), (3, 4), (4, 2), (4, 3)] {
        let n = degree.pow(height);
        let edges = n + (n - 1) / (degree - 1) - 1;
        let by_key = if degree == 2 { 2 * (height - 1) } else { degree * height - 1 };
        let second_child = u32::from(degree == 2);
        for profile in Profile::ALL {
            let group_key = u32::from(profile == Profile::Sound);
            let mut rig = rig("lkh-plus", profile, degree);
            let created = rig.create(n).unwrap();
            assert_eq!(costs(&created), (1, edges));
            assert_eq!(permanent(&rig, MemberId(0).into()), 16 * (height + 2));
            assert_eq!(costs(&rig.remove(n - 1).unwrap()), (1, by_key));

            let added = rig.add(n).unwrap();
            assert_eq!(costs(&added), (2, height + second_child));
            let derivations = height - second_child + group_key;
            assert_eq!(calls(&added, Controller, Primitive::Derive), derivations);
            assert_eq!(calls(&added, Controller, Primitive::Random), second_child);

            // The tree grows by a level: a fresh root, wrapped under the old one, and no hash.
            let grown = rig.add(n + 1).unwrap();
            assert_eq!(costs(&grown), (2, 2));
            assert_eq!(calls(&grown, Controller, Primitive::Derive), group_key);
        }
    }
}

/// Member i, counted from 0, joins below a key node for each digit of i to the base d that is not 0, and
/// the lowest of them had no key before if its digit is 1.
#[test]
fn incremental_creation_hashes_a_path_for_each_member() {
    for degree in [2u32, 3, 4, 5, 16] {
        for n in [2, 3, 4, 5, 7, 8, 9, 16, 17, 27, 37, 64, 65, 81] {
            for profile in Profile::ALL {
                let parameters = vec![("degree", degree), ("creation", 1)];
                let settings = Settings { profile, parameters, ..Settings::default() };
                let mut single = Rig::new(scheme("lkh-plus").unwrap(), settings);
                let created = single.create(n).unwrap();
                let digits = |i: u32| {
                    let rest = core::iter::successors(Some(i), |rest| Some(rest / degree));
                    let digits = rest.take_while(|&rest| rest > 0).map(|rest| rest % degree);
                    digits.filter(|&digit| digit > 0).collect::<Vec<_>>()
                };
                let above = (0..n).map(|i| digits(i).len() as u32).sum::<u32>();
                let first = (0..n).filter(|&i| digits(i).first() == Some(&1)).count() as u32;
                let group_key = u32::from(profile == Profile::Sound);
                let hashes = above - first + group_key;
                assert_eq!(calls(&created, Controller, Primitive::Derive), hashes);
                assert_eq!(calls(&created, Controller, Primitive::Random), first);
                assert_eq!(calls(&created, Controller, Primitive::Wrap), n);
                assert!(created.open_messages().all(|m| matches!(m.to, Recipient::Member(_))));
                assert_eq!(created.open_messages().count() as u32, n);
                assert_eq!(calls(&created, MemberId(n - 1).into(), Primitive::Unwrap), 1);

                // The same tree comes out, and so everything after is the same.
                let mut bulk = rig("lkh-plus", profile, degree);
                bulk.create(n).unwrap();
                for member in (0..n).map(|member| MemberId(member).into()).chain([Controller]) {
                    assert_eq!(permanent(&single, member), permanent(&bulk, member));
                }
                assert_eq!(sizes(&single.add(n).unwrap()), sizes(&bulk.add(n).unwrap()));
                assert_eq!(sizes(&single.remove(0).unwrap()), sizes(&bulk.remove(0).unwrap()));
            }
        }
    }
}

#[test]
fn incremental_creation_matches_its_formulas_in_complete_trees() {
    for (degree, height) in [(2u32, 2), (2, 4), (2, 6), (3, 2), (3, 4), (4, 2), (4, 3)] {
        let n = degree.pow(height);
        let key_nodes = (n - 1) / (degree - 1);
        for profile in Profile::ALL {
            let parameters = vec![("degree", degree), ("creation", 1)];
            let settings = Settings { profile, parameters, ..Settings::default() };
            let created = Rig::new(scheme("lkh-plus").unwrap(), settings).create(n).unwrap();
            assert_eq!(costs(&created), (n, n * height));
            let hashes = n * height * (degree - 1) / degree - key_nodes;
            let group_key = u32::from(profile == Profile::Sound);
            assert_eq!(calls(&created, Controller, Primitive::Derive), hashes + group_key);
            assert_eq!(calls(&created, Controller, Primitive::Random), key_nodes);
        }
    }
}

/// Everybody derives exactly the keys that both they and the newcomer are below, and that were there
/// before; those below the one that was not open one wrap. Creation and removal are LKH's.
#[test]
fn lkh_plus_costs_follow_the_shape_of_trees_with_holes() {
    for degree in [2, 3, 4, 5] {
        for n in [2, 3, 5, 7, 10, 16, 23, 37] {
            let mut plus = rig("lkh-plus", Profile::Sound, degree);
            let mut lkh = rig("lkh-group", Profile::Sound, degree);
            assert_eq!(sizes(&plus.create(n).unwrap()), sizes(&lkh.create(n).unwrap()));
            let mut slots: BTreeMap<u32, u32> = (0..n).map(|member| (member, member)).collect();
            for round in 0..30 {
                if round % 5 < 2 || slots.len() < 4 {
                    let newcomer = n + round;
                    let slot = lowest_free(&slots);
                    let added = plus.add(newcomer).unwrap();
                    lkh.add(newcomer).unwrap();
                    check_add(&added, &slots, slot, degree);
                    slots.insert(newcomer, slot);
                } else {
                    let place = (round * 7 + degree) as usize % slots.len();
                    let leaver = *slots.keys().nth(place).unwrap();
                    let removed = sizes(&plus.remove(leaver).unwrap());
                    assert_eq!(removed, sizes(&lkh.remove(leaver).unwrap()));
                    slots.remove(&leaver);
                }
            }
        }
    }
}

fn check_add(added: &Report, before: &BTreeMap<u32, u32>, slot: u32, degree: u32) {
    let mut occupied: Vec<u32> = before.values().copied().collect();
    let old = key_nodes(&occupied, slot, degree);
    occupied.push(slot);
    let all = key_nodes(&occupied, slot, degree);
    let new: Vec<_> = all.iter().filter(|width| !old.contains(width)).collect();
    let (old_count, new_count) = (old.len() as u32, new.len() as u32);
    assert!(new_count <= 1);
    assert_eq!(costs(added), (2, old_count + 2 * new_count));
    assert_eq!(calls(added, Controller, Primitive::Derive), old_count + 1);
    for (&member, &own) in before {
        let shares = |width: u32| own / width == slot / width;
        let derivations = old.iter().filter(|&&width| shares(width)).count() as u32;
        let unwraps = new.iter().filter(|&&&width| shares(width)).count() as u32;
        let member = PartyId::from(MemberId(member));
        assert_eq!(calls(added, member, Primitive::Derive), derivations + 1);
        assert_eq!(calls(added, member, Primitive::Unwrap), unwraps);
    }
}

/// The widths, in slots, of the nodes above a slot that have two occupied children; counted on slots,
/// without the library's tree. The slot itself is taken for vacant unless it is among the occupied.
fn key_nodes(occupied: &[u32], slot: u32, degree: u32) -> Vec<u32> {
    let largest = occupied.iter().copied().max().unwrap_or(0).max(slot);
    let widths = core::iter::successors(Some(degree), |width| Some(width * degree));
    let widths = widths.take_while(|width| width / degree <= largest);
    let is_key_node = |&width: &u32| {
        let below = occupied.iter().filter(|&&other| other / width == slot / width);
        let mut children: Vec<u32> = below.map(|other| other / (width / degree)).collect();
        children.sort_unstable();
        children.dedup();
        children.len() >= 2
    };
    widths.filter(is_key_node).collect()
}

fn lowest_free(slots: &BTreeMap<u32, u32>) -> u32 {
    (0..).find(|slot| !slots.values().any(|taken| taken == slot)).unwrap()
}

fn rig(id: &str, profile: Profile, degree: u32) -> Rig {
    let parameters = vec![("degree", degree)];
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// Open messages, and keys that the controller wrapped.
fn costs(report: &Report) -> (u32, u32) {
    let messages = report.open_messages().count() as u32;
    (messages, report.meter(Controller).tally(Primitive::Wrap).amount as u32)
}

/// Open messages, wrapped keys, and bytes of bodies.
fn sizes(report: &Report) -> ((u32, u32), usize) {
    (costs(report), report.open_messages().map(|message| message.body_bytes).sum())
}

fn calls(report: &Report, party: PartyId, primitive: Primitive) -> u32 {
    report.meter(party).tally(primitive).calls as u32
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
