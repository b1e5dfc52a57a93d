use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use groupkey::Operation;
use groupkey::catalogue::{Class, Provenance, SCHEMES, scheme};
use groupkey::protection::Guard;
use groupkey_choose::decision::{Ground, Quantity, RaceEnd, Standing};
use groupkey_choose::device::{DevicePrices as Prices, RadioPrices};
use groupkey_choose::evidence::{CountTable, Evidence, Sample, SchemeFacts, Uses};
use groupkey_choose::requirements::{EXAMPLES, RequirementsDraft, Security};
use groupkey_choose::{
    Candidate, Decision, Grounds, Requirements, Variant, decide_on, recommend_on,
};
use groupkey_sim::group::Rest;

use super::counting::count;
use super::evidence::evidence;
use super::message_flow::MessageFlow;
use super::validate::requirements;
use super::variants::{CountedScheme, SUITES, subjects};
use super::{
    DEARER_FROM, EQUAL_WITHIN, EvidenceOptions, FitOptions, MeasureOptions, RUNS, RaceOptions,
    SEED, ValidateOptions, fit_completion, make_devices, make_radios, measure, race, regret,
    validate,
};
use crate::audit::{Finding, Found, recorded};
use crate::campaign::{self, CampaignOptions};
use crate::conditions::Conditions;
use crate::device::Board;
use crate::plan::{Plan, PlanStep};

/// Nothing is stopped.
static GOING_ON: AtomicBool = AtomicBool::new(false);

fn subject(id: &str, parameters: &[(&'static str, u32)], suite: usize) -> CountedScheme {
    CountedScheme {
        scheme: scheme(id).expect("in the catalogue"),
        parameters: parameters.to_vec(),
        suite: SUITES[suite],
        sizes: Vec::new(),
    }
}

fn counted(subject: &CountedScheme, operation: Operation, members: u32, guard: Guard) -> Sample {
    let samples = count(subject, operation, false, members, guard, 1).expect("it completes");
    samples.into_iter().next().expect("it is possible")
}

/// As it is after it was written and read.
fn told(subject: &CountedScheme, sample: Sample) -> Sample {
    let operation = sample.operation.clone();
    let members = sample.members;
    let table = CountTable::of(subject.variant("none"), operation, &[sample]).expect("a sample");
    table.at(members).expect("it was counted").value
}

#[test]
fn what_a_protection_adds_is_what_a_protected_group_counts() {
    // In these schemes the same party works most, whatever protects messages.
    let subjects = [
        subject("skdc", &[], 0),
        subject("lkh-user", &[("degree", 2)], 1),
        subject("igkmp", &[("subgroups", 4)], 0),
        subject("gdh2", &[], 1),
    ];
    for subject in &subjects {
        for operation in [Operation::Create, Operation::Add, Operation::Remove] {
            let open = counted(subject, operation, 12, Guard::None);
            let facts = SchemeFacts {
                scheme: subject.scheme.id.to_owned(),
                bits: 128,
                symmetric: true,
                confirmed: Default::default(),
            };
            let table =
                CountTable::of(subject.variant("none"), operation.name().to_owned(), &[open]);
            let evidence = Evidence::new(vec![facts], table.into_iter().collect());
            for guard in [Guard::Mac, Guard::Signature] {
                let variant = subject.variant(guard.name());
                let derived = evidence.counts(&variant, operation.name(), 12);
                let mut derived = derived.expect("it was counted").value;
                let mut real = told(subject, counted(subject, operation, 12, guard));
                let stages = real.stages.iter_mut().map(|stage| &mut stage.uses);
                let loads = [&mut real.busiest.uses, &mut real.gateway.uses, &mut real.finish];
                for uses in stages.chain(loads) {
                    uses.0.remove(Uses::SEND);
                    uses.0.remove(Uses::RECEIVE);
                }
                // Of members that are equally slow, a tag's bytes may pick another one.
                for finish in [&mut derived.finish, &mut real.finish] {
                    finish.0.values_mut().for_each(|count| count.amount = 0.0);
                }
                let [one, other] = [&derived, &real]
                    .map(|sample| serde_json::to_value(sample).expect("it has only names as keys"));
                let what = operation.name();
                assert!(is_near(&one, &other), "{variant}, {what}:\n{derived:?}\n{real:?}");
            }
        }
    }
}

/// Averages have six digits, so sums of them differ in the last ones.
fn is_near(one: &serde_json::Value, other: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| is_near(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_near(a, b))
        }
        (Value::Number(one), Value::Number(other)) => {
            let [one, other] = [one, other].map(|number| number.as_f64().expect("finite"));
            (one - other).abs() <= 1e-4 * one.abs().max(other.abs())
        }
        _ => one == other,
    }
}

