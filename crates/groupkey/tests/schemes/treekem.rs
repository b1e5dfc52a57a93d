//! TreeKEM costs what its header says, and what a dishonest sponsor sends is refused.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::author::{Header, Reader, Writer};
use groupkey::catalogue::scheme;
use groupkey::error::{Error, Misbehaviour};
use groupkey::{Epoch, MemberId, Operation, PartyId, Suite};
use groupkey_testkit::rig::{Fate, OperationReport, Rig, SUITES, Settings};

use crate::schemes::distributed::{a_missed_epoch_is_noticed, everybody_is_replaced, messages};

const SIZES: [u32; 11] = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 30];

const COMMIT: u8 = 1;
const WELCOME: u8 = 2;

/// The lengths of an element and of an encrypted secret in the suite `standard`.
const ELEMENT: usize = 32;
const SECRET: usize = ELEMENT + 24;

#[test]
fn creation_costs_what_the_header_says() {
    for n in SIZES {
        let report = rig().create(n).unwrap();
        for member in 0..n {
            let expected = if member == 0 { 2 * u64::from(n) - 1 } else { 3 };
            assert_eq!(cost(&report, member), expected, "{member} of {n}");
        }
        assert_eq!(messages(&report), (u64::from(n) - 1, 1), "{n}");
    }
}

#[test]
fn a_join_costs_what_the_header_says() {
    for n in SIZES {
        let mut rig = rig();
        rig.create(n).unwrap();
        let report = rig.add(n).unwrap();
        for member in 0..=n {
            let expected = if member == n { 3 } else { 2 * u64::from(member == 2 % n) };
            assert_eq!(cost(&report, member), expected, "{member}, n = {n}");
        }
        assert_eq!(messages(&report), (1, 2), "{n}");
    }
}

/// In a tree without keys, a path is encrypted to every other leaf.
#[test]
fn an_eviction_from_a_new_group_costs_what_the_header_says() {
    for n in &SIZES[1..] {
        for leaver in [0, 1, n / 2, n - 1] {
            let mut rig = rig();
            rig.create(*n).unwrap();
            let report = rig.remove(leaver).unwrap();
            let stay: Vec<_> = (0..*n).filter(|&member| member != leaver).collect();
            let sponsor = stay[2 % stay.len()];
            assert_path_costs(&report, &stay, sponsor, stay.len() as u64 - 1);
            assert_eq!(messages(&report), (0, 1), "{n} without {leaver}");
        }
    }
}

/// After as many new periods as members, every node has a key.
#[test]
fn a_new_period_in_a_tree_full_of_keys_costs_what_the_header_says() {
    for n in [2_u32, 4, 8, 16, 32] {
        let mut rig = rig();
        rig.create(n).unwrap();
        (0..n).for_each(|_| drop(rig.rekey().unwrap()));
        for round in 0..2 * n {
            let report = rig.rekey().unwrap();
            // The creation led to epoch 1.
            let sponsor = (n + 2 + round) % n;
            let stay: Vec<_> = (0..n).collect();
            assert_path_costs(&report, &stay, sponsor, u64::from(n.trailing_zeros()));
        }
    }
}

/// The private keys of its path, three secrets, and the public keys of all nodes.
#[test]
fn a_member_holds_what_the_header_says() {
    let mut rig = rig();
    rig.create(8).unwrap();
    let held = |rig: &Rig| rig.party(MemberId(3).into()).footprint().permanent;
    assert_eq!(held(&rig), 3 * 16 + 32 + 8 * 32);
    (0..8).for_each(|_| drop(rig.rekey().unwrap()));
    assert_eq!(held(&rig), 3 * 16 + 4 * 32 + 15 * 32);
    let tree = rig.key_tree_of(MemberId(3).into());
    assert_eq!(tree.len(), 15);
    assert!(tree.iter().all(|node| node.fingerprint.is_some()));
    // Member 3 sponsors: of the nodes above the leaf that goes, the root alone is not blank.
    rig.remove(7).unwrap();
    assert_eq!(held(&rig), 3 * 16 + 4 * 32 + 12 * 32);
}

