//! The G-DH schemes cost exactly what their headers say, in computation and on the wire, and change
//! their controller as often as need be.

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{Command, Epoch, MemberId, Suite};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, SUITES, Settings};

use crate::schemes::distributed::{
    a_missed_epoch_is_noticed, an_answer_is_taken_once, assert_no_more_than,
    assert_one_after_the_other, assert_refused, everybody_is_replaced, messages,
};

const IDS: [&str; 4] = ["gdh1", "gdh2", "gdh2-relay", "gdh3"];
const SIZES: [u64; 8] = [2, 3, 4, 5, 8, 9, 10, 20];

#[test]
fn creation_costs_what_the_headers_say() {
    for id in IDS {
        for n in SIZES {
            let report = rig(id).create(n as u32).unwrap();
            for member in 0..n {
                // The member's number in the papers, from 1.
                let i = member + 1;
                let expected = match id {
                    "gdh3" if i == n => (n, 0),
                    "gdh3" if i == n - 1 => (2, 0),
                    "gdh3" => (3, 1),
                    _ if i == n => (n, 0),
                    _ => (i + 1, 0),
                };
                assert_eq!(cost(&report, member), expected, "{id}, member {i} of {n}");
            }
            let (exponentiations, inversions) = total(&report);
            let formula = if id == "gdh3" { 5 * n - 6 } else { (n * n + 3 * n) / 2 - 1 };
            assert_eq!(exponentiations + inversions, formula, "{id}, n = {n}");
            let (unicasts, broadcasts) = match id {
                "gdh1" | "gdh2-relay" => (2 * (n - 1), 0),
                "gdh2" => (n - 1, 1),
                // With two members the factor is the generator, which is not sent.
                _ if n == 2 => (0, 2),
                _ => (2 * n - 3, 2),
            };
            assert_eq!(messages(&report), (unicasts, broadcasts), "{id}, n = {n}");
            let elements = match id {
                "gdh1" => n * (n - 1),
                "gdh2" => (n - 1) * (n + 4) / 2,
                "gdh2-relay" => (n - 1) * (n + 2) / 2 - 1 + (n - 1) * n,
                _ if n == 2 => 2,
                _ => 3 * n - 3,
            };
            assert_eq!(elements_sent(&report), elements, "{id}, n = {n}");
        }
    }
}

#[test]
fn a_join_costs_what_the_headers_say() {
    for id in IDS {
        for n in SIZES {
            let mut rig = rig(id);
            rig.create(n as u32).unwrap();
            let report = rig.add(n as u32).unwrap();
            for member in 0..=n {
                let newcomer = member == n;
                let controller = member == n - 1;
                let expected = match id {
                    "gdh1" if newcomer => (n + 1, 0),
                    "gdh1" => (member + 2, 0),
                    "gdh3" if controller => (2, 0),
                    "gdh3" if !newcomer => (2, 1),
                    _ if newcomer || controller => (n + 1, 0),
                    _ => (1, 0),
                };
                assert_eq!(cost(&report, member), expected, "{id}, member {member}, n = {n}");
            }
            let m = n + 1;
            let expected = match id {
                "gdh1" => ((m * m + 3 * m) / 2 - 1, 0),
                "gdh3" => (3 * n + 1, n - 1),
                _ => (3 * n + 1, 0),
            };
            assert_eq!(total(&report), expected, "{id}, n = {n}");
            let expected = match id {
                "gdh1" => (2 * n, 0),
                "gdh3" => (n + 1, 2),
                _ => (1, 1),
            };
            assert_eq!(messages(&report), expected, "{id}, n = {n}");
            let expected = if id == "gdh1" { m * n } else { 2 * m };
            assert_eq!(elements_sent(&report), expected, "{id}, n = {n}");
        }
    }
}

#[test]
fn an_eviction_costs_what_the_headers_say() {
    for id in IDS {
        for n in &SIZES[1..] {
            // The first, one in the middle, and the controller itself.
            for leaver in [0, n / 2, n - 1] {
                let mut rig = rig(id);
                rig.create(*n as u32).unwrap();
                let report = rig.remove(leaver as u32).unwrap();
                let m = n - 1;
                let controller = if leaver == m { m - 1 } else { m };
                let stayers = (0..*n).filter(|&member| member != leaver);
                for (place, member) in stayers.enumerate() {
                    let expected = match id {
                        "gdh1" if place as u64 == m - 1 => m,
                        "gdh1" => place as u64 + 2,
                        _ if member == controller => m,
                        _ => 1,
                    };
                    let cost = cost(&report, member);
                    assert_eq!(cost, (expected, 0), "{id}, {member} of {n} without {leaver}");
                }
                let (formula, counted, elements) = match id {
                    "gdh1" => ((m * m + 3 * m) / 2 - 1, (2 * (m - 1), 0), m * (m - 1)),
                    _ => (2 * n - 3, (0, 1), m),
                };
                assert_eq!(total(&report), (formula, 0), "{id}, n = {n}");
                assert_eq!(messages(&report), counted, "{id}, n = {n}");
                assert_eq!(elements_sent(&report), elements, "{id}, n = {n}");
            }
        }
    }
}