/// If this fails, make the evidence again.
#[test]
fn the_shipped_counts_are_those_of_the_schemes() {
    let tables: Vec<&CountTable> = Evidence::shipped().tables().collect();
    let wanted = [
        (subject("skdc", &[], 0), 128),
        (subject("lkh-group", &[("degree", 3)], 1), 64),
        (subject("oft", &[], 0), 32),
        (subject("sgcsh", &[], 1), 32),
        (subject("tkh", &[("subgroups", 8)], 0), 64),
        (subject("igkmp", &[("subgroups", 4)], 1), 64),
        (subject("bd", &[], 1), 8),
        (subject("d-lkh", &[], 0), 8),
    ];
    for (subject, members) in &wanted {
        let of = |table: &&&CountTable| table.variant == subject.variant("none");
        let mut compared = 0;
        for table in tables.iter().filter(of) {
            let operation = subject.scheme.operations.iter();
            let operation = operation.copied().find(|op| op.name() == table.operation);
            let operation = operation.expect("the scheme has what was counted");
            let now = told(subject, counted(subject, operation, *members, Guard::None));
            let mut shipped = table.at(*members).expect("it was counted");
            assert!(!shipped.is_extrapolated && table.members().contains(members));
            // What a stage does at some sizes may be told at all sizes that have the stage.
            for (stage, now) in shipped.value.stages.iter_mut().zip(&now.stages) {
                stage.uses.0.retain(|primitive, _| now.uses.0.contains_key(primitive));
            }
            assert_eq!(shipped.value, now, "{}, {}", table.variant, table.operation);
            compared += 1;
        }
        assert!(compared >= 3, "{}", subject.variant("none"));
    }
}

#[test]
fn the_shipped_devices_are_the_profiles() {
    if env::var_os("GROUPKEY_RECORD").is_some() {
        record("devices.jsonl", make_devices());
        record("radios.jsonl", make_radios());
        return;
    }
    assert_eq!(Prices::shipped(), make_devices());
    assert_eq!(RadioPrices::shipped(), make_radios());
    let (of_boards, others): (Vec<_>, Vec<_>) =
        make_devices().into_iter().partition(|device| device.capacity.is_some());
    let names: Vec<_> = others.into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["cortex-m4", "host", "rv32imac"]);
    assert_eq!(of_boards.len(), Board::names().count());
}

/// Writes a file of `data/`: `tools/record boards`.
fn record<T: serde::Serialize>(name: &str, all: Vec<T>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
    let line = |one: &T| serde_json::to_string(one).expect("it is a tree") + "\n";
    fs::write(path, all.iter().map(line).collect::<String>()).expect("the record can be written");
}

#[test]
fn evidence_does_not_depend_on_the_number_of_threads() {
    let few: Vec<CountedScheme> = subjects(true)
        .into_iter()
        .filter(|subject| ["skdc", "lkh-group", "kronos"].contains(&subject.scheme.id))
        .map(|subject| CountedScheme {
            sizes: subject.sizes.into_iter().take(3).collect(),
            ..subject
        })
        .collect();
    let made = |threads: usize| {
        let options = EvidenceOptions {
            seed: 1,
            is_quick: true,
            threads,
            stop: &GOING_ON,
            on_progress: &|_, _| (),
        };
        evidence(&few, &options).expect("it completes").to_text()
    };
    let text = made(1);
    assert_eq!(text, made(3));
    assert_eq!(Evidence::parse(&text).map(|read| read.to_text()), Ok(text));
}

#[test]
fn counting_can_be_stopped() {
    let stop = AtomicBool::new(true);
    let options = EvidenceOptions {
        seed: 1,
        is_quick: true,
        threads: 2,
        stop: &stop,
        on_progress: &|_, _| (),
    };
    assert_eq!(
        evidence(&subjects(true), &options).map(|_| ()),
        Err(super::EvidenceRunError::Interrupted)
    );
}

