//! Lives of groups, with and without changes of the scheme.

use groupkey::catalogue::Recovery;
use groupkey_choose::adapt::{Adaptation, AdaptationPolicy, Observation, Stays, replay};
use groupkey_choose::decision::Assessment;
use groupkey_choose::{Candidate, Grounds, Requirements, equals_on, recommend_on};

const QUARTER: f64 = 900.0;

/// A city by day and night: by day many devices, by night few that come and go as often. Energy counts,
/// and a change must be complete in time.
fn city() -> (Vec<Observation>, Requirements) {
    let observe = |quarter: u32| {
        let is_day = (7..21).contains(&(quarter / 4 % 24));
        let members = if is_day { 1_500 } else { 60 };
        Observation {
            seconds: QUARTER,
            members,
            joins: 12.0,
            leaves: 12.0,
            ..Observation::default()
        }
    };
    let mut requirements = requirements();
    (requirements.weights.joule, requirements.weights.second) = (1.0, 0.0);
    requirements.limits.complete = Some(400.0);
    ((0..4 * 24 * 3).map(observe).collect(), requirements)
}

/// A platoon of four trucks for most of a day, that grows to a convoy within an hour. It has no server, and
/// drivers wait.
fn convoy() -> (Vec<Observation>, Requirements) {
    let observe = |quarter: u32| {
        // In steps of five minutes.
        let members = (4 + (quarter.saturating_sub(180)) * 4).min(48);
        let changes = if members > 4 { 2.0 } else { 4.0 };
        Observation {
            seconds: 300.0,
            members,
            joins: changes,
            leaves: changes,
            ..Observation::default()
        }
    };
    let mut requirements = requirements();
    requirements.trust.controller = false;
    (requirements.weights.joule, requirements.weights.second) = (1.0, 0.1);
    ((0..12 * 24).map(observe).collect(), requirements)
}

/// A plant with a crew of a hundred in two shifts, and of four that come and go in the third. No server
/// may draw its keys.
fn plant() -> (Vec<Observation>, Requirements) {
    let observe = |quarter: u32| {
        let is_night = quarter / 32 % 3 == 2;
        let (members, changes) = if is_night { (4, 40.0) } else { (100, 5.0) };
        Observation {
            seconds: QUARTER,
            members,
            joins: changes,
            leaves: changes,
            ..Observation::default()
        }
    };
    let mut requirements = requirements();
    requirements.trust.controller = false;
    (requirements.weights.joule, requirements.weights.second) = (1.0, 0.1);
    ((0..4 * 24 * 3).map(observe).collect(), requirements)
}

fn requirements() -> Requirements {
    let mut requirements = Requirements::default();
    requirements.network.delay = 50.0;
    requirements.members.most = 2_000;
    requirements
}

#[test]
#[ignore = "long: half a minute, random loads of a group that adapts"]
fn a_group_that_adapts_costs_little_more_than_in_hindsight() {
    let grounds = Grounds::shipped();
    for (name, (life, requirements)) in [("city", city()), ("convoy", convoy()), ("plant", plant())]
    {
        let replay = replay(&life, AdaptationPolicy::default(), &requirements, &grounds);
        let replay = replay.expect("they are possible").expect("something fits");
        let single = replay.kept[0].1;
        let (adaptive, hindsight) = (replay.adaptive, replay.hindsight);
        assert!(hindsight < single, "{name}: it would not pay");
        assert!(adaptive <= 1.1 * hindsight, "{name}: {adaptive}, {hindsight} in hindsight");
        assert!(adaptive < single, "{name}: {adaptive}, {single} without changes");
        let wrong = replay.changes.len().saturating_sub(replay.best_changes.len());
        assert!(wrong <= 1, "{name}: {:?}", replay.changes);
        // A group that grows at once has the wrong scheme until that is seen.
        assert!(replay.exceeded <= 3, "{name}: {}", replay.exceeded);
    }
}

/// A busy group, in which a saving of 1 % would pay for a change within minutes.
#[test]
fn none_of_several_equal_candidates_takes_the_place_of_another() {
    let grounds = Grounds::shipped();
    let mut busy = requirements();
    (busy.members.now, busy.members.most) = (200, 250);
    (busy.members.joins, busy.members.leaves) = (4_000.0, 4_000.0);
    let equals = equals_on(&busy, &grounds).unwrap();
    let by_cost = |one: &&Assessment, other: &&Assessment| one.cost.total_cmp(&other.cost);
    let dearest = equals.iter().max_by(by_cost).unwrap();
    let cheapest = equals.iter().min_by(by_cost).unwrap();
    assert!(dearest.cost > 1.01 * cheapest.cost, "{} and {}", dearest.cost, cheapest.cost);
    let present = dearest.candidate.clone();
    let mut adaptation = Adaptation::new(AdaptationPolicy::default(), busy, present.clone());
    for step in 0..96 {
        // Members come and go, and now one of the equals is the cheapest, now another one.
        let members = 190 + step * 7 % 21;
        let (joins, leaves) = (1_000.0, 1_000.0);
        let seconds = QUARTER;
        let seen = Observation { seconds, members, joins, leaves, ..Observation::default() };
        assert_eq!(adaptation.observe(&seen, &grounds).unwrap(), None, "{step}: {present}");
    }
    assert_eq!(adaptation.outlook(200, &grounds).unwrap().stays, Some(Stays::Best));
}