#[test]
fn a_merger_costs_what_the_headers_say() {
    for id in IDS {
        for (n, m) in [(2u64, 2u64), (3, 2), (4, 4), (5, 3), (8, 2), (9, 8)] {
            let (mut rig, guests) = (rig(id), (n..n + m).map(|id| id as u32).collect::<Vec<_>>());
            rig.create((n + m) as u32).unwrap();
            rig.partition(&guests).unwrap();
            // The guests have lived through more than the hosts.
            rig.change_sides();
            rig.rekey().unwrap();
            let report = rig.merge().unwrap();
            rig.agreed_key().unwrap();
            let all = n + m;
            for member in 0..all {
                // Counted from 1 among the guests, where it is one.
                let guest = (member + 1).saturating_sub(n);
                let expected = match (id, guest) {
                    (_, guest) if guest == m => (all, 0),
                    ("gdh1", _) => (member + 2, 0),
                    ("gdh3", guest) if guest == m - 1 && guest > 0 => (2, 0),
                    ("gdh3", 0) if member < n - 1 => (2, 1),
                    ("gdh3", _) => (3, 1),
                    (_, 0) if member == n - 1 => (n + 1, 0),
                    (_, 0) => (1, 0),
                    (_, j) => (n + j + 1, 0),
                };
                assert_eq!(cost(&report, member), expected, "{id}, {member}, {n} and {m}");
            }
            let expected = match id {
                "gdh1" => (2 * (all - 1), 0),
                // n + 2m + 1, as in table 1 of Kim, Perrig and Tsudik.
                "gdh3" => (n + 2 * m - 1, 2),
                _ => (m, 1),
            };
            assert_eq!(messages(&report), expected, "{id}, {n} and {m}");
            let expected = match id {
                "gdh1" => all * (all - 1),
                "gdh3" => 2 * n + 3 * m - 1,
                _ => m * (n + 1) + m * (m - 1) / 2 + all,
            };
            assert_eq!(elements_sent(&report), expected, "{id}, {n} and {m}");
        }
    }
}