#[test]
fn many_changes_by_one_commit_cost_what_the_header_says() {
    for n in [5, 8, 13] {
        let mut rig = rig();
        rig.create(n).unwrap();
        // New leaves alone: no path.
        let report = rig.batch(&[100, 101, 102], &[]).unwrap();
        let sponsor = 2 % n;
        for member in (0..n).chain(100..103) {
            let expected = match member {
                100.. => 3,
                _ if member == sponsor => 6,
                _ => 0,
            };
            assert_eq!(cost(&report, member), expected, "{member}, n = {n}");
        }
        assert_eq!(messages(&report), (3, 4));
        let report = rig.batch(&[200, 201], &[0, 101]).unwrap();
        assert_eq!(messages(&report), (2, 3));
        for newcomer in [200, 201] {
            // It opens the path's secret, and computes the keys above.
            assert!(cost(&report, newcomer) > 3, "n = {n}");
        }
    }
}

#[test]
fn who_missed_changes_comes_back_by_a_commit_of_its_own() {
    for (seed, suite) in (0..).zip(SUITES) {
        for sleeper in [0, 1, 3, 4] {
            let settings = Settings { seed, suite, ..Settings::default() };
            let mut rig = Rig::new(scheme("treekem").unwrap(), settings);
            rig.create(5).unwrap();
            rig.sleep(sleeper);
            rig.add(9).unwrap();
            let missed = rig.agreed_key().unwrap().clone();
            let report = rig.catch_up(sleeper).unwrap();
            assert_eq!(messages(&report), (1, 2));
            assert_ne!(&missed, rig.agreed_key().unwrap());
            let path = 1 + path_length(sleeper, &[0, 1, 2, 3, 4, 9]);
            assert_eq!(cost(&report, sleeper), 2 + path + 2 * 5);
            let answerer = [0, 1, 2, 3, 4, 9].iter().position(|&id| id == sleeper).unwrap() + 1;
            let answerer = [0, 1, 2, 3, 4, 9][answerer];
            let others = [0, 1, 2, 3, 4, 9].into_iter().filter(|&other| other != sleeper);
            for other in others {
                let answered = u64::from(other == answerer);
                let above = nodes_above(other, sleeper, &[0, 1, 2, 3, 4, 9]);
                assert_eq!(cost(&report, other), answered + 3 + above, "{other}");
            }
            // Keys of nodes that others made while it slept: it knows them by its new path.
            for _ in 0..6 {
                rig.rekey().unwrap();
                rig.agreed_key().unwrap();
            }
            rig.remove(sleeper).unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn groups_change_until_nobody_is_left_who_was_there_first() {
    for profile in groupkey::catalogue::Profile::ALL {
        everybody_is_replaced("treekem", profile, [30, 10, 20, 100, 102, 105, 101]);
    }
    a_missed_epoch_is_noticed("treekem", 7, 6, [0, 1]);
}

/// A sponsor with a valid signature that encrypts something else to one member, or names another
/// key.
#[test]
fn a_member_takes_no_path_but_the_one_that_all_others_have() {
    let victim = PartyId::from(MemberId(5));
    // Member 2 sponsors in a tree of leaves alone. Its path is over nodes 5, 3 and 7; member 5 opens
    // the secret of node 7, the second of four.
    let leaf = ELEMENT;
    let second = |node: usize| leaf + [0, ELEMENT + SECRET, 2 * ELEMENT + 3 * SECRET][node];
    let mine = second(2) + ELEMENT + SECRET;
    for (what, place, error) in [
        ("its secret", mine + ELEMENT + 3, Misbehaviour::WrongKey),
        ("the key of the root", second(2) + 7, Misbehaviour::WrongKey),
        ("a key that it does not compute", second(0) + 7, Misbehaviour::WrongKey),
        ("another member's secret", mine - 3, Misbehaviour::Forged),
    ] {
        let (mut rig, commits) = intercepted(victim);
        rig.rekey().unwrap();
        let (header, body) = commits.borrow()[0].clone();
        let (mut path, confirmation) = items(&body);
        path[place] ^= 1;
        let forged = commit(&mut rig, &header, &path, &confirmation);
        let refused = rig.hand(victim, &forged);
        assert_eq!(refused, Err(Error::Misbehaved(error)), "{what}");
        let mut longer = path.clone();
        longer.push(0);
        let forged = commit(&mut rig, &header, &longer, &confirmation);
        assert_eq!(rig.hand(victim, &forged), Err(Misbehaviour::Malformed.into()));
        // What was refused changed nothing: the genuine commit is taken.
        let (path, _) = items(&body);
        let genuine = commit(&mut rig, &header, &path, &confirmation);
        rig.hand(victim, &genuine).unwrap();
        rig.agreed_key().unwrap();
    }
}

/// A confirmation of another epoch's key, and a second commit in an epoch.
#[test]
fn an_epoch_has_one_commit_and_its_confirmation() {
    let victim = PartyId::from(MemberId(5));
    let (mut rig, commits) = intercepted(victim);
    rig.rekey().unwrap();
    let (header, body) = commits.borrow()[0].clone();
    let (path, confirmation) = items(&body);
    let wrong = commit(&mut rig, &header, &path, &[7; 32]);
    assert_eq!(rig.hand(victim, &wrong), Err(Misbehaviour::Forged.into()));
    // Another member's commit, though it has the right signature.
    let other = Header { sender: MemberId(3).into(), ..header };
    let other = commit(&mut rig, &other, &path, &confirmation);
    assert_eq!(rig.hand(victim, &other), Err(Misbehaviour::UnexpectedSender.into()));
    let genuine = commit(&mut rig, &header, &path, &confirmation);
    rig.hand(victim, &genuine).unwrap();
    rig.agreed_key().unwrap();
    let again = rig.hand(victim, &genuine);
    assert!(matches!(again, Err(Error::Misbehaved(Misbehaviour::StaleEpoch { .. }))), "{again:?}");
    assert_eq!(header.epoch, Epoch(2));
}

/// A sponsor shows a joining member another tree than the group has.
#[test]
fn a_newcomer_takes_no_tree_but_that_of_the_commit() {
    let newcomer = PartyId::from(MemberId(8));
    for change in 0..4 {
        let mut rig = rig();
        rig.create(8).unwrap();
        (0..8).for_each(|_| drop(rig.rekey().unwrap()));
        let mut forger = rig.forger();
        rig.intercept(move |transit| {
            let is_commit = transit.header.kind == COMMIT;
            if transit.to != newcomer || transit.header.operation != Operation::Add {
                return Fate::Arrives;
            }
            if is_commit && change == 3 {
                let (path, _) = items(transit.body);
                let mut body = Vec::new();
                let mut writer = Writer::new(&mut body);
                writer.bytes(&path);
                writer.bytes(&[9; 32]);
                return Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &body));
            }
            if transit.header.kind != WELCOME || change == 3 {
                return Fate::Arrives;
            }
            let mut reader = Reader::new(transit.body);
            let mut parts: Vec<_> = (0..4).map(|_| reader.bytes().unwrap().to_vec()).collect();
            match change {
                // The name of the first member; the key of its leaf; the transcript.
                0 => parts[0][5] ^= 0x40,
                1 => parts[0][6 + 9] ^= 1,
                _ => parts[1][0] ^= 1,
            }
            let mut body = Vec::new();
            parts.iter().for_each(|part| Writer::new(&mut body).bytes(part));
            Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &body))
        });
        let report = rig.add(8).unwrap();
        assert!(report.refusals.iter().any(|(party, _)| *party == newcomer), "{change}");
        assert_eq!(rig.key_of(newcomer), None, "{change}");
    }
}