/// A change of a settled group of 12 on slow links that lose packets.
fn change(id: &str, parameters: &[(&str, u32)], operation: Operation, qos: u8) -> Plan {
    let scheme = scheme(id).expect("in the catalogue");
    let mut plan = Plan::new(scheme, 12);
    plan.parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    plan.steps = PlanStep::history(scheme, &[operation]);
    plan.set_conditions(Conditions {
        jitter_ms: 10.0,
        bandwidth_kbit_s: Some(200.0),
        ..Conditions::of(4.0, 30.0)
    });
    plan.rest = Rest::Settled;
    (plan.qos, plan.runs, plan.seed) = (qos, 40, 3);
    plan
}

fn replayed(plan: &Plan) -> Vec<f64> {
    let flows = MessageFlow::record(plan, &mut |_, _| ()).ok().expect("it completes");
    flows[0].replay(plan, 0..plan.runs).ok().expect("as before")
}

fn simulated(plan: &Plan) -> Vec<f64> {
    let options = CampaignOptions { threads: 1, stop: &GOING_ON, on_progress: &|_| () };
    let mut times = Vec::new();
    campaign::run(std::slice::from_ref(plan), &options, &mut |row| {
        times = row.totals_ms();
        Ok(())
    })
    .expect("it completes");
    times
}

/// Who hears one sender takes the same steps in each run.
#[test]
fn a_replayed_flow_of_a_controller_takes_exactly_as_long_as_the_group() {
    for (id, parameters, operation, qos) in [
        ("skdc", &[][..], Operation::Remove, 2),
        ("lkh-user", &[("degree", 4)], Operation::Add, 1),
        ("lkh-group", &[], Operation::Remove, 0),
        ("ofct", &[], Operation::Remove, 1),
        ("sgcsh", &[], Operation::Add, 2),
    ] {
        let plan = change(id, parameters, operation, qos);
        assert_eq!(replayed(&plan), simulated(&plan), "{}", plan.description());
    }
}

/// A large group's late receivers tell as much as all of them, to the nanosecond.
#[test]
fn late_receivers_alone_take_exactly_as_long_as_the_whole_group() {
    let mut told = 0;
    for (id, operation, qos, bandwidth) in [
        ("lkh-group", Operation::Remove, 1, None),
        ("lkh-user", Operation::Remove, 1, Some(2_000.0)),
        ("ofct", Operation::Add, 0, None),
        ("cfkm", Operation::Add, 1, Some(300.0)),
        ("sgcsh", Operation::Remove, 1, None),
        // The broker serves acknowledgements before it passes messages on.
        ("lkh-group", Operation::Remove, 2, None),
        ("iolus", Operation::Remove, 1, None),
    ] {
        let scheme = scheme(id).expect("in the catalogue");
        let mut plan = change(id, &[], operation, qos);
        plan = Plan { members: 260, runs: 25, ..plan };
        plan.steps = PlanStep::history(scheme, &[operation]);
        plan.set_conditions(Conditions {
            jitter_ms: 8.0,
            bandwidth_kbit_s: bandwidth,
            ..Conditions::of(2.0, 40.0)
        });
        let flows = MessageFlow::record(&plan, &mut |_, _| ()).ok().expect("it completes");
        let late = flows[0].replay_late(&plan, 0..plan.runs).ok().expect("as before");
        let whole = simulated(&plan);
        let known = late.iter().flatten().count();
        assert!(known == 0 || (qos < 2 && id != "iolus"), "{id}: {known}");
        for (late, whole) in
            late.iter().zip(&whole).filter_map(|(one, all)| Some((*one)?).zip(Some(*all)))
        {
            assert_eq!(late, whole, "{}", plan.description());
        }
        told += known;
    }
    assert!(told > 60, "{told} of 125 runs need no whole group");
}

#[test]
fn a_replayed_flow_takes_as_long_as_the_group() {
    for (id, parameters, qos) in [
        ("igkmp", &[("subgroups", 4)][..], 0),
        ("tgdh", &[][..], 2),
        ("gdh2", &[][..], 0),
        ("bd", &[][..], 1),
    ] {
        let plan = change(id, parameters, Operation::Remove, qos);
        let [replayed, simulated] = [replayed(&plan), simulated(&plan)].map(|times| {
            let count = times.len() as f64;
            let mean = times.iter().sum::<f64>() / count;
            let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
            (mean, squares / (count - 1.0) / count)
        });
        let apart = (replayed.0 - simulated.0).abs();
        assert!(
            apart < 3.0 * (replayed.1 + simulated.1).sqrt(),
            "{id}: {replayed:?} {simulated:?}"
        );
    }
}

