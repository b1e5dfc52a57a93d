//! OFT costs what the header of its file says, in complete trees and in trees with holes: a change
//! takes a wrap a level as published, and the repair one more for each level of each half beside the
//! evicted member's path.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{derivations, hashes, permanent, unwraps, wraps};

const SIZES: [u32; 15] = [2, 3, 4, 5, 7, 8, 9, 10, 11, 16, 17, 23, 33, 64, 65];

#[test]
fn complete_trees_cost_what_the_formulas_say() {
    for height in 1..=7 {
        let n = 1 << height;
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            assert_eq!(permanent(&rig, Controller), 16 * 3 * n);
            assert_eq!(permanent(&rig, MemberId(1)), 16 * (height + 3));
            if height == 1 {
                continue;
            }
            let removed = rig.remove(n / 2).unwrap();
            let expected = match profile {
                Profile::Published => height,
                Profile::Sound => (height * height + 5 * height - 4) / 2,
            };
            assert_eq!(wraps(&removed, Controller), (expected, expected), "2^{height}");
            // The joining member completes the tree again.
            let added = rig.add(n).unwrap();
            assert_eq!(wraps(&added, Controller), (height + 2, 2 * height + 2), "2^{height}");
            assert_eq!(added.open_messages().count(), 2);
        }
    }
}

#[test]
fn creations_cost_what_the_formulas_say() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            let report = rig.create(n).unwrap();
            assert_eq!(report.open_messages().count(), 1);
            assert_eq!(wraps(&report, Controller), (3 * n - 2, 3 * n - 2));
            assert_eq!(hashes(&report, Controller), 2 * n - 2);
            let confirmed = u32::from(profile == Profile::Sound);
            assert_eq!(derivations(&report, Controller), 2 * n - 1 + confirmed);
            assert_eq!(permanent(&rig, Controller), 16 * 3 * n);
            let slots: Vec<u32> = (0..n).collect();
            for &member in &slots {
                let height = Halves::beside(member, &slots).count();
                assert_eq!(unwraps(&report, MemberId(member)), (height + 1, height + 1));
                let derived = height + 1 + confirmed;
                assert_eq!(hashes_and_derivations(&report, member), (height, derived));
                assert_eq!(permanent(&rig, MemberId(member)), 16 * (height + 3));
                assert!(height <= n.next_power_of_two().ilog2());
            }
        }
    }
}

#[test]
fn additions_cost_what_the_formulas_say() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            let mut members: Vec<(u32, u32)> = (0..n).map(|slot| (slot, slot)).collect();
            // Some joining members fill holes, the others come at the end.
            let leavers: Vec<u32> = (0..n - 2).step_by(3).map(|place| place * 5 % n).collect();
            for &leaver in &leavers {
                if members.len() > 2 && members.iter().any(|&(_, member)| member == leaver) {
                    rig.remove(leaver).unwrap();
                    members.retain(|&(_, member)| member != leaver);
                }
            }
            for newcomer in n..2 * n + 3 {
                let taken = |slot: &u32| members.iter().any(|(other, _)| other == slot);
                let slot = (0..).find(|slot| !taken(slot)).unwrap();
                let report = rig.add(newcomer).unwrap();
                let slots: Vec<u32> = members.iter().map(|&(slot, _)| slot).collect();
                let (halves, confirmed) = (Halves::beside(slot, &slots), profile == Profile::Sound);
                check_addition(&report, (slot, newcomer), &members, &halves, confirmed);
                members.push((slot, newcomer));
                assert_eq!(permanent(&rig, Controller), 16 * 3 * members.len() as u32);
            }
        }
    }
}

/// Members with their slots; those of the joining member.
fn check_addition(
    report: &OperationReport,
    (slot, newcomer): (u32, u32),
    members: &[(u32, u32)],
    halves: &Halves,
    is_confirmed: bool,
) {
    let confirmed = u32::from(is_confirmed);
    let context = format!("{newcomer} comes to slot {slot} beside {members:?}");
    let (height, first) = (halves.count(), halves.depths[0]);
    let [welcome, update] = &report.messages[report.messages.len() - 2..] else {
        panic!("an add takes two messages");
    };
    assert_eq!(report.open_messages().count(), 2, "{context}");
    assert_eq!(welcome.to, Recipient::Member(MemberId(newcomer)));
    assert_eq!(update.to, Recipient::Group);
    let wrapped = (height + first + 2, 2 * height + first + 2);
    assert_eq!(wraps(report, Controller), wrapped, "{context}");
    assert_eq!(hashes(report, Controller), 3 * height + 2 * first, "{context}");
    assert_eq!(derivations(report, Controller), height + first + 1 + confirmed, "{context}");
    assert_eq!(unwraps(report, MemberId(newcomer)), (1, height + 1), "{context}");
    assert_eq!(hashes_and_derivations(report, newcomer), (height, 1), "{context}");
    let mut everybody: Vec<u32> = members.iter().map(|&(slot, _)| slot).collect();
    everybody.push(slot);
    for &(other, member) in members {
        let opened = if halves.place(other) == 0 { 2 } else { 1 };
        assert_eq!(unwraps(report, MemberId(member)), (opened, opened), "{context}");
        let own = u32::from(halves.is_first(other, 1));
        let derived = opened - own + 1 + confirmed;
        let expected = (Halves::beside(other, &everybody).count(), derived);
        assert_eq!(hashes_and_derivations(report, member), expected, "{context}");
    }
}

