//! TGDH, STR and DH-LKH cost exactly what their headers say, in computation and on the wire, and their
//! sponsors are those of the papers.

mod tree;

use std::collections::BTreeSet;

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::Meter;
use groupkey::error::{Error, Misuse, Unsupported};
use groupkey::{Command, Epoch, MemberId, PartyId, Suite};
use groupkey_testkit::rig::{OperationReport, Rig, SUITES, Settings};
use minicbor::Decoder;
use minicbor::data::Type;
use tree::Tree;

use crate::schemes::distributed::{
    a_missed_epoch_is_noticed, an_answer_is_taken_once, assert_no_more_than,
    assert_one_after_the_other, assert_refused, everybody_is_replaced, messages,
};

const IDS: [&str; 3] = ["tgdh", "str", "dh-lkh"];
const SIZES: [u32; 11] = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 30];

#[test]
fn creation_costs_what_the_headers_say() {
    for n in SIZES {
        let report = rig("tgdh").create(n).unwrap();
        let mut expected: Vec<_> = (0..n).map(|member| u64::from(member > 0)).collect();
        let mut tree = Tree::Leaf(0);
        // How many secrets a member has, from its leaf up.
        let mut known = vec![1; n as usize];
        let mut elements = 0;
        for member in 1..n {
            let sponsor = tree.join("tgdh", member);
            let depth = tree.depth(sponsor);
            expected[sponsor as usize] += 2 * depth - 1;
            elements += depth + 1;
            for other in 0..member {
                let below = tree.depth(other) - tree.meeting(other, sponsor);
                let known = &mut known[other as usize];
                *known = if other == sponsor { depth } else { below.min(*known) };
            }
            if member == n - 1 {
                for member in 0..n {
                    expected[member as usize] += tree.depth(member) + 1 - known[member as usize];
                }
            }
        }
        let costs: Vec<_> = (0..n).map(|member| cost(&report, member)).collect();
        assert_eq!(costs, expected, "tgdh, n = {n}");
        let n = u64::from(n);
        assert_eq!(messages(&report), (0, 2 * (n - 1)), "tgdh, n = {n}");
        assert_eq!(elements_sent(&report), elements, "tgdh, n = {n}");

        let report = rig("str").create(n as u32).unwrap();
        assert_eq!(cost(&report, 0), 2 * n - 2, "str, n = {n}");
        for i in 2..=n {
            assert_eq!(cost(&report, i as u32 - 1), n + 2 - i, "str, {i} of {n}");
        }
        assert_eq!(report.total().exponentiations(), (n * n + 5 * n - 6) / 2, "str, n = {n}");
        assert_eq!(messages(&report), (0, n), "str, n = {n}");
        assert_eq!(elements_sent(&report), 2 * n - 2, "str, n = {n}");
    }
}

#[test]
fn parallel_creation_costs_what_the_header_says() {
    for n in SIZES {
        for profile in Profile::ALL {
            let settings = Settings { profile, latency: 0, ..Settings::default() };
            let report = Rig::new(scheme("dh-lkh"), settings).create(n).unwrap();
            let tree = Tree::left_balanced(0, n);
            for member in 0..n {
                let expected = tree.depth(member) + tree.leftmost_of(member);
                assert_eq!(cost(&report, member), expected, "{member} of {n}");
            }
            let n = u64::from(n);
            let confirmed = u64::from(profile == Profile::Sound);
            let (unicasts, broadcasts) = messages(&report);
            // With the same latency for all, nobody hears a key late, but who goes up beside a lower half.
            assert_eq!(unicasts, 0);
            assert!((n..=2 * n - 2 + confirmed).contains(&broadcasts), "n = {n}: {broadcasts}");
            if n.is_power_of_two() {
                assert_eq!(broadcasts, 2 * n - 2 + confirmed, "n = {n}");
            }
            assert_eq!(elements_sent(&report), 2 * n - 2, "n = {n}");
        }
    }
}

#[test]
fn a_join_costs_what_the_headers_say() {
    for id in IDS {
        for n in SIZES {
            let mut rig = rig(id);
            rig.create(n).unwrap();
            let report = rig.add(n).unwrap();
            let mut tree = Tree::created(id, n);
            let sponsor = tree.join(id, n);
            assert_eq!(report.messages[1].from, MemberId(sponsor).into(), "{id}, n = {n}");
            for member in 0..=n {
                let expected = if member == sponsor {
                    2 * tree.depth(member)
                } else if member == n {
                    1 + tree.depth(member)
                } else {
                    tree.meeting(member, sponsor) + 1
                };
                assert_eq!(cost(&report, member), expected, "{id}, {member}, n = {n}");
                if id == "str" {
                    assert_eq!(expected, if member == sponsor { 4 } else { 2 }, "n = {n}");
                }
            }
            assert_eq!(messages(&report), (1, 2), "{id}, n = {n}");
            let elements = u64::from(2 * n) + tree.depth(sponsor) + 1;
            assert_eq!(elements_sent(&report), elements, "{id}, n = {n}");
        }
    }
}