#[test]
#[ignore = "long: half a minute, the same model on any number of threads"]
fn a_model_does_not_depend_on_the_number_of_threads() {
    let made = |threads: usize| {
        let options = FitOptions {
            seed: 3,
            is_quick: true,
            threads,
            stop: &GOING_ON,
            on_progress: &|_, _| (),
        };
        fit_completion(Evidence::shipped(), &options).expect("it completes").expect("not stopped")
    };
    let model = made(1);
    assert_eq!(model, made(2));
    assert!(model.fits.values().all(|fit| fit.mean.iter().all(|weight| *weight >= 0.0)));
}

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

fn raced(requirements: &Requirements, threads: usize, stop: &AtomicBool) -> Decision {
    let modelled = decide_on(&requirements.as_modelled(), &Grounds::shipped()).expect("possible");
    let options = RaceOptions { seed: SEED, threads, stop, on_progress: &|_, _| () };
    race(&modelled, requirements, &options).expect("finalists can be simulated").decision
}

fn asked(settings: &[&str]) -> Requirements {
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

/// One of `data/answers.toml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DefendedAnswer {
    name: String,
    from: String,
    set: Vec<String>,
    scheme: String,
    defence: String,
}

/// A built-in example and the first sentence of its answer.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleAnswer {
    name: String,
    in_short: String,
}

/// `data/answers.toml`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswers {
    example: Vec<ExampleAnswer>,
    answer: Vec<DefendedAnswer>,
}

fn recorded_answers() -> RecordedAnswers {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/answers.toml");
    let text = fs::read_to_string(path).expect("it is there");
    toml::from_str(&text).expect("it can be read")
}

fn defended() -> Vec<(Requirements, DefendedAnswer)> {
    let answer = recorded_answers().answer;
    let with = |answer: DefendedAnswer| {
        (asked(&answer.set.iter().map(String::as_str).collect::<Vec<_>>()), answer)
    };
    answer.into_iter().map(with).collect()
}

#[test]
fn thirty_answers_are_defended_in_two_sentences_each() {
    let forbidden = forbidden_by_their_pages();
    let all = defended();
    let of = |from: &str| all.iter().filter(|(_, answer)| answer.from == from).count();
    assert_eq!((of("review"), of("new")), (15, 15));
    let mut names: Vec<&str> = all.iter().map(|(_, answer)| &*answer.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 30);
    for (requirements, answer) in &all {
        let DefendedAnswer { name, scheme, defence, .. } = answer;
        let sentences = defence.trim().split_inclusive(". ").count();
        assert!(sentences == 2 && defence.trim().ends_with('.'), "{name}: {defence}");
        assert!(!forbidden.contains(&&**scheme), "{name}: {scheme}");
        let modelled = decide_on(&requirements.as_modelled(), &Grounds::shipped());
        let modelled = modelled.expect("possible");
        let mut meet = modelled.front.iter().chain(&modelled.beaten);
        assert!(meet.any(|one| one.candidate.variant.scheme == *scheme), "{name}: {scheme}");
        // Without being asked for, nothing is recommended at QoS 0.
        assert!(modelled.recommended.is_some_and(|best| best.candidate.qos > 0), "{name}");
    }
}

#[test]
#[ignore = "long: minutes, races the finalists of thirty requirements"]
fn the_defended_answers_are_those_that_are_given() {
    let mut others = Vec::new();
    for (requirements, DefendedAnswer { name, scheme, .. }) in defended() {
        let best = raced(&requirements, 2, &GOING_ON).recommended.expect(&name).candidate;
        if best.variant.scheme != scheme || best.qos == 0 {
            others.push((name, best));
        }
    }
    assert!(others.is_empty(), "{others:?}");
}