#[test]
fn removals_cost_what_the_formulas_say() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            let mut slots: Vec<u32> = (0..n).collect();
            while slots.len() > 2 {
                let leaver = slots.remove((slots.len() * 5 + 1) % slots.len());
                let report = rig.remove(leaver).unwrap();
                check_removal(&report, profile, leaver, &slots);
                assert_eq!(permanent(&rig, Controller), 16 * 3 * slots.len() as u32);
                for &slot in &slots {
                    let height = Halves::beside(slot, &slots).count();
                    assert_eq!(permanent(&rig, MemberId(slot)), 16 * (height + 3));
                }
            }
        }
    }
}

fn check_removal(report: &OperationReport, profile: Profile, leaver: u32, slots: &[u32]) {
    let context = format!("{leaver} leaves {slots:?}, {profile:?}");
    let halves = Halves::beside(leaver, slots);
    let height = halves.count();
    let first = halves.depths[0];
    let all: u32 = halves.depths.iter().sum();
    let (wrapped, hashed, derived) = match profile {
        Profile::Published => (height + first, 2 * (height + first - 1), height + first),
        Profile::Sound => (3 * height + all - 2, 2 * (height + all - 1), 2 * height + all),
    };
    assert_eq!(report.open_messages().count(), 1, "{context}");
    assert_eq!(report.messages[0].to, Recipient::Group, "{context}");
    assert_eq!(wraps(report, Controller), (wrapped, wrapped), "{context}");
    assert_eq!(hashes(report, Controller), hashed, "{context}");
    assert_eq!(derivations(report, Controller), derived, "{context}");
    for &slot in slots {
        let place = halves.place(slot);
        let opened = match profile {
            Profile::Published => 1,
            Profile::Sound if place == 0 => height,
            Profile::Sound => height - (place + 1) + 2,
        };
        assert_eq!(unwraps(report, MemberId(slot)), (opened, opened), "{context}");
        let renewed = if profile == Profile::Sound { halves.slots.len() } else { 1 };
        let own = u32::from(halves.is_first(slot, renewed));
        let confirmed = u32::from(profile == Profile::Sound);
        let derived = opened - own + 1 + confirmed;
        let expected = (Halves::beside(slot, slots).count(), derived);
        assert_eq!(hashes_and_derivations(report, slot), expected, "{context}");
    }
}

#[test]
fn whoever_slept_gets_everything_in_one_message() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            rig.create(n).unwrap();
            rig.sleep(0);
            rig.add(n).unwrap();
            rig.add(n + 1).unwrap();
            rig.remove(n - 1).unwrap();
            rig.add(n + 2).unwrap();
            let report = rig.catch_up(0).unwrap();
            // The last joining member has taken the free slot.
            let slots: Vec<u32> = (0..n + 2).collect();
            let height = Halves::beside(0, &slots).count();
            assert_eq!(report.open_messages().count(), 2);
            assert_eq!(wraps(&report, Controller), (1, height + 1));
            assert_eq!(hashes(&report, Controller), height);
            assert_eq!(unwraps(&report, MemberId(0)), (1, height + 1));
            assert_eq!(hashes_and_derivations(&report, 0), (height, 1));
            rig.agreed_key().unwrap();
        }
    }
}

/// What hangs off a slot's path, counted on sets of slots without the library's tree: two slots meet
/// on the level of the highest bit in which they differ, and where some meet is a key node.
struct Halves {
    slots: Vec<Vec<u32>>,
    /// Key nodes above the lowest slot of each, within it.
    depths: Vec<u32>,
}

impl Halves {
    fn beside(slot: u32, others: &[u32]) -> Self {
        let meeting = |other: &u32| u32::BITS - (other ^ slot).leading_zeros();
        let mut slots = Vec::new();
        let mut depths = Vec::new();
        for level in 1..=u32::BITS {
            let mut half: Vec<u32> = others.to_vec();
            half.retain(|other| meeting(other) == level);
            half.sort_unstable();
            if let [renewed, rest @ ..] = &half[..] {
                depths.push(Self::beside(*renewed, rest).count());
                slots.push(half);
            }
        }
        Self { slots, depths }
    }

    /// The number of key nodes above the slot.
    fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    fn place(&self, other: u32) -> u32 {
        self.slots.iter().position(|half| half.contains(&other)).unwrap() as u32
    }

    fn is_first(&self, other: u32, halves: usize) -> bool {
        self.slots.iter().take(halves).any(|half| half[0] == other)
    }
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("oft").unwrap(), Settings { profile, ..Settings::default() })
}

fn hashes_and_derivations(report: &OperationReport, member: u32) -> (u32, u32) {
    (hashes(report, MemberId(member)), derivations(report, MemberId(member)))
}