#[test]
fn an_eviction_costs_what_the_headers_say() {
    for id in IDS {
        for n in &SIZES[1..] {
            for leaver in [0, 1, n / 2, n - 1] {
                let mut rig = rig(id);
                rig.create(*n).unwrap();
                let report = rig.remove(leaver).unwrap();
                let mut tree = Tree::created(id, *n);
                let sponsor = tree.leave(leaver);
                let context = format!("{id}, {n} without {leaver}");
                let stayers: Vec<_> = (0..*n).filter(|&member| member != leaver).collect();
                assert_path_made_anew(&report, &tree, sponsor, &context);
                if id == "str" {
                    let place = |member| stayers.iter().position(|&other| other == member);
                    let m = stayers.len();
                    let j = place(sponsor).unwrap() + 1;
                    assert_eq!(j, (leaver as usize).max(1), "{context}");
                    for (place, &member) in stayers.iter().enumerate() {
                        let i = place + 1;
                        let expected = match (i == j, j) {
                            (true, 1) => 2 * (m - 1),
                            (true, _) => 2 * (m + 1 - j),
                            (false, _) => m + 1 - i.max(j),
                        };
                        assert_eq!(cost(&report, member), expected as u64, "{context}: {member}");
                    }
                }
                // One that goes alone costs the same if it was cut off.
                let mut rig = Rig::new(scheme(id), Settings::default());
                rig.create(*n).unwrap();
                if *n > 3 {
                    let other = (leaver + 1) % n;
                    let report = rig.partition(&[leaver, other]).unwrap();
                    rig.agreed_key().unwrap();
                    assert!(messages(&report).1 >= 2, "{context}: each part has a sponsor");
                }
            }
        }
    }
}

/// All secrets are new after as many changes as there are members, whichever they are.
#[test]
fn a_new_period_costs_what_the_headers_say() {
    for id in IDS {
        for n in SIZES {
            let mut rig = rig(id);
            rig.create(n).unwrap();
            let tree = Tree::created(id, n);
            let leaves = tree.leaves();
            let mut acted = BTreeSet::new();
            for _ in 0..n {
                let (epoch, _) = rig.key_of(MemberId(0).into()).unwrap();
                let sponsor = leaves[(epoch.0 % u64::from(n)) as usize];
                let report = rig.rekey().unwrap();
                assert_path_made_anew(&report, &tree, sponsor, &format!("{id}, n = {n}"));
                acted.insert(sponsor);
            }
            assert_eq!(acted.len(), n as usize, "{id}, n = {n}");
        }
    }
}

/// Groups split and merge again, in any proportion.
#[test]
fn splitting_and_merging_cost_what_the_headers_say() {
    for id in IDS {
        for n in [4, 5, 7, 8, 9, 16, 17, 30] {
            for apart in 2..=(n - 2).min(9) {
                for step in [1, 2, 3] {
                    let apart: BTreeSet<_> = (0..apart).map(|i| i * step % n).collect();
                    let rest = n - apart.len() as u32;
                    if apart.len() < 2 || rest < 2 {
                        continue;
                    }
                    let context = format!("{id}, {n} without {apart:?}");
                    let mut rig = rig(id);
                    rig.create(n).unwrap();
                    let tree = Tree::created(id, n);
                    let report = rig.partition(&Vec::from_iter(apart.clone())).unwrap();
                    rig.agreed_key().unwrap();
                    let parts = [tree.without(&apart), tree.only(&apart)];
                    for (part, leavers) in [(&parts[0], apart.len()), (&parts[1], rest as usize)] {
                        let members = part.leaves();
                        let ours = |from: PartyId| {
                            members.iter().any(|&member| from == MemberId(member).into())
                        };
                        let sent = report.messages.iter().filter(|sent| ours(sent.from)).count();
                        let most = if id == "str" { 1 } else { leavers.min(members.len()) };
                        assert!((1..=most).contains(&sent), "{context}: {sent} messages");
                        let height = part.height();
                        for &member in &members {
                            let cost = cost(&report, member);
                            assert!(cost <= 2 * height.max(1), "{context}, {member}: {cost}");
                        }
                    }
                    let report = rig.merge().unwrap();
                    rig.agreed_key().unwrap();
                    assert_merged(id, &report, &parts, &context);
                }
            }
        }
    }
}

