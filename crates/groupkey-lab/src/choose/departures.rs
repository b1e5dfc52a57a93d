//! Tests of costs that grow with the members that have left: what the catalogue says and
//! what is counted.

use std::sync::atomic::AtomicBool;

use groupkey::Operation;
use groupkey::catalogue::{Departures, Law, SCHEMES, Scheme, scheme};
use groupkey::protection::Guard;
use groupkey_choose::Moment;
use groupkey_choose::evidence::{GuardCost, Sample};

use super::EvidenceOptions;
use super::counting::count;
use super::evidence::evidence;
use super::variants::{CountedScheme, SUITES};

static GOING_ON: AtomicBool = AtomicBool::new(false);

fn subject(scheme: &'static Scheme, sizes: &[u32]) -> CountedScheme {
    CountedScheme { scheme, parameters: Vec::new(), suite: SUITES[0], sizes: sizes.to_vec() }
}

/// What an eviction takes in a group of a sound scheme; `None` if it has no place for so many.
fn eviction(scheme: &'static Scheme, members: u32, departed: u32) -> Option<Sample> {
    let moment = Moment { members, departed };
    let counted = count(&subject(scheme, &[]), Operation::Remove, false, moment, Guard::None, 1);
    counted.ok()?.into_iter().next()
}

fn sent(sample: &Sample) -> f64 {
    sample.controller.sent.bytes
}

#[test]
fn the_catalogue_says_whose_messages_grow_with_departures() {
    let mut compared = 0;
    let is_quick = |scheme: &&Scheme| {
        scheme.has_controller() && scheme.law == Law::OneKey && !scheme.computes_pairings()
    };
    for scheme in SCHEMES.iter().filter(is_quick) {
        let Some((fresh, later)) = eviction(scheme, 32, 0).zip(eviction(scheme, 32, 128)) else {
            continue;
        };
        let grows = sent(&later) > 3.0 * sent(&fresh);
        let (fresh, later) = (sent(&fresh), sent(&later));
        assert_eq!(
            grows,
            scheme.departures != Departures::Forgotten,
            "{}: {fresh} bytes, and {later} after departures",
            scheme.id
        );
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}

/// So costs in the middle of a life are no less than those on average, and what was counted after
/// four departures for each member holds for any number.
#[test]
fn messages_grow_ever_more_slowly_and_no_more_after_four_departures_for_each_member() {
    for id in ["cs", "sd", "lsd"] {
        let scheme = scheme(id).expect("in the catalogue");
        let after = |departed| sent(&eviction(scheme, 128, departed).expect("it has a place"));
        let grown = [0, 64, 128, 256, 512].map(after);
        let steps = [(0, 64.0), (1, 64.0), (2, 128.0), (3, 256.0)];
        let slopes = steps.map(|(at, departures)| (grown[at + 1] - grown[at]) / departures);
        let is_slower = |pair: &[f64]| pair[1] <= pair[0];
        assert!(slopes.windows(2).all(is_slower), "{id}: {grown:?}, {slopes:?}");
        let much_later = after(2_048);
        assert!((much_later / grown[4] - 1.0).abs() < 0.1, "{id}: {grown:?}, then {much_later}");
    }
}

#[test]
fn between_counted_turnovers_and_sizes_evidence_is_near_what_is_counted() {
    let scheme = scheme("sd").expect("in the catalogue");
    let subjects = [subject(scheme, &[2, 40, 80, 160, 350])];
    let options = EvidenceOptions::quick(2, &GOING_ON);
    let evidence = evidence(&subjects, &options).expect("it completes");
    for (members, departed, within) in [
        (80, 20, 0.01),
        (160, 320, 0.01),
        (100, 45, 0.15),
        (200, 300, 0.15),
        (100, 350, 0.15),
        // Where few have left, each slot counts.
        (100, 3, 0.4),
    ] {
        let moment = Moment { members, departed };
        let told = evidence.counts(&subjects[0].variant("mac"), "remove", moment);
        let told = f64::from(told.expect("it was counted").value.largest);
        let counted = eviction(scheme, members, departed).expect("it has a place").largest;
        let apart = told / (f64::from(counted) + tag("mac")) - 1.0;
        assert!(apart.abs() < within, "{moment:?}: {told} bytes, counted {counted}");
    }
}

fn tag(guard: &str) -> f64 {
    GuardCost::named("standard", guard).expect("a protection").tag
}
