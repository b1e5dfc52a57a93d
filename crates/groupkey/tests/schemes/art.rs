//! ART costs what its header says, and leaves of which an evicted member knows the secret are made
//! anew.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use groupkey::author::{Header, Reader, Writer};
use groupkey::catalogue::{Profile, scheme};
use groupkey::error::{Error, Misbehaviour};
use groupkey::{MemberId, Operation, PartyId};
use groupkey_testkit::rig::{Fate, OperationReport, Rig, SUITES, Settings};

use crate::distributed::{
    a_missed_epoch_is_noticed, an_answer_is_taken_once, assert_no_more_than, everybody_is_replaced,
    messages,
};

const SIZES: [u32; 11] = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 30];

const UPDATE: u8 = 2;
const TREE: u8 = 3;

/// The length of an element in the suite `standard`.
const ELEMENT: usize = 32;

#[test]
fn creation_costs_what_the_header_says() {
    for n in SIZES {
        for profile in Profile::ALL {
            let report = rig(profile).create(n).unwrap();
            let model = Model::created(n);
            for member in 0..n {
                let expected = match member {
                    0 => 6 * u64::from(n) - 5,
                    _ => 4 + model.path(member as usize).len() as u64,
                };
                assert_eq!(cost(&report, member), expected, "{member} of {n}");
            }
            assert_eq!(messages(&report), (u64::from(n) - 1, 1), "{n}");
        }
    }
}

/// Every kind of change, one after the other, from groups of every size.
#[test]
fn changes_cost_what_the_header_says() {
    for profile in Profile::ALL {
        for n in SIZES {
            let mut group = Counted::created(profile, n);
            group.rekey();
            group.change(Operation::Add, &[100], &[]);
            group.change(Operation::Batch, &[101, 102, 103], &[0]);
            group.change(Operation::Remove, &[], &[101]);
            (0..5).for_each(|_| group.rekey());
            group.change(Operation::Add, &[104], &[]);
            group.change(Operation::Batch, &[], &[n - 1, 102]);
            for member in 105..110 {
                group.change(Operation::Add, &[member], &[]);
            }
            group.change(Operation::Batch, &[110, 111], &[103, 105, 106]);
            while group.model.members().len() > 2 {
                let leaver = group.model.members()[group.model.members().len() / 2];
                group.change(Operation::Remove, &[], &[leaver]);
            }
        }
    }
}

/// The creator knows the secrets of all leaves that it set up, until their members renew them.
#[test]
fn the_eviction_of_a_creator_sets_up_the_leaves_of_all_who_did_not_act() {
    for n in [3, 4, 8, 13] {
        for rekeys in [0, 1, n] {
            let mut group = Counted::created(Profile::Sound, n);
            (0..rekeys).for_each(|_| group.rekey());
            let acted = group.model.leaves.iter().filter(|leaf| leaf.known_by.is_none()).count();
            let report = group.change(Operation::Remove, &[], &[0]);
            // The sponsor's leaf and that of the creator are not set up.
            let sponsor_acted = group.sponsor_acted;
            let creator_acted = 1;
            let set_up = n as usize - acted + creator_acted - 1 - usize::from(!sponsor_acted);
            let again = group.model.members().into_iter().filter(|&member| {
                let on_path = group.model.path(group.model.place(member)).len() as u64;
                cost(&report, member) == on_path + 3 && group.last_sponsor != member
            });
            assert!(again.count() >= set_up, "{n} after {rekeys}");
        }
    }
}

