//! OFCT costs what the header of its file says, in complete trees and in trees with holes: a removal
//! takes one wrap for each key node above the evicted member, and one unwrap at every member.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::rig::{Rig, Settings};
use groupkey::{MemberId, Recipient};

use crate::counts::{calls, costs, derivations, permanent};

#[test]
fn complete_trees_cost_what_the_formulas_say() {
    for height in 1..=7 {
        let n = 1 << height;
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            let created = rig.create(n).unwrap();
            assert_eq!(costs(&created), (1, 2 * n - 2));
            assert_eq!(calls(&created, MemberId(0), Primitive::Unwrap), height);
            assert_eq!(permanent(&rig, Controller), 16 * 2 * n);
            assert_eq!(permanent(&rig, MemberId(1)), 16 * (height + 2));
            if height > 1 {
                assert_eq!(costs(&rig.remove(n / 2).unwrap()), (1, height), "2^{height}");
                assert_eq!(costs(&rig.add(n).unwrap()), (2, 2 * height), "2^{height}");
            }
        }
    }
}

#[test]
fn removals_cost_what_the_formulas_say_in_trees_with_holes() {
    for n in [3, 5, 7, 8, 10, 11, 16, 17, 23, 37, 64, 65] {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            let mut slots: Vec<u32> = (0..n).collect();
            while slots.len() > 2 {
                let leaver = slots.remove((slots.len() * 5 + 1) % slots.len());
                let key_nodes = key_nodes_above(&slots, leaver);
                let report = rig.remove(leaver).unwrap();
                let context = format!("{leaver} leaves {slots:?} of {n}");
                assert_eq!(costs(&report), (1, key_nodes), "{context}");
                assert_eq!(report.messages[0].to, Recipient::Group);
                let group_key = u32::from(profile == Profile::Sound);
                let derived = (2 * key_nodes).saturating_sub(3).max(1) + group_key;
                assert_eq!(derivations(&report, Controller), derived, "{context}");
                let mut most = 0;
                for &member in &slots {
                    let party = MemberId(member);
                    assert_eq!(calls(&report, party, Primitive::Unwrap), 1, "{context}");
                    most = most.max(derivations(&report, party));
                }
                assert_eq!(most, derived, "{context}");
            }
        }
    }
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("ofct").unwrap(), Settings { profile, ..Settings::default() })
}

/// Counted on sets of slots, without the library's tree: the levels on which the leaver's own half
/// and the other both were occupied.
fn key_nodes_above(others: &[u32], leaver: u32) -> u32 {
    let level_of_meeting = |&slot: &u32| u32::BITS - (slot ^ leaver).leading_zeros();
    let mut levels: Vec<u32> = others.iter().map(level_of_meeting).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.len() as u32
}