#[test]
fn a_partition_and_a_refreshment_cost_what_the_headers_say() {
    for id in IDS {
        for (n, m) in [(2u64, 2u64), (3, 2), (5, 3), (9, 8)] {
            let mut rig = rig(id);
            rig.create((n + m) as u32).unwrap();
            // Every part has some of the first and of the last.
            let apart: Vec<_> = (1..=m as u32).collect();
            let report = rig.partition(&apart).unwrap();
            rig.agreed_key().unwrap();
            let rest: Vec<_> = [0].into_iter().chain(m + 1..n + m).collect();
            let parts = [rest, (1..=m).collect()];
            let check = |report: &OperationReport, parts: &[Vec<u64>]| {
                let (mut counted, mut elements) = ((0, 0), 0);
                for part in parts {
                    let size = part.len() as u64;
                    for (place, &member) in part.iter().enumerate() {
                        let expected = match (id, place as u64 + 1) {
                            (_, place) if place == size => size,
                            ("gdh1", place) => place + 1,
                            _ => 1,
                        };
                        assert_eq!(cost(report, member), (expected, 0), "{id}, {member}");
                    }
                    if id == "gdh1" {
                        counted.0 += 2 * (size - 1);
                        elements += size * (size - 1);
                    } else {
                        counted.1 += 1;
                        elements += size;
                    }
                }
                assert_eq!(messages(report), counted, "{id}");
                assert_eq!(elements_sent(report), elements, "{id}");
            };
            check(&report, &parts);
            check(&rig.rekey().unwrap(), &parts[..1]);
            rig.change_sides();
            rig.agreed_key().unwrap();
            check(&rig.rekey().unwrap(), &parts[1..]);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn the_larger_part_is_the_host() {
    for id in IDS {
        for (apart, first) in [(&[0, 1][..], 2), (&[2, 3, 4], 2), (&[1, 4, 5], 0), (&[0, 3, 4], 0)]
        {
            let mut rig = rig(id);
            rig.create(if apart == [0, 1] || apart == [2, 3, 4] { 5 } else { 6 }).unwrap();
            rig.partition(apart).unwrap();
            let report = rig.merge().unwrap();
            rig.agreed_key().unwrap();
            // The first of the hosts never sends first but in GDH.1: there it begins.
            if id == "gdh1" {
                assert_eq!(report.messages[0].from, MemberId(first).into(), "{apart:?}");
            }
        }
        // What does not fit is refused.
        let mut rig = rig(id);
        rig.create(4).unwrap();
        let member = |ids: &[u32]| ids.iter().copied().map(MemberId).collect::<Vec<_>>();
        for (members, epoch, misuse) in [
            (&[][..], 2, Misuse::EmptyBatch),
            (&[7, 7], 2, Misuse::NamedTwice(MemberId(7))),
            (&[7, 2], 2, Misuse::AlreadyMember(MemberId(2))),
            (&[7, 8], 1, Misuse::EpochOver(Epoch(1))),
        ] {
            let (members, epoch) = (&member(members)[..], Epoch(epoch));
            assert_refused(&mut rig, 0, Command::Merge { members, epoch }, misuse);
        }
    }
}

#[test]
fn bodies_on_the_wire_have_these_bytes() {
    // Members have ids below 23, which CBOR writes in one byte, in headers too.
    let bodies = |report: &OperationReport| -> Vec<_> {
        let framing =
            report.messages.iter().map(|message| message.bytes.len() - message.body_bytes);
        assert!(framing.eq(report.messages.iter().map(|_| 8 + 17)), "header and MAC");
        report.messages.iter().map(|message| message.body_bytes).collect()
    };
    let of = |id: &str| {
        let mut rig = rig(id);
        let create = rig.create(5).unwrap();
        let add = rig.add(5).unwrap();
        let remove = rig.remove(0).unwrap();
        [create, add, remove].map(|report| bodies(&report))
    };
    let [create, add, remove] = of("gdh1");
    assert_eq!(create, [34, 66, 98, 130, 147, 115, 83, 51]);
    assert_eq!(add, [34, 66, 98, 130, 169, 179, 147, 115, 83, 51]);
    assert_eq!(remove, [34, 66, 98, 130, 147, 115, 83, 51]);
    let [create, add, remove] = of("gdh2");
    assert_eq!(create, [34, 98, 130, 162, 179]);
    assert_eq!(add, [201, 211]);
    assert_eq!(remove, [179]);
    let [create, add, remove] = of("gdh2-relay");
    assert_eq!(create, [34, 98, 130, 162, 179, 179, 179, 179]);
    assert_eq!(add, [201, 211]);
    assert_eq!(remove, [179]);
    let [create, add, remove] = of("gdh3");
    assert_eq!(create, [34, 34, 34, 34, 34, 34, 34, 34, 147]);
    assert_eq!(add, [41, 34, 34, 34, 34, 34, 34, 179]);
    assert_eq!(remove, [179]);
    let totals = |id: &str| {
        let mut rig = rig(id);
        let create = rig.create(20).unwrap();
        let add = rig.add(20).unwrap();
        let remove = rig.remove(0).unwrap();
        [create, add, remove].map(|report| bodies(&report).iter().sum::<usize>())
    };

    assert_eq!(totals("gdh1"), [12_583, 13_908, 12_583]);
    assert_eq!(totals("gdh2"), [7_367, 1_389, 660]);
    assert_eq!(totals("gdh2-relay"), [19_247, 1_389, 660]);
    assert_eq!(totals("gdh3"), [1_920, 1_430, 660]);
}

#[test]
fn what_is_held_is_what_the_headers_say() {
    for id in IDS {
        for (suite, exponent, element) in [(Suite::Standard, 32, 32), (Suite::Published, 20, 128)] {
            let settings = Settings { suite, ..Settings::default() };
            let mut rig = Rig::new(scheme(id), settings);
            rig.create(6).unwrap();
            rig.add(6).unwrap();
            for member in 0..7 {
                let footprint = rig.party(MemberId(member).into()).footprint();
                let permanent = if id == "gdh1" { 16 } else { 16 + exponent + 7 * element };
                assert_eq!(footprint.permanent, permanent, "{id}, member {member}");
                let temporary = match id {
                    "gdh1" => exponent + element,
                    "gdh3" if member == 6 => exponent + (1 + 7 + 7) * element,
                    "gdh3" if member == 5 => exponent + (1 + 6 + 6) * element,
                    _ => exponent + (1 + 7) * element,
                };
                assert_eq!(footprint.temporary, temporary, "{id}, member {member}");
            }
        }
    }
}

#[test]
fn the_controller_can_change_every_time() {
    for id in IDS {
        everybody_is_replaced(id, Profile::Sound, [20, 100, 30, 102, 10, 104, 103]);
    }
}

#[test]
fn who_slept_catches_up() {
    for id in &IDS[1..] {
        for size in [3, 4, 9] {
            let mut rig = rig(id);
            rig.create(size).unwrap();
            rig.sleep(1);
            if *id != "gdh3" {
                // A join of GDH.3 takes everybody.
                rig.add(20).unwrap();
                rig.add(21).unwrap();
            }
            if size > 3 {
                rig.remove(0).unwrap();
                rig.remove(size - 1).unwrap();
            } else {
                rig.remove(0).unwrap();
            }
            let report = rig.catch_up(1).unwrap();
            rig.agreed_key().unwrap();
            let n = rig.members().len() as u64;
            assert_eq!(messages(&report), (1, 1), "{id}: a request and an answer");
            assert_eq!(elements_sent(&report), n, "{id}");
            assert_eq!(cost(&report, 1), (1, 0), "{id}");
            // It knows the roster again: it can act, and evict the member that was the controller.
            rig.add(30).unwrap();
            rig.remove(30).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn an_answer_is_taken_once_and_only_if_asked_for() {
    IDS[1..].iter().for_each(|id| an_answer_is_taken_once(id, 4, 0, 2));
}

#[test]
fn a_skipped_epoch_is_noticed() {
    IDS[1..].iter().for_each(|id| a_missed_epoch_is_noticed(id, 5, 0, [1, 2]));
}

#[test]
fn what_was_signed_in_one_scheme_is_nothing_in_another() {
    // Two groups of the same name and the same devices; the lists after a removal look alike.
    let settings = || Settings { protection: Guard::Signature, ..Settings::default() };
    let [mut signing, mut other] = ["gdh2", "gdh3"].map(|id| Rig::new(scheme(id), settings()));
    signing.create(4).unwrap();
    other.create(4).unwrap();
    let report = signing.remove(1).unwrap();
    let list = report.open_messages().next().expect("a removal is a broadcast");
    let member = MemberId(0).into();
    assert_eq!(other.inject(member, &list.bytes), Err(Misbehaviour::Forged.into()));
}

#[test]
fn commands_out_of_place_are_refused() {
    for id in IDS {
        let mut group = rig(id);
        group.create(3).unwrap();
        let [zero, four] = [0, 4].map(MemberId);
        assert_refused(&mut group, 0, Command::Enroll(&[four]), Misuse::WrongRole);
        assert_refused(&mut group, 0, Command::Remove(zero), Misuse::WrongRole);
        assert_refused(&mut group, 0, Command::Add(zero), Misuse::AlreadyMember(zero));
        if id == "gdh1" {
            assert_refused(&mut group, 0, Command::CatchUp, Unsupported::Operation);
        }
        assert_one_after_the_other(&mut group);
        let twice = rig(id).create_of(&[1, 2, 1]).map(drop);
        assert_eq!(twice, Err(RigError::Command(Misuse::AlreadyMember(MemberId(1)).into())));
        assert_no_more_than(id, 1000);
    }
}

#[test]
fn both_profiles_and_all_suites_cost_the_same() {
    for id in IDS {
        for suite in SUITES {
            for profile in Profile::ALL {
                let settings = Settings { suite, profile, ..Settings::default() };
                let mut rig = Rig::new(scheme(id), settings);
                let (exponentiations, inversions) = total(&rig.create(6).unwrap());
                let formula = if id == "gdh3" { 24 } else { 26 };
                assert_eq!(exponentiations + inversions, formula, "{id}, {}", suite.name());
                rig.add(6).unwrap();
                rig.remove(1).unwrap();
                rig.agreed_key().unwrap();
            }
        }
    }
}

fn scheme(id: &str) -> &'static Scheme {
    catalogue::scheme(id).unwrap()
}

fn rig(id: &str) -> Rig {
    Rig::new(scheme(id), Settings::default())
}

fn cost(report: &OperationReport, member: u64) -> (u64, u64) {
    counts(&report.meter(MemberId(member as u32).into()))
}

/// Exponentiations and inversions of all.
fn total(report: &OperationReport) -> (u64, u64) {
    counts(&report.total())
}

fn counts(meter: &Meter) -> (u64, u64) {
    (meter.exponentiations(), meter.tally(Primitive::InvertExponent).calls)
}

/// Elements of 32 bytes; ids and CBOR heads are less than one per message at these sizes.
fn elements_sent(report: &OperationReport) -> u64 {
    report.messages.iter().map(|message| message.body_bytes as u64 / 32).sum()
}
