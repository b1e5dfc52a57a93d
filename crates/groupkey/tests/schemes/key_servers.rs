//! SKDC, GKMP and LKH cost what the headers of their files say: messages and wrapped keys, at the
//! controller and at the members, in complete trees and in trees with holes.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{Rig, Settings};

use crate::schemes::counts::{calls, costs, every_member_unwraps_once, permanent};

#[test]
fn skdc_costs_one_wrap_a_member() {
    for n in [2, 3, 4, 5, 8, 9, 16, 17, 100] {
        let mut rig = rig("skdc", Profile::Sound, None);
        assert_eq!(costs(&rig.create(n).unwrap()), (n, n));
        assert_eq!(permanent(&rig, Controller), 16 * (n + 1));
        assert_eq!(permanent(&rig, MemberId(0)), 32);
        let added = rig.add(n).unwrap();
        assert_eq!(costs(&added), (n + 1, n + 1));
        assert_eq!(costs(&rig.remove(0).unwrap()), (n, n));
        every_member_unwraps_once(&added, 1..=n);
        assert!(added.messages.iter().all(|m| matches!(m.to, Recipient::Member(_))));
    }
}

#[test]
fn gkmp_adds_with_two_messages_and_removes_by_a_new_group() {
    for profile in Profile::ALL {
        for n in [2, 3, 4, 5, 8, 9, 16, 17, 33, 100] {
            let mut rig = rig("gkmp", profile, None);
            let created = rig.create(n).unwrap();
            assert_eq!(costs(&created), (n, 2 * n));
            assert_eq!(calls(&created, Controller, Primitive::Wrap), n);
            assert_eq!(permanent(&rig, Controller), 16 * (n + 2));
            assert_eq!(permanent(&rig, MemberId(0)), 48);

            let added = rig.add(n).unwrap();
            assert_eq!(costs(&added), (2, 4));
            let to: Vec<_> = added.open_messages().map(|message| message.to).collect();
            assert_eq!(to, [Recipient::Member(MemberId(n)), Recipient::Group]);
            every_member_unwraps_once(&added, 0..=n);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(costs(&rekeyed), (1, 2));
            every_member_unwraps_once(&rekeyed, 0..=n);

            let removed = rig.remove(0).unwrap();
            assert_eq!(costs(&removed), (n, 2 * n));
            assert!(removed.open_messages().all(|m| matches!(m.to, Recipient::Member(_))));
            every_member_unwraps_once(&removed, 1..=n);
        }
    }
}

#[test]
fn lkh_creation_matches_its_formulas_in_complete_trees() {
    for (degree, height) in complete_trees() {
        let n = degree.pow(height);
        let edges = n + (n - 1) / (degree - 1) - 1;
        for profile in Profile::ALL {
            let created = |id| rig(id, profile, Some(degree)).create(n).unwrap();
            assert_eq!(costs(&created("lkh-group")), (1, edges), "{degree}^{height}");
            assert_eq!(costs(&created("lkh-user")), (n, n * height), "{degree}^{height}");
            let wrapped = if profile == Profile::Sound { edges } else { n * height };
            assert_eq!(costs(&created("lkh-key")), (n, wrapped), "{degree}^{height}");
            let unwraps = |id| calls(&created(id), MemberId(0), Primitive::Unwrap);
            assert_eq!(["lkh-group", "lkh-key", "lkh-user"].map(unwraps), [height, height, 1]);
        }
    }
}

#[test]
fn lkh_additions_match_their_formulas_when_they_complete_the_tree() {
    for (degree, height) in complete_trees() {
        let n = degree.pow(height);
        for profile in Profile::ALL {
            let added = |id| {
                let mut rig = rig(id, profile, Some(degree));
                rig.create(n - 1).unwrap();
                rig.add(n - 1).unwrap()
            };
            let messages = match profile {
                Profile::Published => 2,
                Profile::Sound => 1 + (degree - 1) * height,
            };
            assert_eq!(costs(&added("lkh-group")), (2, 2 * height), "{degree}^{height}");
            assert_eq!(costs(&added("lkh-key")), (messages, 2 * height), "{degree}^{height}");
            let wrapped = height * (height + 1) / 2 + height;
            assert_eq!(costs(&added("lkh-user")), (messages, wrapped), "{degree}^{height}");
        }
    }
}

