//! The network-impact study: its calibration holds, and each finding can come out either way.

use std::sync::atomic::AtomicBool;

use groupkey_lab::campaign::{self, Options};
use groupkey_lab::report::Outcome;
use groupkey_lab::reproduce::network_impact::{compare, plans, verdicts};
use groupkey_lab::results::{NetworkRow, RunSample};

#[test]
fn calibrated_and_predicted_values_come_out_without_loss() {
    let mut plans = plans(1, 1);
    plans.retain(|plan| plan.link.initial.loss_percent == 0.0);
    plans.retain(|plan| [20, 200].contains(&plan.members));
    let stop = AtomicBool::new(false);
    let options = Options { threads: 2, stop: &stop, on_progress: &|_| {} };
    let mut rows = Vec::new();
    campaign::run(&plans, &options, &mut |row| {
        rows.push(row.clone());
        Ok(())
    })
    .expect("the plans run");

    let values = compare(&rows);
    let ratio = |key: &str| {
        let value = values.iter().find(|value| value.key == key).expect("a published value");
        value.ours / value.published
    };
    for (key, tolerance) in [
        ("skdc_create_n200_loss0_delay0", 0.01),
        ("gdh_create_transmission_n20_loss0_delay0", 0.01),
        ("gdh_create_transmission_n20_loss0_delay100", 0.02),
    ] {
        assert!((ratio(key) - 1.0).abs() < tolerance, "{key}: {}", ratio(key));
    }

    // S000 prints total and transmission under loss; their difference does not depend on it.
    let published = |key: &str| values.iter().find(|v| v.key == key).map(|v| v.published);
    let total = published("gdh_create_total_n20_loss10_delay0").expect("a published value");
    let transmission = published("gdh_create_transmission_n20_loss10_delay0");
    let computation = total - transmission.expect("a published value");
    let gdh = rows
        .iter()
        .find(|row| (row.setting.members, row.setting.operation.as_str()) == (20, "create"));
    let ours = gdh.expect("a row").computation_ms;
    assert!((ours / computation - 1.0).abs() < 0.01, "{ours} against {computation}");
}

#[test]
fn every_finding_is_confirmed_where_it_holds() {
    for verdict in verdicts(&world(|_| {})) {
        assert_eq!(verdict.outcome, Outcome::Confirmed, "{}: {}", verdict.id, verdict.evidence);
    }
}

#[test]
fn every_finding_is_refuted_where_it_fails() {
    type Change = fn(&mut NetworkRow);
    let changes: [(&str, Change); 8] = [
        ("f1", |row| {
            if is(row, "skdc", "create")
                && (row.setting.loss_percent, row.setting.delay_ms) == (10.0, 0.0)
            {
                scale(row, 20.0);
            }
        }),
        ("f2", |row| {
            if is(row, "lkh-group", "create") {
                scale(row, 1.5);
            }
        }),
        ("f3", |row| {
            if is(row, "lkh-key", "add") && row.setting.members == 200 {
                scale(row, 1.2);
            }
        }),
        ("f4", |row| {
            if is(row, "lkh-user", "remove") {
                scale(row, 0.5);
            }
        }),
        ("f5", |row| {
            if is(row, "lkh-key", "create") && row.setting.members == 200 {
                scale(row, 40.0);
            }
        }),
        ("f6", |row| {
            if is(row, "gdh2-relay", "remove") {
                scale(row, 2.0);
            }
        }),
        ("f7", |row| {
            if row.setting.loss_percent == 10.0 {
                let mean = row.mean_ms;
                row.samples.iter_mut().for_each(|sample| sample.total_ms = mean);
                row.sd_ms = Some(0.0);
            }
        }),
        ("f8", |row| {
            if is(row, "skdc", "add") {
                scale(row, 1.5);
            }
        }),
    ];
    for (id, change) in changes {
        let verdicts = verdicts(&world(change));
        let verdict = verdicts.iter().find(|verdict| verdict.id == id).expect("all are judged");
        assert_eq!(verdict.outcome, Outcome::Refuted, "{id}: {}", verdict.evidence);
        assert!(verdict.evidence.contains("fails in"), "{}", verdict.evidence);
    }
}

#[test]
fn nothing_is_decided_without_rows_or_by_chance() {
    for rows in [Vec::new(), world(|row| row.samples.truncate(1))] {
        for verdict in verdicts(&rows) {
            // One part of f7 and the computation in f6 need no spread; nothing may be confirmed.
            assert_ne!(verdict.outcome, Outcome::Confirmed, "{}", verdict.id);
        }
    }
}

#[test]
fn evidence_names_figures() {
    let verdicts = verdicts(&world(|_| {}));
    let evidence = &verdicts[0].evidence;
    assert!(evidence.contains("holds in 45 of 45 settings"), "{evidence}");
    assert!(evidence.contains("members, 10 % / 0 ms: ") && evidence.contains(" ± "), "{evidence}");
}

const RUNS: u32 = 30;

/// Rows of a world in which every finding holds, each changed as the caller wants.
fn world(change: impl Fn(&mut NetworkRow)) -> Vec<NetworkRow> {
    let mut rows = Vec::new();
    for plan in plans(RUNS, 1) {
        for (step, action) in plan.reported() {
            let conditions = plan.link.initial;
            let operation = action.operation().name();
            let sample = |run| {
                let network = (conditions.loss_percent, conditions.delay_ms);
                sample(plan.scheme.id, operation, plan.members, network, run)
            };
            let samples = (0..RUNS).map(sample).collect();
            let mut row = NetworkRow::from_samples(plan.setting(step), samples);
            change(&mut row);
            rows.push(row);
        }
    }
    rows
}

fn sample(
    scheme: &str,
    operation: &str,
    members: u32,
    (loss_percent, delay_ms): (f64, f64),
    run: u32,
) -> RunSample {
    let (exchanges, computation_ms) = match (scheme, operation) {
        ("gdh2-relay", "create") => (20.0, 1000.0),
        ("gdh2-relay", "add") => (2.0, 20.0 * f64::from(members)),
        ("gdh2-relay", _) => (1.0, 10.0 * f64::from(members)),
        ("skdc", _) => (1.0, 50.0),
        ("lkh-group", "create") => (1.0, 30.0),
        ("lkh-user", "create") => (1.0, 75.0),
        ("lkh-key", "create") => (1.0, 100.0),
        (_, "add") => (1.0, 20.0),
        ("lkh-group", _) => (1.0, 50.0),
        ("lkh-user", _) => (1.0, 80.0),
        _ => (1.0, 110.0),
    };
    let luck = f64::from(run * 7 % RUNS) / f64::from(RUNS) - 0.5;
    let transmission_ms = exchanges * (14.0 + 6.0 * delay_ms + loss_percent * (5.0 + luck));
    RunSample {
        total_ms: transmission_ms + computation_ms,
        transmission_ms,
        computation_ms,
        member_mean_ms: transmission_ms,
        messages: u64::from(members),
        payload_bytes: 100,
        wire_bytes: 1000,
        retransmissions: 0,
    }
}

fn is(row: &NetworkRow, scheme: &str, operation: &str) -> bool {
    (row.setting.scheme.as_str(), row.setting.operation.as_str()) == (scheme, operation)
}

fn scale(row: &mut NetworkRow, factor: f64) {
    row.samples.iter_mut().for_each(|sample| sample.total_ms *= factor);
}