/// A member that was evicted knows private keys of nodes above its old leaf. They are blank from
/// then on.
#[test]
fn nobody_encrypts_to_what_an_evicted_member_knows() {
    for leaver in 0..8 {
        let mut rig = rig();
        rig.create(8).unwrap();
        (0..8).for_each(|_| drop(rig.rekey().unwrap()));
        rig.remove(leaver).unwrap();
        for newcomer in 20..24 {
            rig.add(newcomer).unwrap();
            assert!(!rig.outsider_knows_key());
            rig.rekey().unwrap();
            assert!(!rig.outsider_knows_key());
        }
        rig.agreed_key().unwrap();
    }
}

/// Checks the powers of a commit with a path that is encrypted to this many nodes.
#[track_caller]
fn assert_path_costs(report: &OperationReport, stay: &[u32], sponsor: u32, nodes: u64) {
    let largest = 1 + stay.iter().max().unwrap();
    let leaves: Vec<_> = (0..largest).collect();
    for &member in stay {
        let expected = match member == sponsor {
            true => 1 + path_length_of(&leaves, sponsor, stay) + 2 * nodes,
            false => 1 + above(&leaves, member, sponsor, stay),
        };
        assert_eq!(cost(report, member), expected, "{member} of {stay:?}, sponsor {sponsor}");
    }
}