#[track_caller]
fn assert_merged(id: &str, report: &OperationReport, parts: &[Tree; 2], context: &str) {
    let [larger, smaller] = match id {
        "str" if parts[0].size() < parts[1].size() => [&parts[1], &parts[0]],
        _ => [&parts[0], &parts[1]],
    };
    let equal = parts[0].height() == parts[1].height();
    // What is above the lower tree is missing, but for the root; nothing if both are as high.
    assert_eq!(messages(report), (0, 3), "{context}");
    let branches = 2 * (larger.size() + smaller.size()) - 2;
    let missing = elements_sent(report) - branches;
    let refreshers: Vec<_> = parts.iter().map(|part| (part.rightmost(), part)).collect();
    let PartyId::Member(MemberId(sponsor)) = report.messages[2].from else { unreachable!() };
    if id == "str" {
        assert_eq!(missing, smaller.size() - 1, "{context}");
    } else if equal {
        assert_eq!(missing, 0, "{context}");
    }
    for (refresher, part) in refreshers {
        let first = 2 * part.depth(refresher) + 1;
        let cost = cost(report, refresher);
        if refresher == sponsor {
            assert_eq!(cost, first + 2 * missing + 1, "{context}: sponsor");
        } else {
            assert!(cost > first, "{context}");
        }
    }
}

/// One broadcast, from a sponsor that makes its path anew; everybody computes what that takes.
#[track_caller]
fn assert_path_made_anew(report: &OperationReport, tree: &Tree, sponsor: u32, context: &str) {
    assert_eq!(messages(report), (0, 1), "{context}");
    assert_eq!(report.messages[0].from, MemberId(sponsor).into(), "{context}");
    assert_eq!(elements_sent(report), tree.depth(sponsor), "{context}");
    for member in tree.leaves() {
        let expected = if member == sponsor {
            2 * tree.depth(member)
        } else {
            tree.meeting(member, sponsor) + 1
        };
        assert_eq!(cost(report, member), expected, "{context}: {member}");
    }
}

