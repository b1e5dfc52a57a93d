//! LKH+ costs what the header of its file says: messages, wrapped keys and derivations, at the
//! controller and at the members, in complete trees and in trees with holes. Its notices, which OFCT
//! has too, are the controller's alone.

use groupkey::PartyId::Controller;
use groupkey::author::Header;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misbehaviour;
use groupkey::{Epoch, MemberId, PartyId, Recipient};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, costs, derivations, permanent};
use crate::schemes::slots::{Slots, count_above, key_nodes, lowest_free};

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
            assert_eq!(permanent(&rig, MemberId(0)), 16 * (height + 2));
            assert_eq!(costs(&rig.remove(n - 1).unwrap()), (1, by_key));

            let added = rig.add(n).unwrap();
            assert_eq!(costs(&added), (2, height + second_child));
            // In `sound` one more for the group key, and one for its confirmation.
            let derived = height - second_child + 2 * group_key;
            assert_eq!(derivations(&added, Controller), derived);
            assert_eq!(derivations(&added, MemberId(n)), group_key, "it has no use for the notice");
            assert_eq!(calls(&added, Controller, Primitive::Random), second_child);

            // The tree grows by a level: a fresh root, wrapped under the old one, and no hash.
            let grown = rig.add(n + 1).unwrap();
            assert_eq!(costs(&grown), (2, 2));
            assert_eq!(derivations(&grown, Controller), 2 * group_key);
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
                assert_eq!(derivations(&created, Controller), hashes);
                assert_eq!(calls(&created, Controller, Primitive::Random), first);
                assert_eq!(calls(&created, Controller, Primitive::Wrap), n);
                assert!(created.open_messages().all(|m| matches!(m.to, Recipient::Member(_))));
                assert_eq!(created.open_messages().count() as u32, n);
                assert_eq!(calls(&created, MemberId(n - 1), Primitive::Unwrap), 1);

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
            assert_eq!(derivations(&created, Controller), hashes + group_key);
            assert_eq!(calls(&created, Controller, Primitive::Random), key_nodes);
        }
    }
}

/// Everybody derives exactly the keys that both they and the joining member are below, and that were
/// there before; those below the one that was not open one wrap. Creation and removal are LKH's.
#[test]
fn lkh_plus_costs_follow_the_shape_of_trees_with_holes() {
    for degree in [2, 3, 4, 5] {
        for n in [2, 3, 5, 7, 10, 16, 23, 37] {
            let mut plus = rig("lkh-plus", Profile::Sound, degree);
            let mut lkh = rig("lkh-group", Profile::Sound, degree);
            assert_eq!(sizes(&plus.create(n).unwrap()), sizes(&lkh.create(n).unwrap()));
            let mut slots: Slots = (0..n).map(|member| (member, member)).collect();
            for round in 0..30 {
                if round % 5 < 2 || slots.len() < 4 {
                    let newcomer = n + round;
                    let slot = lowest_free(&slots);
                    let added = plus.add(newcomer).unwrap();
                    lkh.add(newcomer).unwrap();
                    let before = slots.clone();
                    slots.insert(newcomer, slot);
                    check_add(&added, &before, &slots, slot, degree);
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

fn check_add(added: &OperationReport, before: &Slots, after: &Slots, slot: u32, degree: u32) {
    let old = key_nodes(before, degree, slot);
    let mut new = key_nodes(after, degree, slot);
    new.retain(|node| !old.contains(node));
    let (old_count, new_count) = (old.len() as u32, new.len() as u32);
    assert!(new_count <= 1);
    assert_eq!(costs(added), (2, old_count + 2 * new_count));
    assert_eq!(derivations(added, Controller), old_count + 2);
    for (&member, &own) in before {
        assert_eq!(derivations(added, MemberId(member)), count_above(&old, own) + 2);
        assert_eq!(calls(added, MemberId(member), Primitive::Unwrap), count_above(&new, own));
    }
}

/// Members make keys on a notice, often without a wrapped key in it that would tell them who sent it.
#[test]
fn notices_are_the_controllers_alone() {
    for id in ["lkh-plus", "ofct", "cfkm"] {
        for profile in Profile::ALL {
            for protection in [Guard::None, Guard::Mac, Guard::Signature] {
                let settings = Settings { profile, protection, ..Settings::default() };
                let mut rig = Rig::new(scheme(id).unwrap(), settings);
                rig.create(8).unwrap();
                rig.remove(7).unwrap();
                let added = rig.add(8).unwrap();
                let notice = added.messages.iter().find(|sent| sent.to == Recipient::Group);
                let mut forger = rig.forger();
                let (header, body) = forger.read(&notice.unwrap().bytes).unwrap();
                let as_controller = Header { epoch: Epoch(header.epoch.0 + 1), ..header };
                let newcomer = PartyId::from(MemberId(8));
                let as_itself = Header { sender: newcomer, ..as_controller };
                let [named, disguised] =
                    [as_itself, as_controller].map(|header| forger.forge(newcomer, &header, body));
                let receiver = MemberId(0).into();
                let key = rig.agreed_key().unwrap().clone();
                let refused = Err(Misbehaviour::UnexpectedSender.into());
                assert_eq!(rig.inject(receiver, &named), refused, "{id}");
                // Only a signature says who of those in the group it was, see the limits on the pages.
                // But in `sound` none of them confirms a key that it does not have.
                let taken = rig.inject(receiver, &disguised).is_ok();
                let unsigned = protection != Guard::Signature;
                assert_eq!(taken, unsigned && profile == Profile::Published, "{id}");
                assert_eq!(rig.agreed_key().is_ok_and(|now| *now == key), !taken, "{id}");
            }
        }
    }
}

fn rig(id: &str, profile: Profile, degree: u32) -> Rig {
    let parameters = vec![("degree", degree)];
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// Open messages, wrapped keys, and bytes of bodies.
fn sizes(report: &OperationReport) -> ((u32, u32), usize) {
    (costs(report), report.open_messages().map(|message| message.body_bytes).sum())
}