/// Nodes above a leaf with members on both sides, where a member's place is its number.
fn path_length_of(leaves: &[u32], member: u32, stay: &[u32]) -> u64 {
    levels(leaves.len()).filter(|&level| beside(level, member, stay)).count() as u64
}

fn above(leaves: &[u32], member: u32, sponsor: u32, stay: &[u32]) -> u64 {
    let meets = |level: u32| member >> level == sponsor >> level;
    let levels = levels(leaves.len()).filter(|&level| beside(level, sponsor, stay));
    levels.filter(|&level| meets(level)).count() as u64
}

fn levels(leaves: usize) -> impl Iterator<Item = u32> {
    1..=leaves.next_power_of_two().trailing_zeros()
}

/// Whether somebody is in the other half of the subtree of this height above a place.
fn beside(level: u32, place: u32, stay: &[u32]) -> bool {
    stay.iter().any(|&other| {
        other >> level == place >> level && other >> (level - 1) != place >> (level - 1)
    })
}

/// The same for members that are not at the places of their numbers.
fn path_length(member: u32, members: &[u32]) -> u64 {
    let place = |id| members.iter().position(|&other| other == id).unwrap() as u32;
    let places: Vec<_> = (0..members.len() as u32).collect();
    path_length_of(&places, place(member), &places)
}

fn nodes_above(member: u32, sponsor: u32, members: &[u32]) -> u64 {
    let place = |id| members.iter().position(|&other| other == id).unwrap() as u32;
    let places: Vec<_> = (0..members.len() as u32).collect();
    above(&places, place(member), place(sponsor), &places)
}

/// A message that was kept: its header and its body.
type Kept = (Header, Vec<u8>);

/// A group of eight in which a party hears no commit: they are kept.
fn intercepted(victim: PartyId) -> (Rig, Rc<RefCell<Vec<Kept>>>) {
    let mut rig = rig();
    rig.create(8).unwrap();
    let commits = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&commits);
    rig.intercept(move |transit| {
        if transit.to == victim && transit.header.kind == COMMIT {
            kept.borrow_mut().push((transit.header, transit.body.to_vec()));
            return Fate::Lost;
        }
        Fate::Arrives
    });
    (rig, commits)
}

fn commit(rig: &mut Rig, header: &Header, path: &[u8], confirmation: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.bytes(path);
    writer.bytes(confirmation);
    rig.forger().forge(header.sender, header, &body)
}

/// The path and the confirmation of a commit.
fn items(body: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut reader = Reader::new(body);
    (reader.bytes().unwrap().to_vec(), reader.bytes().unwrap().to_vec())
}

fn cost(report: &OperationReport, member: u32) -> u64 {
    report.meter(MemberId(member).into()).exponentiations()
}

fn rig() -> Rig {
    let settings = Settings { suite: Suite::Standard, ..Settings::default() };
    Rig::new(scheme("treekem").unwrap(), settings)
}