/// Of the recommended candidates, the mean and the 99th percentile of ten times as many fresh runs
/// lie within the intervals of the answer.
#[test]
#[ignore = "long: minutes, simulates answers anew"]
fn figures_of_answers_lie_within_their_intervals_in_fresh_simulations() {
    let (mut within, mut all) = (0, 0);
    let drawn = requirements(&ValidateOptions {
        seed: 38,
        even: 6,
        typical: 6,
        members: 60,
        runs: 1,
        threads: 1,
        stop: &GOING_ON,
        on_progress: &|_, _| (),
    });
    for (_, requirements) in drawn {
        let decision = raced(&requirements, 2, &GOING_ON);
        let Some(best) = decision.recommended else { continue };
        let on_progress = &|_, _| ();
        let options =
            MeasureOptions { seed: 77, runs: 4_000, threads: 2, stop: &GOING_ON, on_progress };
        let fresh = measure(&requirements, std::slice::from_ref(&best.candidate), &options)
            .expect("as before");
        for quantity in [Quantity::Completion, Quantity::CompletionOf99] {
            let (Some(told), Some(fresh)) =
                (best.figure(quantity), fresh[0].assessment.figure(quantity))
            else {
                continue;
            };
            let (low, high) = told.interval;
            all += 1;
            within += u32::from((low..=high).contains(&fresh.value));
        }
    }
    println!("{within} of {all} figures lie within their intervals");
    // If 93 of 100 do, fewer than three quarters of some twenty do once in a thousand times.
    assert!(all >= 12 && 4 * within >= 3 * all, "{within} of {all}");
}

#[test]
#[ignore = "long: a minute, races the finalists of the examples"]
fn the_examples_have_the_recorded_recommendations_for_the_recorded_reasons() {
    let recorded = recorded_answers().example;
    assert_eq!(recorded.len(), EXAMPLES.len());
    for ExampleAnswer { name, in_short } in recorded {
        let (_, text) = EXAMPLES.into_iter().find(|(known, _)| *known == name).expect("built in");
        let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
        let requirements = draft.finish().expect("a group can have it");
        let decision = raced(&requirements, 2, &GOING_ON);
        assert_eq!(decision.in_short[0], in_short, "{name}");
    }
}

/// The built-in examples, groups of 2 to 100,000 members, and others that are drawn.
fn many_requirements(even: usize, typical: usize) -> Vec<Requirements> {
    let mut all: Vec<Requirements> = EXAMPLES
        .into_iter()
        .map(|(name, text)| {
            let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
            draft.finish().expect("a group can have it")
        })
        .collect();
    for members in [2, 3, 10, 100, 1_000, 5_000, 20_000, 55_000, 100_000] {
        for (controller, loss) in [(true, 0.0), (true, 1.0), (false, 1.0)] {
            let mut one = Requirements::default();
            (one.members.now, one.network.loss, one.trust.controller) = (members, loss, controller);
            all.push(one);
        }
    }
    let options = ValidateOptions {
        seed: 26,
        even,
        typical,
        members: 5_000,
        runs: 1,
        threads: 1,
        stop: &GOING_ON,
        on_progress: &|_, _| (),
    };
    let drawn = requirements(&options);
    assert_eq!(drawn.len(), even + typical);
    all.extend(drawn.into_iter().enumerate().map(|(place, (_, mut one))| {
        if place % 4 == 0 && one.trust.controller {
            let members = &mut one.members;
            (members.now, members.most) = ((members.now * 20).min(100_000), 0);
        }
        one
    }));
    all
}

/// Returns the ids of the schemes whose pages say not to use them, in whatever profile.
fn forbidden_by_their_pages() -> Vec<&'static str> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemes");
    let files = fs::read_dir(folder).expect("the folder is there");
    let pages = files.map(|file| fs::read_to_string(file.expect("readable").path()));
    let forbids = |page: &str| {
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        let names = ["it".to_owned(), title.to_owned()];
        names.iter().any(|name| words.contains(&format!("Do not use {name} ")))
    };
    let mut ids = Vec::new();
    for page in pages.map(|page| page.expect("a page is text")).filter(|page| forbids(page)) {
        let told = page.lines().find(|line| line.starts_with("| id |")).expect("it has an id");
        let is_told = |id: &str| told.contains(&format!("`{id}`"));
        ids.extend(SCHEMES.iter().map(|scheme| scheme.id).filter(|id| is_told(id)));
    }
    ids.sort_unstable();
    ids
}

