//! Finalists that are simulated.
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use groupkey_choose::decision::{Ground, Quantity, RaceEnd, Standing};
use groupkey_choose::requirements::RequirementsDraft;
use groupkey_choose::{
    Candidate, Decision, Grounds, Requirements, Variant, decide_on, recommend_on,
};

use super::GOING_ON;
use crate::choose::{
    DEARER_FROM, EQUAL_WITHIN, MeasureOptions, RUNS, RaceOptions, SEED, ValidateOptions, measure,
    race, regret, validate,
};

fn candidate(scheme: &str) -> Candidate {
    let variant = Variant {
        scheme: scheme.to_owned(),
        parameters: BTreeMap::new(),
        suite: "standard".to_owned(),
        guard: "signature".to_owned(),
    };
    Candidate { variant, qos: 1 }
}

#[test]
fn finalists_are_simulated_and_told_with_intervals() {
    let mut requirements = Requirements::default();
    (requirements.members.now, requirements.network.loss) = (20, 3.0);
    let candidates = [candidate("lkh-group"), candidate("skdc")];
    let made = |threads: usize| {
        let on_progress = &|_, _| ();
        let options = MeasureOptions { seed: 1, runs: 60, threads, stop: &GOING_ON, on_progress };
        measure(&requirements, &candidates, &options).expect("they can be simulated")
    };
    let measured = made(1);
    assert_eq!(measured, made(2));
    for measured in &measured {
        let figure = measured.assessment.figure(Quantity::Completion).expect("it is simulated");
        assert_eq!(figure.ground, Ground::Simulated);
        assert!(figure.interval.0 < figure.value && figure.value < figure.interval.1);
        assert!(measured.exceeded.is_empty());
    }
    requirements.limits.complete = Some(1.0);
    let options =
        MeasureOptions { seed: 1, runs: 60, threads: 1, stop: &GOING_ON, on_progress: &|_, _| () };
    let measured = measure(&requirements, &candidates, &options).expect("as before");
    assert_eq!(measured[0].exceeded, ["limits.complete"]);
    let unknown = measure(&requirements, &[candidate("no-such")], &options);
    assert!(unknown.is_err_and(|error| error.to_string().contains("no-such")));
}

/// The counts of suite `pq` are those of `standard`, at sizes that do not ship, too.
#[test]
fn post_quantum_candidates_are_simulated_at_any_size() {
    let mut requirements = Requirements::default();
    (requirements.members.now, requirements.security.post_quantum) = (21, true);
    let options =
        MeasureOptions { seed: 1, runs: 5, threads: 1, stop: &GOING_ON, on_progress: &|_, _| () };
    let of = |scheme: &str, suite: &str| {
        let mut candidate = candidate(scheme);
        candidate.variant.suite = suite.to_owned();
        let measured = measure(&requirements, &[candidate], &options).expect("it is simulated");
        measured[0].assessment.figure(Quantity::Completion).expect("it is simulated").value
    };
    // A signature of ML-DSA-65 takes longer.
    assert!(of("lkh-group", "pq") > of("lkh-group", "standard"));
}

pub(super) fn raced(requirements: &Requirements, threads: usize, stop: &AtomicBool) -> Decision {
    let modelled = decide_on(&requirements.as_modelled(), &Grounds::shipped()).expect("possible");
    let options = RaceOptions { seed: SEED, threads, stop, on_progress: &|_, _| () };
    race(&modelled, requirements, &options).expect("finalists can be simulated").decision
}

pub(super) fn asked(settings: &[&str]) -> Requirements {
    let mut draft = RequirementsDraft::default();
    for setting in settings {
        draft.set(setting.parse().expect("a field")).expect("a field");
    }
    draft.finish().expect("a group can have it")
}