/// The creator is told nothing more once it is evicted, and neither is who evicted it.
#[test]
fn whoever_made_others_leaves_is_evicted() {
    for n in [4, 7, 8] {
        let mut rig = rig(Profile::Sound);
        rig.create(n).unwrap();
        for round in 0..n - 2 {
            rig.remove(round).unwrap();
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

/// The secrets of its path, its prekey, three keys, and the public keys of all nodes.
#[test]
fn a_member_holds_what_the_header_says() {
    let mut rig = rig(Profile::Sound);
    rig.create(8).unwrap();
    let held = |rig: &Rig| rig.party(MemberId(3).into()).footprint().permanent;
    // Seven leaves are set up: of each the prekey and the setup key are kept.
    assert_eq!(held(&rig), 3 * 16 + 3 * 32 + 32 + 14 * 32 + 7 * 64);
    (0..8).for_each(|_| drop(rig.rekey().unwrap()));
    assert_eq!(held(&rig), 3 * 16 + 3 * 32 + 14 * 32);
    let tree = rig.key_tree_of(MemberId(3).into());
    assert_eq!(tree.len(), 15);
    assert!(tree.iter().all(|node| node.fingerprint.is_some()));
}

#[test]
fn who_missed_changes_asks_once() {
    for (seed, suite) in (0..).zip(SUITES) {
        for sleeper in [0, 1, 3, 4] {
            let settings = Settings { seed, suite, ..Settings::default() };
            let mut rig = Rig::new(scheme("art").unwrap(), settings);
            rig.create(5).unwrap();
            rig.sleep(sleeper);
            rig.add(9).unwrap();
            let report = rig.catch_up(sleeper).unwrap();
            assert_eq!(messages(&report), (1, 1));
            rig.agreed_key().unwrap();
            let mut model = Model::created(5);
            model.change(Operation::Add, &[9], &[], Profile::Sound, 2);
            let path = model.path(sleeper as usize).len() as u64;
            assert_eq!(cost(&report, sleeper), path + 1);
            let answers: Vec<_> = [0, 1, 2, 3, 4, 9]
                .into_iter()
                .filter(|&other| other != sleeper && cost(&report, other) > 0)
                .map(|other| cost(&report, other))
                .collect();
            assert_eq!(answers, [1]);
            (0..6).for_each(|_| drop(rig.rekey().unwrap()));
            rig.agreed_key().unwrap();
        }
    }
}

/// Whoever set up a sleeping member's leaf was evicted meanwhile: another did it again.
#[test]
fn who_slept_while_its_leaf_was_set_up_again_comes_back() {
    let mut rig = rig(Profile::Sound);
    rig.create(5).unwrap();
    rig.sleep(1);
    rig.remove(0).unwrap();
    let report = rig.catch_up(1).unwrap();
    rig.agreed_key().unwrap();
    let mut model = Model::created(5);
    model.change(Operation::Remove, &[], &[0], Profile::Sound, 3);
    assert_eq!(cost(&report, 1), model.path(1).len() as u64 + 3 + 1);
}

#[test]
fn groups_change_until_nobody_is_left_who_was_there_first() {
    for profile in Profile::ALL {
        everybody_is_replaced("art", profile, [30, 10, 20, 100, 102, 105, 101]);
    }
    a_missed_epoch_is_noticed("art", 7, 6, [0, 1]);
    an_answer_is_taken_once("art", 7, 6, 0);
    assert_no_more_than("art", 65_536);
}

/// A sponsor with a valid signature whose update is not what all others get, or who is no member.
#[test]
fn a_member_takes_no_update_but_the_sponsors() {
    let victim = PartyId::from(MemberId(5));
    let (mut rig, updates) = intercepted(victim);
    rig.rekey().unwrap();
    let (header, body) = updates.borrow()[0].clone();
    let parts = items(&body);
    let [setup, publics, mac, confirmation] = &parts[..] else { panic!("four parts") };
    assert_eq!((setup.len(), publics.len()), (0, 3 * ELEMENT));
    let mut longer = publics.clone();
    longer.push(0);
    for (what, publics, mac) in [
        ("another key", flipped(publics, 2 * ELEMENT + 7), mac.clone()),
        ("another MAC", publics.clone(), flipped(mac, 3)),
        ("a byte more", longer, mac.clone()),
    ] {
        let forged = update(&mut rig, &header, [setup, &publics, &mac, confirmation]);
        assert_eq!(rig.hand(victim, &forged), Err(Misbehaviour::Forged.into()), "{what}");
    }
    let wrong = flipped(confirmation, 1);
    let forged = update(&mut rig, &header, [setup, publics, mac, &wrong]);
    assert_eq!(rig.hand(victim, &forged), Err(Misbehaviour::Forged.into()));
    let other = Header { sender: MemberId(3).into(), ..header };
    let other = update(&mut rig, &other, [setup, publics, mac, confirmation]);
    assert_eq!(rig.hand(victim, &other), Err(Misbehaviour::UnexpectedSender.into()));
    let genuine = update(&mut rig, &header, [setup, publics, mac, confirmation]);
    rig.hand(victim, &genuine).unwrap();
    rig.agreed_key().unwrap();
    let again = rig.hand(victim, &genuine);
    assert!(matches!(again, Err(Error::Misbehaved(Misbehaviour::StaleEpoch { .. }))), "{again:?}");
}

/// A sponsor shows a joining member another tree than the group has.
#[test]
fn a_newcomer_takes_no_tree_but_that_of_the_update() {
    let newcomer = PartyId::from(MemberId(8));
    for place in [4, 5 + 4, 5 + 4 + 40, 5 * 40] {
        let mut rig = rig(Profile::Sound);
        rig.create(8).unwrap();
        (0..8).for_each(|_| drop(rig.rekey().unwrap()));
        let mut forger = rig.forger();
        rig.intercept(move |transit| {
            if transit.to != newcomer || transit.header.kind != TREE {
                return Fate::Arrives;
            }
            let mut parts = items(transit.body);
            parts[0][place] ^= 1;
            Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &joined(&parts)))
        });
        let report = rig.add(8).unwrap();
        assert!(report.refusals.iter().any(|(party, _)| *party == newcomer), "{place}");
        assert_eq!(rig.key_of(newcomer), None, "{place}");
    }
}

/// The members of two parts set up leaves for the smaller part.
#[test]
fn parts_come_together() {
    for profile in Profile::ALL {
        let mut rig = rig(profile);
        rig.create(9).unwrap();
        rig.partition(&[2, 5, 8, 0]).unwrap();
        rig.agreed_key().unwrap();
        rig.merge().unwrap();
        rig.agreed_key().unwrap();
        (0..9).for_each(|_| drop(rig.rekey().unwrap()));
        rig.agreed_key().unwrap();
    }
}

/// The tree as the header describes it, without keys.
#[derive(Clone)]
struct Model {
    leaves: Vec<LeafModel>,
}

#[derive(Clone, Copy)]
struct LeafModel {
    member: Option<u32>,
    known_by: Option<u32>,
}

/// A node: how many levels it is above the leaves, and which it is of these from the left.
type Node = (u32, usize);

/// What a change makes anew.
struct Made {
    /// The places of leaves that are set up.
    set_up: BTreeSet<usize>,
    leaves: usize,
    nodes: BTreeSet<Node>,
}

impl Model {
    fn created(n: u32) -> Self {
        let leaf = |member| LeafModel { member: Some(member), known_by: (member > 0).then_some(0) };
        Self { leaves: (0..n).map(leaf).collect() }
    }

    fn members(&self) -> Vec<u32> {
        self.leaves.iter().filter_map(|leaf| leaf.member).collect()
    }

    fn place(&self, member: u32) -> usize {
        self.leaves.iter().position(|leaf| leaf.member == Some(member)).unwrap()
    }

    fn height(&self) -> u32 {
        self.leaves.len().next_power_of_two().trailing_zeros()
    }

    /// The nodes above a leaf that have leaves on both sides, the root included.
    fn path(&self, place: usize) -> BTreeSet<Node> {
        let above = (1..=self.height()).map(|level| (level, place >> level));
        above.filter(|&(level, at)| ((2 * at + 1) << (level - 1)) < self.leaves.len()).collect()
    }

    fn change(
        &mut self,
        operation: Operation,
        joining: &[u32],
        leaving: &[u32],
        profile: Profile,
        sponsor: u32,
    ) -> Made {
        let sound = profile == Profile::Sound;
        let before = self.height();
        let mut made = BTreeMap::new();
        for (place, leaf) in self.leaves.iter_mut().enumerate() {
            let is_known = leaf.known_by.is_some_and(|by| leaving.contains(&by));
            if leaf.member.is_some_and(|member| leaving.contains(&member)) {
                *leaf = LeafModel { member: None, known_by: Some(sponsor) };
                made.insert(place, false);
            } else if leaf.member == Some(sponsor) {
                if operation == Operation::Rekey || sound && leaf.known_by.is_some() {
                    leaf.known_by = None;
                    made.insert(place, false);
                }
            } else if sound && is_known {
                leaf.known_by = Some(sponsor);
                made.insert(place, leaf.member.is_some());
            }
        }
        for &member in joining {
            let vacant = self.leaves.iter().position(|leaf| leaf.member.is_none());
            let place = vacant.unwrap_or(self.leaves.len());
            let leaf = LeafModel { member: Some(member), known_by: Some(sponsor) };
            match vacant {
                Some(place) => self.leaves[place] = leaf,
                None => self.leaves.push(leaf),
            }
            made.insert(place, true);
        }
        let mut nodes: BTreeSet<_> = made.keys().flat_map(|&place| self.path(place)).collect();
        if self.height() > before {
            // The old root needs a public key now, and so do new nodes above it.
            nodes.extend(self.path(0).into_iter().filter(|&(level, _)| level >= before));
        }
        let set_up = made.iter().filter(|(_, is_set_up)| **is_set_up).map(|(&place, _)| place);
        Made { set_up: set_up.collect(), leaves: made.len(), nodes }
    }
}

/// A group beside the model.
struct Counted {
    rig: Rig,
    model: Model,
    profile: Profile,
    epoch: u64,
    last_sponsor: u32,
    /// Whether nobody else knew the last sponsor's leaf.
    sponsor_acted: bool,
}

impl Counted {
    fn created(profile: Profile, n: u32) -> Self {
        let mut rig = rig(profile);
        rig.create(n).unwrap();
        let model = Model::created(n);
        Self { rig, model, profile, epoch: 1, last_sponsor: 0, sponsor_acted: true }
    }

    fn rekey(&mut self) {
        self.change(Operation::Rekey, &[], &[]);
    }

    /// Makes a change, and holds its costs against the header.
    fn change(
        &mut self,
        operation: Operation,
        joining: &[u32],
        leaving: &[u32],
    ) -> OperationReport {
        self.epoch += 1;
        let mut stay = self.model.members();
        stay.retain(|member| !leaving.contains(member));
        let sponsor = stay[(self.epoch % stay.len() as u64) as usize];
        self.sponsor_acted = self.model.leaves[self.model.place(sponsor)].known_by.is_none();
        let made = self.model.change(operation, joining, leaving, self.profile, sponsor);
        let report = match operation {
            Operation::Add => self.rig.add(joining[0]),
            Operation::Remove => self.rig.remove(leaving[0]),
            Operation::Rekey => self.rig.rekey(),
            _ => self.rig.batch(joining, leaving),
        };
        let report = report.unwrap();
        self.rig.agreed_key().unwrap();
        let context = format!("{operation:?} {joining:?} {leaving:?}, epoch {}", self.epoch);
        let (set_up, nodes) = (made.set_up.len() as u64, made.nodes.len() as u64);
        for member in self.model.members() {
            let place = self.model.place(member);
            let path = self.model.path(place);
            let expected = if member == sponsor {
                let setup_key = u64::from(set_up > 0);
                let own = 3 * set_up + setup_key + made.leaves as u64 + 2 * nodes - 1;
                own + joining.len() as u64
            } else if joining.contains(&member) {
                5 + path.len() as u64
            } else {
                let again = 3 * u64::from(made.set_up.contains(&place));
                again + path.intersection(&made.nodes).count() as u64
            };
            assert_eq!(cost(&report, member), expected, "{member} in {context}");
        }
        let joined = joining.len() as u64;
        assert_eq!(messages(&report), (joined, joined + 1), "{context}");
        self.last_sponsor = sponsor;
        report
    }
}

/// A message that was kept: its header and its body.
type Kept = (Header, Vec<u8>);

/// A group of eight in which a party hears no update: they are kept.
fn intercepted(victim: PartyId) -> (Rig, Rc<RefCell<Vec<Kept>>>) {
    let mut rig = rig(Profile::Sound);
    rig.create(8).unwrap();
    let updates = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&updates);
    rig.intercept(move |transit| {
        if transit.to == victim && transit.header.kind == UPDATE {
            kept.borrow_mut().push((transit.header, transit.body.to_vec()));
            return Fate::Lost;
        }
        Fate::Arrives
    });
    (rig, updates)
}

/// An update with the signature of its sender.
fn update(rig: &mut Rig, header: &Header, parts: [&Vec<u8>; 4]) -> Vec<u8> {
    let body = joined(&parts.map(Clone::clone));
    rig.forger().forge(header.sender, header, &body)
}

fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    parts.iter().for_each(|part| Writer::new(&mut body).bytes(part));
    body
}

/// The byte strings of a body.
fn items(body: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(body);
    std::iter::from_fn(|| reader.bytes().ok().map(<[u8]>::to_vec)).collect()
}

fn flipped(bytes: &[u8], place: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[place] ^= 1;
    bytes
}

fn cost(report: &OperationReport, member: u32) -> u64 {
    report.meter(MemberId(member).into()).exponentiations()
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("art").unwrap(), Settings { profile, ..Settings::default() })
}
