//! A batch of LKH, LKH+, OFCT and ELK costs what the shape of the tree says: one new key for each key
//! node above a slot that changed, wrapped once for each child with an old member below; a unicast
//! for each joining member; and at the members one unwrap for each new key.

use std::collections::{BTreeMap, BTreeSet};

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, Scheme, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, permanent};
use crate::schemes::slots::{Node, Slots, key_nodes, lowest_free, occupied_children};

const SCHEMES: [&str; 6] = ["lkh-user", "lkh-key", "lkh-group", "lkh-plus", "ofct", "elk"];

#[test]
fn batches_cost_what_the_shape_of_the_tree_says() {
    for id in SCHEMES {
        let scheme = scheme(id).unwrap();
        for profile in Profile::ALL {
            for parameters in parameter_sets(scheme) {
                for n in [2, 3, 4, 5, 8, 9, 16, 17, 37, 65] {
                    Group::create(scheme, profile, &parameters, n).change_at_random(20);
                }
            }
        }
    }
}

/// The slot that was freed is what a single eviction names besides.
#[test]
fn batches_of_one_cost_as_much_as_evictions() {
    for n in [4, 16, 64] {
        let rig = || {
            let mut rig = rig(scheme("lkh-group").unwrap(), Profile::Sound, &[]);
            rig.create(n).unwrap();
            rig
        };
        let removed = rig().remove(n / 2).unwrap();
        let batch = rig().batch(&[], &[n / 2]).unwrap();
        assert_eq!(wraps(&removed), wraps(&batch));
        assert_eq!(bytes(&removed), bytes(&batch) + usize::from(n / 2 > 23));
    }
}

/// Where members that leave shared nothing with the others but the old root, it is replaced.
#[test]
fn a_root_that_is_left_alone_is_replaced() {
    for id in SCHEMES {
        for profile in Profile::ALL {
            let mut group = Group::create(scheme(id).unwrap(), profile, &[], 6);
            let report = group.change(&[], &[4, 5]);
            assert_eq!((report.open_messages().count(), wraps(&report)), (1, 1));
        }
    }
}

/// Where nobody stays, there is nobody to broadcast to.
#[test]
fn all_members_can_be_exchanged() {
    for id in SCHEMES {
        for profile in Profile::ALL {
            let mut group = Group::create(scheme(id).unwrap(), profile, &[], 6);
            let report = group.change(&[20, 21, 22], &[0, 1, 2, 3, 4, 5]);
            assert!(report.open_messages().all(|message| message.to != Recipient::Group));
        }
    }
}

/// The page's drawing: of eight, the fourth and the sixth leave, and a ninth joins.
#[test]
fn the_drawn_batch_takes_seven_records() {
    let mut group = Group::create(scheme("lkh-group").unwrap(), Profile::Published, &[], 8);
    let report = group.change(&[8], &[3, 5]);
    assert_eq!(wraps(&report), 7 + 1);
}

/// Of 1,024 members 64 leave, as far from each other as possible.
#[test]
fn a_batch_wraps_less_than_single_changes() {
    let leaving: Vec<u32> = (0..64).map(|place| place * 16).collect();
    let created = || {
        let mut rig = rig(scheme("lkh-group").unwrap(), Profile::Sound, &[]);
        rig.create(1_024).unwrap();
        rig
    };
    let batch = created().batch(&[], &leaving).unwrap();
    let mut rig = created();
    let singly = leaving.iter().map(|&member| wraps(&rig.remove(member).unwrap()));
    assert_eq!((wraps(&batch), singly.sum::<u32>()), (532, 1_216));
}

/// A group beside its slots, which are counted without the library's tree.
struct Group {
    rig: Rig,
    degree: u32,
    derived: bool,
    slots: Slots,
    next_id: u32,
}