#[test]
fn a_race_settles_the_same_on_any_number_of_threads() {
    let requirements = asked(&["members.now=24", "network.loss=2", "network.jitter=5"]);
    let decision = raced(&requirements, 1, &GOING_ON);
    assert_eq!(decision, raced(&requirements, 3, &GOING_ON));
    let race = decision.race.as_ref().expect("there was one");
    assert_eq!(race.end, RaceEnd::Settled);
    assert!(race.could_win >= race.finalists.len() && race.finalists.len() > 3);
    let best = decision.recommended.as_ref().expect("something fits");
    assert_eq!(decision.runs(&best.candidate), RUNS);
    for one in &race.finalists {
        let (low, high) = one.above;
        let high = high.expect("it was simulated");
        match one.standing {
            Standing::Equal => assert!(high <= EQUAL_WITHIN, "{one:?}"),
            Standing::Dearer => assert!(low >= DEARER_FROM && low <= high, "{one:?}"),
            other => panic!("{other:?}"),
        }
    }
    // What is called equal or dearer is so in as many runs with other random numbers.
    let candidates: Vec<Candidate> =
        race.finalists.iter().map(|one| one.candidate.clone()).collect();
    let on_progress = &|_, _| ();
    let options = MeasureOptions { seed: 99, runs: 400, threads: 2, stop: &GOING_ON, on_progress };
    let again = measure(&requirements, &candidates, &options).expect("as before");
    let costs: Vec<f64> = again.iter().map(|one| one.assessment.cost).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    for (one, cost) in race.finalists.iter().zip(costs) {
        let above = cost / least - 1.0;
        match one.standing {
            Standing::Equal => assert!(above < EQUAL_WITHIN + 0.02, "{above}: {one:?}"),
            _ => assert!(above > DEARER_FROM - 0.02, "{above}: {one:?}"),
        }
    }
}

#[test]
fn a_race_that_is_stopped_keeps_the_modelled_answer() {
    let requirements = asked(&["members.now=24", "network.loss=2"]);
    let modelled = decide_on(&requirements, &Grounds::shipped()).expect("possible");
    let decision = raced(&requirements, 2, &AtomicBool::new(true));
    assert_eq!(decision.race.as_ref().map(|race| race.end), Some(RaceEnd::Interrupted));
    let candidate = |one: &Decision| one.recommended.as_ref().map(|best| best.candidate.clone());
    assert_eq!(candidate(&decision), candidate(&modelled));
}

/// The model lets in what takes too long in the simulation.
#[test]
fn a_limit_that_no_finalist_keeps_in_the_simulation_rules_all_of_them_out() {
    let mut requirements = asked(&["members.now=24", "network.loss=2"]);
    let modelled = decide_on(&requirements, &Grounds::shipped()).expect("possible");
    requirements.limits.complete = Some(60.0);
    let options = RaceOptions { seed: SEED, threads: 2, stop: &GOING_ON, on_progress: &|_, _| () };
    let decision = race(&modelled, &requirements, &options).expect("as above").decision;
    assert_eq!(decision.recommended, None);
    let race = decision.race.expect("there was one");
    assert!(race.finalists.iter().all(|one| one.standing == Standing::OverLimit), "{race:?}");
    let late = decision.out.iter().flat_map(|out| &out.reasons);
    assert!(late.clone().any(|reason| reason.has.ends_with("ms in the simulation")));
}

#[test]
#[ignore = "long: half a minute, the same answers on any number of threads"]
fn validation_does_not_depend_on_threads() {
    let made = |threads: usize| {
        let options = ValidateOptions {
            seed: 1,
            even: 3,
            typical: 2,
            members: 12,
            runs: 30,
            threads,
            stop: &GOING_ON,
            on_progress: &|_, _| (),
        };
        validate(&options).expect("it completes")
    };
    let trials = made(1);
    assert_eq!(trials, made(2));
    let regret = regret(trials.iter());
    assert_eq!(regret.answered + regret.missed + regret.impossible, 5);
    for trial in &trials {
        let answer = recommend_on(&trial.requirements, &Grounds::shipped());
        assert_eq!(answer, Ok(trial.answer.clone()));
    }
}
