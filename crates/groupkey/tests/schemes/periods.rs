//! A new period costs what the headers of centralized schemes say, in groups with holes and without.
//! Those of GKMP and SGCSH, whose papers have periods, are with their other costs.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, costs, derivations, hashes, unwraps};
use crate::schemes::slots::{Slots, key_nodes, lowest_free, occupied_children};

const SIZES: [u32; 8] = [2, 3, 4, 5, 9, 16, 17, 33];

#[test]
fn stars_send_every_member_its_own() {
    for_each_group("skdc", &SIZES, |group| {
        let n = group.members();
        assert_eq!(costs(&group.report), (n, n));
        group.each_member(|report, member| assert_eq!(unwraps(report, member), (1, 1)));
    });
    for (id, group_keys) in [("sbsa-r", 0), ("xfks-r", 1)] {
        for_each_group(id, &SIZES, |group| {
            let (n, sound) = (group.members(), group.is_sound());
            let (derived, hashed) = if sound { (group_keys, 2 * n) } else { (0, n + 1) };
            assert_eq!(group.report.open_messages().count() as u32, n);
            assert_eq!(derivations(&group.report, Controller), n + derived);
            assert_eq!(hashes(&group.report, Controller), hashed);
            group.each_member(|report, member| {
                assert_eq!((hashes(report, member), derivations(report, member)), (2, derived));
            });
        });
    }
}

#[test]
fn key_trees_wrap_the_new_root_for_each_child() {
    let schemes = [("lkh-user", 4), ("lkh-key", 4), ("lkh-group", 4), ("lkh-plus", 4), ("ofct", 2)];
    for (id, degree) in schemes {
        for_each_group(id, &SIZES, |group| {
            let children = group.children_of_the_root(if group.is_sound() { degree } else { 2 });
            assert_eq!(costs(&group.report), (1, children));
            let group_key = u32::from(group.is_sound());
            assert_eq!(derivations(&group.report, Controller), group_key);
            group.each_member(|report, member| {
                assert_eq!(
                    (unwraps(report, member), derivations(report, member)),
                    (ONE, group_key)
                );
            });
        });
    }
}

#[test]
fn s2rp_gives_the_root_the_next_key_of_its_chain() {
    for_each_group("s2rp", &SIZES, |group| {
        let children = group.children_of_the_root(if group.is_sound() { 4 } else { 2 });
        assert_eq!(costs(&group.report), (1, children));
        group.each_member(|report, member| {
            assert_eq!((unwraps(report, member), hashes(report, member)), (ONE, 1));
        });
    });
}

#[test]
fn oft_renews_the_leaf_of_its_first_member() {
    for_each_group("oft", &SIZES, |group| {
        let first = *group.slots.values().min().expect("a group has members");
        let h = key_nodes(&group.slots, 2, first).len() as u32;
        assert_eq!(costs(&group.report), (1, h + 1));
        assert_eq!(hashes(&group.report, Controller), 2 * h);
        let confirmed = u32::from(group.is_sound());
        assert_eq!(derivations(&group.report, Controller), h + 1 + confirmed);
        group.each_member(|report, member| assert_eq!(unwraps(report, member), ONE));
    });
}

#[test]
fn cfkm_wraps_the_traffic_key_for_one_bit() {
    for_each_group("cfkm", &SIZES, |group| {
        assert_eq!(costs(&group.report), (1, 2));
        let group_key = u32::from(group.is_sound());
        assert_eq!(derivations(&group.report, Controller), group_key);
        group.each_member(|report, member| {
            assert_eq!((unwraps(report, member), derivations(report, member)), (ONE, group_key));
        });
    });
}

#[test]
fn boneh_makes_a_header() {
    for (id, fat) in [("boneh-fat", true), ("boneh-thin", false)] {
        for_each_group(id, &[2, 3, 9, 17], |group| {
            let n = group.members();
            assert_eq!(group.report.open_messages().count() as u32, if fat { 1 } else { n });
            let of_controller = |primitive| calls(&group.report, Controller, primitive);
            assert_eq!(of_controller(Primitive::ExponentiateG2), 2);
            assert_eq!(of_controller(Primitive::MillerLoop), 1);
            assert_eq!(of_controller(Primitive::FinalExponentiation), 1);
            group.each_member(|report, member| {
                let of_member = |primitive| report.meter(member.into()).tally(primitive).amount;
                assert_eq!(of_member(Primitive::MillerLoop), 2);
                assert_eq!(of_member(Primitive::CheckG2), 2);
                if group.is_sound() {
                    assert_eq!(of_member(Primitive::CheckG1), u64::from(!fat));
                    assert_eq!(of_member(Primitive::MultiplyG1), u64::from(!fat));
                }
            });
        });
    }
}

#[test]
fn nishat_sends_one_broadcast() {
    for_each_group("nishat", &[2, 3, 9], |group| {
        assert_eq!(group.report.open_messages().count(), 1);
        assert_eq!(group.report.open_messages().next().map(|sent| sent.to), Some(Recipient::Group));
        let derived = if group.is_sound() { 4 + group.members() } else { 1 };
        assert_eq!(derivations(&group.report, Controller), derived);
        assert_eq!(calls(&group.report, Controller, Primitive::ExponentiateG2), 4);
    });
}

/// Calls, and keys.
const ONE: (u32, u32) = (1, 1);

/// A group in which a period has just begun.
struct Group {
    profile: Profile,
    slots: Slots,
    report: OperationReport,
}

/// Begins periods: in a new group, after a member left, and after others joined.
fn for_each_group(id: &str, sizes: &[u32], check: impl Fn(&Group)) {
    for (&n, profile) in sizes.iter().flat_map(|n| Profile::ALL.map(|profile| (n, profile))) {
        let mut rig = Rig::new(scheme(id).unwrap(), Settings { profile, ..Settings::default() });
        rig.create(n).unwrap();
        let mut slots: Slots = (0..n).map(|member| (member, member)).collect();
        let period = |rig: &mut Rig, slots: &Slots| {
            let before = rig.agreed_key().unwrap().clone();
            let report = rig.rekey().unwrap();
            assert_ne!(&before, rig.agreed_key().unwrap(), "{id}");
            assert!(!rig.outsider_knows_key(), "{id}");
            check(&Group { profile, slots: slots.clone(), report });
        };
        period(&mut rig, &slots);
        if n > 2 {
            rig.remove(n / 3).unwrap();
            slots.remove(&(n / 3));
            period(&mut rig, &slots);
        }
        for newcomer in n..n + 3 {
            rig.add(newcomer).unwrap();
            slots.insert(newcomer, lowest_free(&slots));
        }
        period(&mut rig, &slots);
        period(&mut rig, &slots);
    }
}

impl Group {
    fn is_sound(&self) -> bool {
        self.profile == Profile::Sound
    }

    fn members(&self) -> u32 {
        self.slots.len() as u32
    }

    fn children_of_the_root(&self, degree: u32) -> u32 {
        let first = self.slots.values().next().expect("a group has members");
        let root = *key_nodes(&self.slots, degree, *first).last().expect("two members");
        occupied_children(&self.slots, degree, root)
    }

    fn each_member(&self, check: impl Fn(&OperationReport, MemberId)) {
        self.slots.keys().for_each(|&member| check(&self.report, MemberId(member)));
    }
}
