//! The benchmark measures every scheme, always the same, and counts what the rig counts.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use groupkey::catalogue::{Class, Profile, SCHEMES, Scheme, scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::Guard;
use groupkey::{PartyId, Suite};
use groupkey_lab::bench::{
    Activity, BenchPlan, BenchRow, Function, HostPrices, Instruments, Measurement, measure,
};
use groupkey_lab::device::measure::Effort;
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

#[test]
fn every_scheme_is_measured_in_all_that_it_does() {
    let mut prices = prices();
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            // Pairings take a hundred times as long.
            let sizes = if scheme.computes_pairings() { &[3][..] } else { &[2, 5, 17] };
            for &members in sizes {
                let plan = BenchPlan { profile, ..everything(scheme) };
                let measurement = measured(&plan, members, &mut prices);
                check_roles(&plan, members, &measurement);
                measurement.rows.iter().for_each(check_row);
            }
        }
    }
}

/// What does not depend on the machine is the same whenever and wherever it is measured.
#[test]
fn a_benchmark_that_is_run_again_counts_the_same() {
    let mut prices = prices();
    for id in ["lkh-user", "s2rp", "nishat", "riseg", "iolus", "gdh3", "tgdh", "ckd", "d-oft"] {
        let plan = everything(scheme(id).expect("in the catalogue"));
        let lasting = |plan: &BenchPlan, prices: &mut HostPrices| {
            let rows = measured(plan, 9, prices).rows;
            rows.iter().map(without_times).collect::<Vec<_>>()
        };
        let once = lasting(&plan, &mut prices);
        assert_eq!(once, lasting(&plan, &mut prices), "{id}");
        // A row does not depend on what else is asked for.
        for activity in [Activity::Create, Activity::Encrypt] {
            let alone = BenchPlan { activities: vec![activity], ..plan.clone() };
            let of_it = |row: &&BenchRow| row.operation == activity.name();
            let expected: Vec<_> = once.iter().filter(of_it).cloned().collect();
            assert_eq!(lasting(&alone, &mut prices), expected, "{id}");
        }
    }
}

#[test]
fn the_controller_counts_what_it_counts_in_the_rig() {
    let mut prices = prices();
    for scheme in SCHEMES.iter().filter(|scheme| scheme.class() != Class::Distributed) {
        let n = if scheme.computes_pairings() { 5 } else { 20 };
        let plan = BenchPlan { repetitions: 1, ..everything(scheme) };
        let rows = measured(&plan, n, &mut prices).rows;
        for (activity, report) in in_the_rig(scheme, n) {
            let row = find(&rows, activity, "controller");
            // Sizes of primes, and so what is done with them, depend on chance.
            if scheme.id != "nishat" {
                assert_eq!(
                    counts(row),
                    counts_of(&report.meter(PartyId::Controller)),
                    "{} at {}",
                    scheme.id,
                    activity.name()
                );
            }
            let sent: Vec<_> =
                report.open_messages().filter(|sent| sent.from == PartyId::Controller).collect();
            assert_eq!(row.messages as usize, sent.len(), "{}", scheme.id);
            let wire: usize = sent.iter().map(|sent| sent.bytes.len()).sum();
            if scheme.id != "nishat" {
                assert_eq!(row.wire_bytes as usize, wire, "{} at {}", scheme.id, activity.name());
            }
        }
    }
}

#[test]
fn the_sponsor_counts_what_the_busiest_member_counts_in_the_rig() {
    let mut prices = prices();
    for id in ["gdh1", "gdh2", "gdh3", "tgdh", "str", "dh-lkh", "ckd"] {
        let scheme = scheme(id).expect("in the catalogue");
        let plan = BenchPlan { repetitions: 1, ..everything(scheme) };
        let rows = measured(&plan, 8, &mut prices).rows;
        for (activity, report) in in_the_rig(scheme, 8) {
            let most = report
                .meters
                .iter()
                .filter(|(party, _)| **party != PartyId::Member(groupkey::MemberId(8)))
                .map(|(_, meter)| meter.exponentiations())
                .max();
            let row = find(&rows, activity, "sponsor");
            let powers: f64 = ["exponentiate", "exponentiate-generator"]
                .iter()
                .filter_map(|name| row.primitives.get(*name))
                .map(|count| count.calls)
                .sum();
            assert_eq!(Some(powers as u64), most, "{id} at {}", activity.name());
        }
    }
}