impl Group {
    fn create(
        scheme: &'static Scheme,
        profile: Profile,
        parameters: &[(&'static str, u32)],
        n: u32,
    ) -> Self {
        let mut configuration = scheme.configuration(profile);
        parameters.iter().for_each(|&(name, value)| configuration.set(name, value).unwrap());
        let value = |name| {
            let parameter = scheme.parameters.iter().find(|parameter| parameter.name == name);
            parameter.map(|parameter| configuration.value(parameter))
        };
        let mut rig = rig(scheme, profile, parameters);
        rig.create(n).unwrap();
        Self {
            rig,
            degree: value("degree").unwrap_or(2),
            derived: value("derived") == Some(1),
            slots: (0..n).map(|member| (member, member)).collect(),
            next_id: n,
        }
    }

    /// Batches of joins, of evictions, of both; of one, of some, of nearly all.
    fn change_at_random(&mut self, rounds: u32) {
        for round in 0..rounds {
            let join = [0, 1, 3, 9][(round * 5 % 4) as usize];
            let leave = [2, 0, 5, 1, 1000][(round * 3 % 5) as usize];
            let leave =
                leave.min((self.slots.len() + join).saturating_sub(2)).min(self.slots.len());
            if join + leave == 0 {
                continue;
            }
            let joining: Vec<u32> = (self.next_id..).take(join).collect();
            self.next_id += join as u32;
            let members = self.slots.keys().copied().cycle().skip(round as usize * 7);
            let leaving: Vec<u32> = members.take(leave).collect();
            self.change(&joining, &leaving);
        }
    }

    fn change(&mut self, joining: &[u32], leaving: &[u32]) -> OperationReport {
        let old: BTreeSet<u32> = self.slots.keys().copied().collect();
        let report = self.rig.batch(joining, leaving).unwrap();
        self.rig.agreed_key().unwrap();
        // Joining members were enrolled before anybody left.
        let mut changed = Vec::new();
        for &newcomer in joining {
            let slot = lowest_free(&self.slots);
            self.slots.insert(newcomer, slot);
            changed.push(slot);
        }
        for leaver in leaving {
            changed.push(self.slots.remove(leaver).unwrap());
        }
        let mut stayed = self.slots.clone();
        stayed.retain(|member, _| old.contains(member));
        self.check(&report, joining, &changed, &stayed);
        report
    }

    fn check(&self, report: &OperationReport, joining: &[u32], changed: &[u32], stayed: &Slots) {
        let mut renewed: BTreeMap<Node, u32> = BTreeMap::new();
        for &slot in changed {
            for node in self.key_nodes(slot) {
                renewed.insert(node, occupied_children(stayed, self.degree, node));
            }
        }
        let replaces_root = renewed.is_empty();
        let broadcast: u32 = if replaces_root { 1 } else { renewed.values().sum() };
        let unicast: u32 =
            joining.iter().map(|member| self.key_nodes(self.slots[member]).len() as u32).sum();
        assert_eq!(wraps(report), broadcast + unicast, "{changed:?} changed in {:?}", self.slots);

        let to: Vec<_> = report.open_messages().map(|message| message.to).collect();
        let mut expected: Vec<_> =
            joining.iter().map(|&member| Recipient::Member(MemberId(member))).collect();
        expected.extend((broadcast > 0).then_some(Recipient::Group));
        assert_eq!(to, expected);

        let drawn = if self.derived { 0 } else { renewed.len().max(1) as u32 };
        assert_eq!(calls(report, Controller, Primitive::Random), drawn);
        for (&member, &slot) in stayed {
            let path = self.key_nodes(slot);
            let on_path = path.iter().filter(|&node| renewed.contains_key(node)).count() as u32;
            let unwraps = if replaces_root { 1 } else { on_path };
            assert_eq!(calls(report, MemberId(member), Primitive::Unwrap), unwraps);
            // Whatever is gone is forgotten.
            let held = permanent(&self.rig, MemberId(member));
            assert_eq!(held, 16 * (path.len() as u32 + 2), "{member} of {:?}", self.slots);
        }
        for &newcomer in joining {
            assert_eq!(calls(report, MemberId(newcomer), Primitive::Unwrap), 1);
        }
    }

    fn key_nodes(&self, slot: u32) -> Vec<Node> {
        key_nodes(&self.slots, self.degree, slot)
    }
}

/// The profile's own, and each parameter's ends.
fn parameter_sets(scheme: &Scheme) -> Vec<Vec<(&'static str, u32)>> {
    let mut sets = vec![vec![]];
    for parameter in scheme.parameters {
        let (low, high) = parameter.range;
        sets.extend([low, low + 1, high].map(|value| vec![(parameter.name, value)]));
    }
    sets.dedup();
    sets
}

fn rig(scheme: &'static Scheme, profile: Profile, parameters: &[(&'static str, u32)]) -> Rig {
    let parameters = parameters.to_vec();
    Rig::new(scheme, Settings { profile, parameters, ..Settings::default() })
}

fn wraps(report: &OperationReport) -> u32 {
    report.meter(Controller).tally(Primitive::Wrap).amount as u32
}

fn bytes(report: &OperationReport) -> usize {
    report.open_messages().map(|message| message.body_bytes).sum()
}
