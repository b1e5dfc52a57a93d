//! Lives of groups, with and without changes of the scheme.

use groupkey_choose::adapt::{Adaptation, Observation, Policy, replay};
use groupkey_choose::{Grounds, Requirements, recommend_on};

const QUARTER: f64 = 900.0;

/// A city by day and night: by day many devices, by night few that come and go as often. Energy counts,
/// and a change must be complete in time.
fn city() -> (Vec<Observation>, Requirements) {
    let observe = |quarter: u32| {
        let is_day = (7..21).contains(&(quarter / 4 % 24));
        let members = if is_day { 1_500 } else { 60 };
        Observation { seconds: QUARTER, members, joins: 12.0, leaves: 12.0, rekeys: 0.0 }
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
        Observation { seconds: 300.0, members, joins: changes, leaves: changes, rekeys: 0.0 }
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
        Observation { seconds: QUARTER, members, joins: changes, leaves: changes, rekeys: 0.0 }
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
fn a_group_that_adapts_costs_little_more_than_in_hindsight() {
    let grounds = Grounds::shipped();
    for (name, (life, requirements)) in [("city", city()), ("convoy", convoy()), ("plant", plant())]
    {
        let replay = replay(&life, Policy::default(), &requirements, &grounds);
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

#[test]
fn a_pinned_group_and_a_vetoed_candidate_stay() {
    let grounds = Grounds::shipped();
    let mut small = requirements();
    small.members.now = 60;
    let present = recommend_on(&small, &grounds).unwrap().unwrap().candidate;
    let busy =
        Observation { seconds: 7_200.0, members: 1_500, joins: 500.0, leaves: 500.0, rekeys: 0.0 };
    let mut adaptation = Adaptation::new(Policy::default(), small, present);
    let Some(proposal) = adaptation.clone().observe(&busy, &grounds).unwrap() else { return };
    adaptation.pin(true);
    assert_eq!(adaptation.observe(&busy, &grounds).unwrap(), None);
    adaptation.pin(false);
    adaptation.veto(proposal.to.clone());
    let next = adaptation.observe(&busy, &grounds).unwrap();
    assert!(next.is_none_or(|next| next.to != proposal.to));
}
