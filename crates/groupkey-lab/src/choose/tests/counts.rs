//! What is counted, priced and recorded.
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use groupkey::Operation;
use groupkey::catalogue::scheme;
use groupkey::protection::Guard;
use groupkey_choose::Moment;
use groupkey_choose::device::{DevicePrices as Prices, RadioPrices};
use groupkey_choose::evidence::{CountTable, Evidence, Sample, SchemeFacts, Uses};

use super::GOING_ON;
use crate::choose::counting::count;
use crate::choose::evidence::evidence;
use crate::choose::variants::{CountedScheme, SUITES, subjects};
use crate::choose::{EvidenceOptions, make_devices, make_radios};
use crate::device::Board;

fn subject(id: &str, parameters: &[(&'static str, u32)], suite: usize) -> CountedScheme {
    CountedScheme {
        scheme: scheme(id).expect("in the catalogue"),
        parameters: parameters.to_vec(),
        suite: SUITES[suite],
        sizes: Vec::new(),
    }
}

fn counted(subject: &CountedScheme, operation: Operation, members: u32, guard: Guard) -> Sample {
    let samples =
        count(subject, operation, false, Moment::fresh(members), guard, 1).expect("it completes");
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
                let derived = evidence.counts(&variant, operation.name(), Moment::fresh(12));
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

/// Writes a file of what `choose` knows: `tools/record boards`.
fn record<T: serde::Serialize>(name: &str, all: Vec<T>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../groupkey-choose/data").join(name);
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
        let options = EvidenceOptions::quick(threads, &GOING_ON);
        evidence(&few, &options).expect("it completes").to_text()
    };
    let text = made(1);
    assert_eq!(text, made(3));
    assert_eq!(Evidence::parse(&text).map(|read| read.to_text()), Ok(text));
}

#[test]
fn counting_can_be_stopped() {
    let stop = AtomicBool::new(true);
    let options = EvidenceOptions::quick(2, &stop);
    assert_eq!(
        evidence(&subjects(true), &options).map(|_| ()),
        Err(crate::choose::EvidenceRunError::Interrupted)
    );
}