/// The sponsors and their exponentiations that the paper's rule gives for joins one by one.
#[test]
fn sponsors_of_joins_are_those_of_the_paper() {
    let mut rig = rig("tgdh");
    let mut sponsors = Vec::new();
    let mut costs = Vec::new();
    for n in 2..=30 {
        let report = if n == 2 { rig.create(2) } else { rig.add(n - 1) }.unwrap();
        let PartyId::Member(MemberId(sponsor)) = report.messages[1].from else { unreachable!() };
        // Members are counted from 1 in the paper.
        sponsors.push(sponsor + 1);
        costs.push(cost(&report, sponsor));
    }
    assert_eq!(sponsors[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(costs[..8], [2, 4, 4, 6, 4, 6, 6, 8]);
    assert_eq!((sponsors.last(), costs.last()), (Some(&23), Some(&10)));
}

#[test]
fn what_is_held_is_what_the_headers_say() {
    for id in IDS {
        for (suite, exponent, element) in [(Suite::Standard, 32, 32), (Suite::Published, 20, 128)] {
            let settings = Settings { suite, ..Settings::default() };
            let mut rig = Rig::new(scheme(id), settings);
            rig.create(6).unwrap();
            rig.add(6).unwrap();
            let before = Tree::created(id, 6);
            let mut tree = before.clone();
            let sponsor = tree.join(id, 6);
            for member in 0..7 {
                let footprint = rig.party(MemberId(member).into()).footprint();
                let secrets = tree.depth(member) as usize * exponent;
                let blinded = 12 * element;
                assert_eq!(footprint.permanent, 16 + secrets + blinded, "{id}, member {member}");
                // The new member gets a whole tree, the others a path and a leaf. Before that, a creation
                // takes a tree, or its last step the path of member 4 and the leaf of member 5.
                let join = tree.depth(sponsor) as usize + 1;
                let created = if id == "tgdh" { before.depth(4) as usize + 1 } else { 10 };
                let held = |fresh: usize, secrets: usize| (1 + fresh) * element + secrets;
                let temporary = if member == 6 {
                    held(12, secrets)
                } else {
                    let before = before.depth(member) as usize * exponent;
                    held(join, secrets).max(held(created, before))
                };
                assert_eq!(footprint.temporary, temporary, "{id}, member {member}");
            }
        }
    }
}

#[test]
fn anybody_can_be_the_sponsor() {
    for id in IDS {
        for profile in Profile::ALL {
            everybody_is_replaced(id, profile, [20, 100, 30, 102, 10, 104, 103]);
        }
    }
}

#[test]
fn who_slept_catches_up() {
    for id in IDS {
        for n in [3, 4, 5, 8, 9] {
            for sleeper in 0..n {
                for leaver in (0..n).filter(|&leaver| leaver != sleeper) {
                    let mut tree = Tree::created(id, n);
                    let sponsors = [tree.leave(leaver), tree.join(id, n)];
                    // The leftmost but the sponsor sends the joining member the tree.
                    let leaves = tree.leaves();
                    let host = leaves.iter().find(|member| ![n, sponsors[1]].contains(member));
                    if sponsors.contains(&sleeper) || host == Some(&sleeper) {
                        continue;
                    }
                    let mut rig = rig(id);
                    rig.create(n).unwrap();
                    rig.sleep(sleeper);
                    rig.remove(leaver).unwrap();
                    rig.add(n).unwrap();
                    let report = rig.catch_up(sleeper).unwrap();
                    rig.agreed_key().unwrap();
                    assert_eq!(messages(&report), (1, 1), "{id}: a request and an answer");
                    assert_eq!(elements_sent(&report), u64::from(2 * n - 2), "{id}");
                    let most = tree.depth(sleeper);
                    assert!((1..=most).contains(&cost(&report, sleeper)), "{id}");
                    // It can act again.
                    rig.add(n + 1).unwrap();
                    rig.remove(n).unwrap();
                    rig.agreed_key().unwrap();
                }
            }
        }
    }
}

#[test]
fn an_answer_is_taken_once_and_only_if_asked_for() {
    IDS.iter().for_each(|id| an_answer_is_taken_once(id, 5, 0, 4));
}

#[test]
fn a_skipped_epoch_is_noticed() {
    IDS.iter().for_each(|id| a_missed_epoch_is_noticed(id, 6, 0, [5, 3]));
}

#[test]
fn commands_out_of_place_are_refused() {
    for id in IDS {
        let mut rig = rig(id);
        rig.create(3).unwrap();
        let [zero, one, two, four, seven, eight, nine] = [0, 1, 2, 4, 7, 8, 9].map(MemberId);
        let mut refused = |command: Command<'_>, error: Error| {
            assert_refused(&mut rig, 0, command, error);
        };
        refused(Command::Enroll(&[four]), Misuse::WrongRole.into());
        refused(Command::Remove(zero), Misuse::WrongRole.into());
        refused(Command::Add(zero), Misuse::AlreadyMember(zero).into());
        refused(Command::Send, Unsupported::Operation.into());
        refused(Command::Partition(&[]), Misuse::EmptyBatch.into());
        refused(Command::Partition(&[one, one]), Misuse::NamedTwice(one).into());
        refused(Command::Partition(&[zero]), Misuse::WrongRole.into());
        refused(Command::Partition(&[seven]), Misuse::NotMember(seven).into());
        refused(Command::Partition(&[one, two]), Misuse::TooFewMembers.into());
        for (members, epoch, misuse) in [
            (&[eight][..], 2, Misuse::TooFewMembers),
            (&[eight, eight], 2, Misuse::NamedTwice(eight)),
            (&[eight, one], 2, Misuse::AlreadyMember(one)),
            (&[eight, nine], 1, Misuse::EpochOver(Epoch(1))),
        ] {
            refused(Command::Merge { members, epoch: Epoch(epoch) }, misuse.into());
        }
        assert_one_after_the_other(&mut rig);
        assert_no_more_than(id, scheme(id).members.1);
    }
}

#[test]
fn both_profiles_and_all_suites_cost_the_same() {
    for id in IDS {
        let mut costs = Vec::new();
        for suite in SUITES {
            for profile in Profile::ALL {
                let settings = Settings { suite, profile, ..Settings::default() };
                let mut rig = Rig::new(scheme(id), settings);
                let reports = [rig.create(6).unwrap(), rig.add(6).unwrap(), rig.remove(1).unwrap()];
                costs.push(reports.map(|report| report.total().exponentiations()));
                rig.agreed_key().unwrap();
            }
        }
        costs.dedup();
        assert_eq!(costs.len(), 1, "{id}");
    }
}

fn scheme(id: &str) -> &'static Scheme {
    catalogue::scheme(id).unwrap()
}

fn rig(id: &str) -> Rig {
    Rig::new(scheme(id), Settings::default())
}

fn cost(report: &OperationReport, member: u32) -> u64 {
    let meter: Meter = report.meter(MemberId(member).into());
    meter.exponentiations()
}

/// Elements of 32 bytes: in each message, the longest byte string has them.
fn elements_sent(report: &OperationReport) -> u64 {
    let longest = report.messages.iter().map(|message| {
        let mut decoder = Decoder::new(&message.bytes);
        let mut longest = 0;
        while let Ok(kind) = decoder.datatype() {
            if kind == Type::Bytes {
                longest = decoder.bytes().unwrap().len().max(longest);
            } else {
                decoder.skip().unwrap();
            }
        }
        longest as u64 / 32
    });
    longest.sum()
}