/// Only members that are looked at exist, so that a city costs what its controller costs.
#[test]
fn a_large_group_is_measured_as_a_small_one() {
    let mut prices = prices();
    for id in ["skdc", "lkh-group", "igkmp"] {
        let plan = BenchPlan {
            repetitions: 2,
            ..BenchPlan::new(scheme(id).expect("in the catalogue"), vec![])
        };
        let rows = measured(&plan, 4_000, &mut prices).rows;
        assert_eq!(find(&rows, Activity::Remove, "member").members, 4_000);
        let sent: u64 = match id {
            "skdc" => 4_000,
            "lkh-group" => 4_000,
            _ => 55,
        };
        let row = find(&rows, Activity::Create, "controller");
        assert!(row.messages >= 1 && row.messages <= sent, "{id}: {}", row.messages);
    }
}

#[test]
fn encryption_is_measured_per_byte() {
    let mut prices = prices();
    let of_bytes = |message_bytes: u32, prices: &mut HostPrices| {
        let skdc = scheme("skdc").expect("in the catalogue");
        let activities = vec![Activity::Encrypt, Activity::Decrypt];
        let plan = BenchPlan { message_bytes, activities, ..everything(skdc) };
        measured(&plan, 3, prices).rows
    };
    for (bytes, primitive, activity) in [
        (0, "seal", Activity::Encrypt),
        (50, "seal", Activity::Encrypt),
        (50, "unseal", Activity::Decrypt),
    ] {
        let rows = of_bytes(bytes, &mut prices);
        let row = find(&rows, activity, "member");
        assert_eq!(row.message_bytes, Some(bytes));
        assert_eq!(row.primitives.keys().collect::<Vec<_>>(), [primitive]);
        assert_eq!(row.primitives[primitive].calls, 1.0);
        let sent = u64::from(activity == Activity::Encrypt);
        assert_eq!((row.messages, row.payload_bytes), (sent, sent * u64::from(bytes)));
    }
}

#[test]
fn suites_and_protections_have_rows_of_their_own() {
    let mut prices = prices();
    let tgdh = scheme("tgdh").expect("in the catalogue");
    for suite in [Suite::Constrained, Suite::Published, Suite::Modp3072] {
        let plan = BenchPlan { suite, repetitions: 1, ..everything(tgdh) };
        let row = &measured(&plan, 3, &mut prices).rows[0];
        assert_eq!((&*row.suite, row.security_bits), (suite.name(), suite.security_bits()));
    }
    // Without the suite's group, its strength does not matter.
    let skdc = scheme("skdc").expect("in the catalogue");
    let plan = BenchPlan { suite: Suite::Published, repetitions: 1, ..everything(skdc) };
    assert_eq!(measured(&plan, 3, &mut prices).rows[0].security_bits, 128);
    for protection in Guard::ALL {
        let plan = BenchPlan { protection, repetitions: 1, ..everything(skdc) };
        let rows = measured(&plan, 3, &mut prices).rows;
        let signed = find(&rows, Activity::Create, "controller").primitives.contains_key("sign");
        assert_eq!(signed, protection.signs());
    }
}

fn check_roles(plan: &BenchPlan, members: u32, measurement: &Measurement) {
    let id = plan.scheme.id;
    for activity in plan.activities() {
        let refused = measurement.refused.iter().any(|(refused, _)| *refused == activity);
        let rows: Vec<_> =
            measurement.rows.iter().filter(|row| row.operation == activity.name()).collect();
        assert_eq!(rows.is_empty(), refused, "{id} at {} of {members}", activity.name());
        // The smallest groups cannot lose anybody; from five on everything is done.
        assert!(!refused || members < 5, "{id} refuses {} of {members}", activity.name());
        let specified = Function::of(plan.scheme, activity);
        for row in rows {
            let known = specified
                .iter()
                .any(|f| (f.role.name(), f.phase.name()) == (&*row.role, &*row.phase));
            assert!(
                known,
                "{id}: {} at {}, {} is not specified",
                row.role, row.operation, row.phase
            );
        }
    }
}