#[test]
fn lkh_removals_match_their_formulas_in_complete_trees() {
    for (degree, height) in complete_trees() {
        let n = degree.pow(height);
        let (by_key, by_user, siblings) = match degree {
            // The evicted member's sibling takes the place of their parent.
            2 => (2 * (height - 1), (height - 1) * (height + 2) / 2, height),
            _ => {
                let siblings = (degree - 1) * height;
                (degree * height - 1, siblings * (height + 1) / 2, siblings)
            }
        };
        for profile in Profile::ALL {
            let removed = |id| {
                let mut rig = rig(id, profile, Some(degree));
                rig.create(n).unwrap();
                rig.remove(n / 2).unwrap()
            };
            let messages = if profile == Profile::Sound { siblings } else { n - 1 };
            assert_eq!(costs(&removed("lkh-group")), (1, by_key), "{degree}^{height}");
            assert_eq!(costs(&removed("lkh-key")), (messages, by_key), "{degree}^{height}");
            assert_eq!(costs(&removed("lkh-user")), (messages, by_user), "{degree}^{height}");
        }
    }
}

/// A tree with holes costs what its own shape says: every key node on the path is wrapped once for
/// each of its occupied children, and no other key is touched.
#[test]
fn lkh_costs_follow_the_shape_of_incomplete_trees() {
    for degree in [2, 3, 4] {
        for n in [5, 7, 10, 11, 23, 37] {
            let mut rig = rig("lkh-group", Profile::Sound, Some(degree));
            rig.create(n).unwrap();
            let mut slots: Vec<u32> = (0..n).collect();
            for round in 0..n - 3 {
                let leaver = slots.remove((round as usize * 5) % slots.len());
                let expected = wraps_of_removal(&slots, leaver, degree);
                let (messages, wrapped) = costs(&rig.remove(leaver).unwrap());
                assert_eq!((messages, wrapped), (1, expected), "{n} members, {leaver} leaves");
            }
        }
    }
}

#[test]
fn lkh_members_hold_their_path() {
    for (degree, height) in complete_trees() {
        let n = degree.pow(height);
        let mut rig = rig("lkh-group", Profile::Sound, Some(degree));
        rig.create(n).unwrap();
        assert_eq!(permanent(&rig, MemberId(0)), 16 * (height + 2));
        assert_eq!(permanent(&rig, Controller), 16 * (n + (n - 1) / (degree - 1) + 1));
    }
}

fn rig(id: &str, profile: Profile, degree: Option<u32>) -> Rig {
    let parameters = degree.map(|degree| ("degree", degree)).into_iter().collect();
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

fn complete_trees() -> [(u32, u32); 7] {
    [(2, 2), (2, 4), (2, 6), (3, 2), (3, 4), (4, 2), (4, 3)]
}

/// Counted on sets of slots, without the library's tree.
fn wraps_of_removal(slots: &[u32], leaver: u32, degree: u32) -> u32 {
    let mut wraps = 0;
    let mut width = 1;
    let largest = slots.iter().copied().max().unwrap_or(0).max(leaver);
    while width <= largest {
        let node = leaver / (width * degree);
        let below = slots.iter().filter(|&&slot| slot / (width * degree) == node);
        let mut children: Vec<u32> = below.map(|slot| slot / width).collect();
        children.dedup();
        if children.len() >= 2 {
            wraps += children.len() as u32;
        }
        width *= degree;
    }
    // Nothing was shared but the old root: the new one is wrapped under its old key.
    if wraps == 0 { 1 } else { wraps }
}
