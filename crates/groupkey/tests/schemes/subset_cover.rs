//! CS, SD and LSD cost what the headers of their files say, and their members need no message but the
//! last.

use groupkey::PartyId::Controller;
use groupkey::author::{Reader, parse_header};
use groupkey::catalogue::scheme;
use groupkey::error::Unsupported;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use crate::schemes::counts::{derivations, permanent, unwraps, wraps};

const SCHEMES: [&str; 3] = ["cs", "sd", "lsd"];

const DEPTH: u32 = 8;

#[test]
fn the_keys_that_members_hold_are_those_of_the_headers() {
    for (id, bits, secrets) in [
        ("cs", 7, 8),
        ("cs", 17, 18),
        ("sd", 7, 29),
        ("sd", 17, 154),
        ("lsd", 16, 65),
        ("lsd", 17, 70),
    ] {
        let mut rig = rig(id, bits);
        rig.create(5).unwrap();
        assert_eq!(permanent(&rig, Controller), 16 * 2, "{id}");
        assert_eq!(permanent(&rig, MemberId(4)), 16 * (secrets + 1), "{id}");
    }
}

#[test]
fn a_change_is_one_broadcast_and_each_member_unwraps_one_key_of_it() {
    for id in SCHEMES {
        for n in [2, 3, 4, 8, 9, 17, 64, 100] {
            let mut rig = rig(id, DEPTH);
            let created = rig.create(n).unwrap();
            let mut all = (0..n).collect::<Vec<_>>();
            require_broadcast(id, &created, &all);
            if id == "cs" {
                assert_eq!(wraps(&created, Controller).1, n.count_ones());
            }
            all.push(n);
            require_broadcast(id, &rig.add(n).unwrap(), &all);
            let leaver = n / 2;
            all.retain(|&member| member != leaver);
            require_broadcast(id, &rig.remove(leaver).unwrap(), &all);
            require_broadcast(id, &rig.rekey().unwrap(), &all);
            all.retain(|&member| member != 0);
            all.extend([n + 1, n + 2]);
            require_broadcast(id, &rig.batch(&[n + 1, n + 2], &[0]).unwrap(), &all);
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn an_eviction_from_a_full_tree_takes_what_the_papers_say() {
    for (id, wrapped) in [("cs", DEPTH), ("sd", 1), ("lsd", 1)] {
        for leaver in [0, 77, 255] {
            let mut rig = rig(id, DEPTH);
            assert_eq!(wraps(&rig.create(1 << DEPTH).unwrap(), Controller), (1, 1));
            assert_eq!(wraps(&rig.remove(leaver).unwrap(), Controller), (wrapped, wrapped), "{id}");
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn a_member_that_slept_needs_the_last_message_alone() {
    for id in SCHEMES {
        let mut rig = rig(id, DEPTH);
        rig.create(20).unwrap();
        rig.sleep(3);
        for round in 0..5 {
            rig.remove(5 + round).unwrap();
            rig.add(20 + round).unwrap();
        }
        let last = rig.rekey().unwrap();
        rig.inject(MemberId(3).into(), &last.messages[0].bytes).unwrap();
        assert_eq!(rig.key_of(MemberId(3).into()), rig.key_of(Controller));
        rig.sleep(4);
        rig.rekey().unwrap();
        let caught_up = rig.catch_up(4).unwrap();
        assert_eq!(caught_up.open_messages().count(), 2);
        assert_eq!(wraps(&caught_up, Controller), (1, 1));
        assert_eq!(unwraps(&caught_up, MemberId(4)), (1, 1));
    }
}

#[test]
fn no_slot_is_given_out_twice() {
    for id in SCHEMES {
        let mut rig = rig(id, 7);
        rig.create(100).unwrap();
        for round in 0..28 {
            rig.remove(3 * round).unwrap();
            rig.add(100 + round).unwrap();
            assert!(!rig.outsider_knows_key());
            rig.agreed_key().unwrap();
        }
        let full = Unsupported::TooManyMembers { limit: 128 };
        assert_eq!(rig.add(2_000).map(drop), Err(RigError::Command(full.into())));
    }
}

/// One message reaches these members, who each open one key of it. Both sides derive what the header says.
#[track_caller]
fn require_broadcast(id: &str, report: &OperationReport, members: &[u32]) {
    let messages: Vec<_> = report.open_messages().collect();
    let [message] = messages[..] else { panic!("{} messages", messages.len()) };
    assert_eq!(message.to, Recipient::Group);
    let (_, body) = parse_header(&message.bytes).unwrap();
    let names = Reader::new(body).bytes().unwrap();
    let names: Vec<_> =
        names.chunks(4).map(|node| u32::from_be_bytes(node.try_into().unwrap())).collect();
    let (subsets, of_controller) = match id {
        "cs" => (names.len(), names.len() as u32),
        _ => (names.len() / 2, names.chunks(2).map(|name| below(name[0], name[1])).sum()),
    };
    assert_eq!(wraps(report, Controller), (subsets as u32, subsets as u32));
    assert_eq!(derivations(report, Controller), of_controller);
    for &member in members {
        assert_eq!(unwraps(report, MemberId(member)), (1, 1));
        let bound = if id == "cs" { 0 } else { DEPTH };
        assert!(derivations(report, MemberId(member)) <= bound);
    }
}

/// What it takes to derive the key of a subset from the one secret of all.
fn below(top: u32, hole: u32) -> u32 {
    if hole == 0 { 1 } else { hole.ilog2() - top.ilog2() + 2 }
}

fn rig(id: &str, bits: u32) -> Rig {
    let parameters = vec![("bits", bits)];
    Rig::new(scheme(id).unwrap(), Settings { parameters, ..Settings::default() })
}