#[test]
fn a_pinned_group_and_a_vetoed_candidate_stay() {
    let grounds = Grounds::shipped();
    let mut small = requirements();
    small.members.now = 60;
    let present = recommend_on(&small, &grounds).unwrap().unwrap().candidate;
    let busy = Observation {
        seconds: 7_200.0,
        members: 1_500,
        joins: 500.0,
        leaves: 500.0,
        ..Observation::default()
    };
    let mut adaptation = Adaptation::new(AdaptationPolicy::default(), small, present);
    let Some(proposal) = adaptation.clone().observe(&busy, &grounds).unwrap() else { return };
    adaptation.pin(true);
    assert_eq!(adaptation.observe(&busy, &grounds).unwrap(), None);
    adaptation.pin(false);
    adaptation.veto(proposal.to.clone());
    let next = adaptation.observe(&busy, &grounds).unwrap();
    assert!(next.is_none_or(|next| next.to != proposal.to));
}

/// Members of a group that miss changes.
fn missing(catch_ups: f64) -> Observation {
    let (joins, leaves) = (4.0, 4.0);
    Observation { seconds: 900.0, members: 200, joins, leaves, catch_ups, ..Default::default() }
}

#[test]
fn members_that_miss_changes_speak_for_a_scheme_in_which_they_catch_up() {
    let grounds = Grounds::shipped();
    let rejoins = |id: &str| groupkey::catalogue::scheme(id).unwrap().recovery == Recovery::Rejoin;
    let mut sleepy =
        Adaptation::new(AdaptationPolicy::default(), requirements(), Candidate::default());
    (0..8).for_each(|_| sleepy.note(&missing(0.0)));
    let awake = sleepy.outlook(200, &grounds).unwrap().change.unwrap().to;
    (0..8).for_each(|_| sleepy.note(&missing(60.0)));
    let asleep = sleepy.outlook(200, &grounds).unwrap().change.unwrap().to;
    assert!(!rejoins(&asleep.variant.scheme), "{}", asleep.variant);
    // The cheapest scheme of all that members must join again.
    let mut without = Adaptation::new(AdaptationPolicy::default(), requirements(), awake);
    (0..8).for_each(|_| without.note(&missing(0.0)));
    assert_eq!(without.outlook(200, &grounds).unwrap().stays, Some(Stays::Best));
}

/// A service far from its broker, in a group whose changes must be complete in time.
#[test]
fn a_slower_network_moves_the_proposal_and_a_few_slow_changes_do_not() {
    let grounds = Grounds::shipped();
    let mut limited = requirements();
    limited.network.qos = Some(1);
    limited.limits.complete = Some(1_000.0);
    let fast = |round_trip| Observation {
        seconds: 300.0,
        members: 200,
        joins: 4.0,
        leaves: 4.0,
        round_trip: Some(round_trip),
        complete: Some(2.0 * round_trip),
        ..Observation::default()
    };
    let mut at_first = limited.clone();
    (at_first.members.now, at_first.members.most) = (200, 250);
    (at_first.members.joins, at_first.members.leaves) = (48.0, 48.0);
    let best = recommend_on(&at_first, &grounds).unwrap().unwrap().candidate;
    let mut adaptation = Adaptation::new(AdaptationPolicy::default(), limited, best);
    for step in 0..40 {
        // Every fifth change is slow, as with losses.
        let round_trip = if step % 5 == 0 { 1_500.0 } else { 80.0 + f64::from(step % 4) };
        assert_eq!(adaptation.observe(&fast(round_trip), &grounds).unwrap(), None, "{step}");
    }
    let delay = adaptation.outlook(200, &grounds).unwrap().requirements.network.delay;
    assert_eq!(delay, 50.0, "the service's link says nothing of the members' that is shorter");
    let proposal = (0..20).find_map(|_| adaptation.observe(&fast(600.0), &grounds).unwrap());
    let proposal = proposal.expect("the present one is too slow");
    assert!(proposal.is_needed && proposal.to != proposal.from, "{proposal:?}");
    adaptation.changed(proposal.to);
    for _ in 0..20 {
        assert_eq!(adaptation.observe(&fast(600.0), &grounds).unwrap(), None);
    }
    let outlook = adaptation.outlook(200, &grounds).unwrap();
    assert_eq!(outlook.requirements.network.delay, 300.0);
    assert_eq!(outlook.stays, Some(Stays::Best));
}