fn check_row(row: &BenchRow) {
    let what = format!("{} {} {} {}", row.scheme, row.operation, row.role, row.phase);
    assert_eq!(row.samples_ns.len(), row.repetitions as usize, "{what}");
    assert!(row.p50_ns <= row.p90_ns && row.p90_ns <= row.p99_ns, "{what}");
    let kinds = [row.unicast, row.multicast, row.broadcast];
    let messages: u64 = kinds.iter().map(|kind| kind.messages).sum();
    let wire: u64 = kinds.iter().map(|kind| kind.wire_bytes).sum();
    assert_eq!((row.messages, row.wire_bytes), (messages, wire), "{what}");
    assert!(row.wire_bytes >= row.payload_bytes, "{what}");
    assert_eq!(row.counted_ns > 0.0, row.measured_over_counted.is_some(), "{what}");
}

/// What a row says about the scheme, and not about the machine.
fn without_times(row: &BenchRow) -> BenchRow {
    BenchRow {
        mean_ns: 0.0,
        ci95_ns: Some(0.0),
        sd_ns: Some(0.0),
        p50_ns: 0.0,
        p90_ns: 0.0,
        p99_ns: 0.0,
        counted_ns: 0.0,
        measured_over_counted: None,
        samples_ns: Vec::new(),
        warnings: Vec::new(),
        ..row.clone()
    }
}

/// The same operations in the rig, each after a creation of its own.
fn in_the_rig(scheme: &'static Scheme, n: u32) -> Vec<(Activity, OperationReport)> {
    let created = || {
        let mut rig = Rig::new(scheme, Settings::default());
        let report = rig.create(n).expect("a group");
        (rig, report)
    };
    let operations = [Activity::Create, Activity::Add, Activity::Remove, Activity::Rekey];
    operations
        .into_iter()
        .filter(|activity| activity.is_of(scheme))
        .map(|activity| {
            let (mut rig, report) = created();
            let report = match activity {
                Activity::Add => rig.add(n).expect("a member joins"),
                Activity::Remove => rig.remove(n / 2).expect("a member leaves"),
                Activity::Rekey => rig.rekey().expect("a new period begins"),
                _ => report,
            };
            (activity, report)
        })
        .collect()
}

pub(crate) fn find<'r>(rows: &'r [BenchRow], activity: Activity, role: &str) -> &'r BenchRow {
    rows.iter()
        .find(|row| {
            (&*row.operation, &*row.role, &*row.phase) == (activity.name(), role, "operational")
        })
        .unwrap_or_else(|| panic!("no row of the {role} at {}", activity.name()))
}

fn counts(row: &BenchRow) -> Vec<(String, u64, u64)> {
    let mut counts: Vec<_> = row
        .primitives
        .iter()
        .map(|(name, count)| (name.clone(), count.calls as u64, count.amount as u64))
        .collect();
    counts.sort();
    counts
}

fn counts_of(meter: &Meter) -> Vec<(String, u64, u64)> {
    let mut counts: Vec<_> = Primitive::ALL
        .into_iter()
        .map(|primitive| (primitive.name().to_owned(), meter.tally(primitive)))
        .filter(|(_, tally)| tally.calls > 0)
        .map(|(name, tally)| (name, tally.calls, tally.amount))
        .collect();
    counts.sort();
    counts
}

fn everything(scheme: &'static Scheme) -> BenchPlan {
    BenchPlan {
        activities: Activity::ALL.to_vec(),
        repetitions: 2,
        ..BenchPlan::new(scheme, vec![])
    }
}

pub(crate) fn measured(plan: &BenchPlan, members: u32, prices: &mut HostPrices) -> Measurement {
    let stop = AtomicBool::new(false);
    let mut instruments = Instruments { prices, stop: &stop, on_repetition: &|| () };
    measure(plan, members, &mut instruments)
        .unwrap_or_else(|error| panic!("{} of {members}: {error}", plan.scheme.id))
        .expect("nobody stops it")
}

pub(crate) fn prices() -> HostPrices {
    HostPrices::new(Effort { batches: 1, batch: Duration::from_micros(20) })
}