/// Returns whether the recorded audit found that the sound form of a scheme holds a claim.
fn holds(scheme: &str, adversary: &str, claim: &str) -> bool {
    let is_of = |finding: &&Finding| {
        (&*finding.scheme, &*finding.profile, &*finding.claim) == (scheme, "sound", claim)
            && finding.adversary.name() == adversary
            && finding.condition.is_none()
    };
    let mut found = recorded::findings().iter().filter(is_of).map(|finding| finding.found);
    found.next() == Some(Found::Holds) && found.all(|found| found == Found::Holds)
}

#[test]
fn a_scheme_that_its_page_forbids_lacks_what_is_required_by_default() {
    let forbidden = forbidden_by_their_pages();
    assert_eq!(forbidden, ["cfkm", "cka"]);
    for scheme in forbidden {
        let usual = Security::default();
        assert!(usual.passive.iter().any(|claim| !holds(scheme, "passive", claim)), "{scheme}");
    }
}

#[test]
fn what_is_recommended_holds_the_default_claims_and_no_page_forbids_it() {
    nothing_recommended_contradicts_its_page_or_the_audit(many_requirements(160, 40));
}

#[test]
#[ignore = "long: a minute, the same of two thousand requirements"]
fn nothing_that_is_recommended_for_two_thousand_requirements_contradicts_its_page_or_the_audit() {
    let drawn = many_requirements(1_600, 400);
    assert!(drawn.len() >= 2_000);
    nothing_recommended_contradicts_its_page_or_the_audit(drawn);
}

fn nothing_recommended_contradicts_its_page_or_the_audit(drawn: Vec<Requirements>) {
    let least = drawn.len() * 3 / 4;
    let forbidden = forbidden_by_their_pages();
    let usual = Security::default();
    let mut answered: BTreeMap<String, Vec<Requirements>> = BTreeMap::new();
    for requirements in drawn {
        let best = recommend_on(&requirements, &Grounds::shipped()).expect("they are possible");
        let Some(Candidate { variant, qos }) = best.map(|best| best.candidate) else { continue };
        assert!(qos > 0 || requirements.network.qos == Some(0), "{variant}: {requirements:?}");
        // Every member can make a MAC, so it holds nothing against one who sends.
        let is_signed = variant.guard == "signature";
        assert!(
            is_signed || requirements.security.active.is_empty(),
            "{variant}: {requirements:?}"
        );
        let known = scheme(&variant.scheme).expect("it is in the catalogue");
        if !requirements.trust.gateways_know_the_key && known.class() == Class::Hybrid {
            assert!(holds(known.id, "passive", "secrecy-from-subgroup-controller"), "{variant}");
        }
        answered.entry(variant.scheme).or_default().push(requirements);
    }
    let all: usize = answered.values().map(Vec::len).sum();
    assert!(all > least && answered.len() > 5, "{all} answers, of {} schemes", answered.len());
    for (scheme, asked) in &answered {
        assert!(!forbidden.contains(&&**scheme), "{scheme}: {:?}", asked[0]);
        let known = groupkey::catalogue::scheme(scheme).expect("it is in the catalogue");
        assert_ne!(known.provenance, Provenance::StandIn, "{scheme}");
        for requirements in asked {
            let Security { passive, active, .. } = &requirements.security;
            let kept = [("passive", &usual.passive, passive), ("active", &usual.active, active)];
            for (adversary, usual, required) in kept {
                for claim in usual.iter().filter(|claim| required.contains(claim)) {
                    assert!(holds(scheme, adversary, claim), "{scheme}: {adversary} {claim}");
                }
            }
        }
    }
}

#[test]
fn examples_require_what_is_required_by_default() {
    for (name, text) in EXAMPLES {
        let draft = RequirementsDraft::parse(text, name.as_ref(), &()).expect("an example");
        let Security { passive, active, .. } = draft.finish().expect("it is possible").security;
        let usual = Security::default();
        assert!(usual.passive.iter().all(|claim| passive.contains(claim)), "{name}");
        assert!(usual.active.iter().all(|claim| active.contains(claim)), "{name}");
    }
}

#[test]
#[ignore = "long: half a minute, the same answers on any number of threads"]
fn validation_does_not_depend_on_the_number_of_threads() {
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
