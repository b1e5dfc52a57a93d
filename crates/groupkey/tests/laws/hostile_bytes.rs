//! Bytes that nobody should have sent, given without any protection to every party of every scheme
//! in many states: no panic, and whatever is refused changes nothing, then or later.

mod recorded_group;

use groupkey::Suite;
use groupkey::catalogue::{Profile, SCHEMES, Scheme, scheme};
use groupkey_testkit::sample;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use recorded_group::{Body, Forgery, Item, Transcript};

#[test]
fn what_is_refused_changes_nothing_in_the_standard_suite() {
    offer_hostile_bytes(Profile::Sound, Suite::Standard, 200);
}

#[test]
fn what_is_refused_changes_nothing_in_the_constrained_suite() {
    offer_hostile_bytes(Profile::Sound, Suite::Constrained, 60);
}

#[test]
fn what_is_refused_changes_nothing_in_the_published_suite() {
    offer_hostile_bytes(Profile::Published, Suite::Published, 60);
}

/// Only TreeKEM parses something else there than in the standard suite.
#[test]
fn what_is_refused_changes_nothing_in_the_post_quantum_suite() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.unsuited_to(Suite::Pq).is_none()) {
        check(scheme, Profile::Sound, Suite::Pq, if scheme.id == "treekem" { 200 } else { 20 });
    }
}

/// In TreeKEM's messages over X-Wing every part is changed, cut and made longer: public keys, what is
/// encapsulated, wrapped keys. 0xffff is no reduced number of ML-KEM's, and no short length of CBOR's.
#[test]
fn every_part_of_a_message_over_x_wing_is_changed() {
    let treekem = scheme("treekem").unwrap();
    let transcript = Transcript::record(treekem, Profile::Sound, Suite::Pq);
    let (mut refused, mut taken) = (0, 0);
    for party in 0..4 {
        let mut replay = transcript.replay(party, 6 + party);
        for message in 0..transcript.messages() {
            let length = transcript.message(message).len();
            let places = (0..length).step_by(311).chain([length - 1]);
            for offered in places.flat_map(|place| {
                let spliced = replay.splice(message, place, &[0xff, 0xff]);
                [spliced, replay.cut(message, place), replay.extend(message, place + 1)]
            }) {
                *if offered.is_ok() { &mut taken } else { &mut refused } += 1;
            }
        }
        replay.finish();
    }
    // Nothing protects the messages, so a change of what is for others may be taken.
    assert!(refused > 4 * taken, "{refused} refused, {taken} taken");
}

fn offer_hostile_bytes(profile: Profile, suite: Suite, cases: u32) {
    for scheme in sample::one_in(3, SCHEMES) {
        check(scheme, profile, suite, cases);
    }
}

fn check(scheme: &'static Scheme, profile: Profile, suite: Suite, cases: u32) {
    let transcript = Transcript::record(scheme, profile, suite);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let offers = prop::collection::vec(any_offer(), 1..12);
    TestRunner::new(config)
        .run(&(0..64usize, 0..64usize, offers), |(party, step, offers)| {
            let mut replay = transcript.replay(party, step);
            for offer in &offers {
                // Nothing protects the message, so it may also be taken.
                let _ = match offer {
                    Offer::Bytes(bytes) => replay.offer(bytes),
                    Offer::Cut(message, length) => replay.cut(*message, *length),
                    Offer::Forgery(forgery) => replay.forge(forgery),
                    Offer::Splice(message, at, with) => replay.splice(*message, *at, with),
                };
            }
            replay.finish();
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{}, suite {}: {error}", scheme.id, suite.name()));
}

#[derive(Clone, Debug)]
enum Offer {
    Bytes(Vec<u8>),
    Cut(usize, usize),
    Forgery(Forgery),
    Splice(usize, usize, Vec<u8>),
}

fn any_offer() -> impl Strategy<Value = Offer> {
    prop_oneof![
        1 => any::<Vec<u8>>().prop_map(Offer::Bytes),
        1 => any::<(usize, usize)>().prop_map(|(message, length)| Offer::Cut(message, length)),
        2 => (any::<usize>(), any::<usize>(), prop::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(message, at, with)| Offer::Splice(message, at, with)),
        8 => any_forgery().prop_map(Offer::Forgery),
    ]
}

fn any_forgery() -> impl Strategy<Value = Forgery> {
    let header = (
        prop::option::weighted(0.3, prop_oneof![0..12u64, Just(u64::MAX), any::<u64>()]),
        prop::option::weighted(0.2, 0..9u8),
        prop::option::weighted(0.2, 0..8u8),
        prop::option::weighted(0.2, prop_oneof![-3..12i64, any::<i64>()]),
    );
    let body = prop_oneof![
        3 => Just(Body::Genuine),
        1 => any::<Vec<u8>>().prop_map(Body::Bytes),
        3 => prop::collection::vec(any_item(), 0..8).prop_map(Body::Items),
        3 => (any::<usize>(), 1..=u8::MAX)
            .prop_map(|(place, change)| Body::Changed(place, change)),
    ];
    (any::<usize>(), prop::bool::weighted(0.7), header, body).prop_map(
        |(message, readdress, (epoch, operation, kind, sender), body)| Forgery {
            message,
            readdress,
            epoch,
            operation,
            kind,
            sender,
            body,
        },
    )
}

fn any_item() -> impl Strategy<Value = Item> {
    // Lengths of keys, elements and records of all suites, and their multiples; in the end X-Wing's.
    const LENGTHS: &[usize] =
        &[0, 1, 2, 16, 24, 32, 40, 48, 64, 96, 128, 256, 384, 1_120, 1_136, 1_216];
    let lengths = prop::sample::select(LENGTHS);
    prop_oneof![
        prop_oneof![0..12u64, any::<u32>().prop_map(u64::from), any::<u64>()]
            .prop_map(Item::Number),
        prop_oneof![0..6u64, any::<u64>()].prop_map(Item::Array),
        lengths
            .prop_flat_map(|length| prop::collection::vec(any::<u8>(), length))
            .prop_map(Item::Bytes),
    ]
}
