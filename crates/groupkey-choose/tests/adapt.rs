//! Lives of groups, with and without changes of the scheme.

use groupkey_choose::adapt::{Adaptation, Observation, Policy, replay};
use groupkey_choose::{Grounds, Requirements, recommend_on};

const QUARTER: f64 = 900.0;

/// A city by day and night: many devices come and go by day, few by night.
fn city() -> Vec<Observation> {
    let day = |hour: u32| (7..21).contains(&hour);
    let observe = |quarter: u32| {
        let is_day = day(quarter / 4 % 24);
        let (members, changes) = if is_day { (1_500, 60.0) } else { (60, 0.25) };
        Observation { seconds: QUARTER, members, joins: changes, leaves: changes, rekeys: 0.0 }
    };
    (0..4 * 24 * 3).map(observe).collect()
}

/// A platoon that grows to a convoy.
fn convoy() -> Vec<Observation> {
    let observe = |quarter: u32| {
        let members = (4 + quarter * quarter / 8).min(400);
        Observation {
            seconds: QUARTER,
            members,
            joins: 2.0 + f64::from(quarter) / 4.0,
            leaves: 1.0,
            rekeys: 0.0,
        }
    };
    (0..4 * 24).map(observe).collect()
}

/// A plant with three shifts: everybody changes within a quarter of an hour.
fn plant() -> Vec<Observation> {
    let observe = |quarter: u32| {
        let changes = if quarter % 32 == 0 { 180.0 } else { 0.5 };
        Observation { seconds: QUARTER, members: 200, joins: changes, leaves: changes, rekeys: 0.0 }
    };
    (0..4 * 24 * 2).map(observe).collect()
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
    for (name, life) in [("city", city()), ("convoy", convoy()), ("plant", plant())] {
        let replay = replay(&life, Policy::default(), &requirements(), &grounds);
        let replay = replay.expect("they are possible").expect("something fits");
        let single = replay.kept[0].1;
        println!(
            "{name}: adaptive {:.4}, hindsight {:.4} ({:.3}), cheapest kept {:.4} ({}), changes {:?}, best {:?}",
            replay.adaptive,
            replay.hindsight,
            replay.adaptive / replay.hindsight,
            single,
            replay.kept[0].0,
            replay.changes.iter().map(|(at, to)| format!("{at} {to}")).collect::<Vec<_>>(),
            replay.best_changes.iter().map(|(at, to)| format!("{at} {to}")).collect::<Vec<_>>(),
        );
        assert!(
            replay.hindsight <= single * 1.000_001
                && replay.hindsight <= replay.adaptive * 1.000_001
        );
        assert!(replay.adaptive <= 1.1 * replay.hindsight, "{name}");
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
