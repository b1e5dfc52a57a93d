use proptest::prelude::*;

use super::*;
use crate::bench::BenchRow;
use crate::bench::example::row;
use crate::results::example::{samples, setting};
use crate::results::{NetworkRow, RowSetting, RunSample};

#[test]
fn the_same_rows_have_not_changed() {
    let rows = [row("skdc", 10), row("skdc", 20)];
    let comparison = Comparison::of(&rows, &rows).expect("rows that can be matched");
    assert_eq!(comparison.matched.len(), 2);
    assert!(comparison.matched.iter().all(|row| row.changes.is_empty()));
    assert!(comparison.matched.iter().all(|row| row.time.corrected_p_value == 1.0));
    assert_eq!(comparison.overlapping(), Some(1.0));
}

#[test]
fn one_byte_more_is_told_with_its_column() {
    let before = row("skdc", 10);
    let mut after = before.clone();
    after.unicast.wire_bytes += 1;
    after.primitives.get_mut("wrap").expect("it wraps").calls += 1.0;
    let comparison = Comparison::of(&[before], &[after]).expect("rows that can be matched");
    let columns: Vec<_> = comparison.matched[0].changes.iter().map(|c| &*c.column).collect();
    assert_eq!(columns, ["unicast_wire_bytes", "primitives_wrap_calls"]);
}

#[test]
fn rows_that_one_file_lacks_are_told() {
    let (a, b, c) = (row("skdc", 10), row("skdc", 20), row("oft", 10));
    let comparison = Comparison::of(&[a, b.clone()], &[b, c]).expect("rows that can be matched");
    assert_eq!((comparison.missing.len(), comparison.new.len()), (1, 1));
    assert!(comparison.missing[0].to_string().starts_with("skdc"), "{}", comparison.missing[0]);
    assert!(comparison.new[0].to_string().starts_with("oft"), "{}", comparison.new[0]);
}

#[test]
fn rows_that_measure_the_same_cannot_be_matched() {
    let twice = [row("skdc", 10), row("skdc", 10)];
    let ambiguous = |before: &[BenchRow], after: &[BenchRow]| {
        Comparison::of(before, after).expect_err("two rows of one key").file
    };
    assert_eq!(ambiguous(&twice, &[]), 1);
    assert_eq!(ambiguous(&[], &twice), 2);
}

/// The workloads `centralized` and `nishat` encrypt messages of several lengths.
#[test]
fn messages_of_other_lengths_are_other_rows() {
    let of = |message_bytes| BenchRow { message_bytes: Some(message_bytes), ..row("skdc", 10) };
    let rows = [of(50), of(500), row("skdc", 10)];
    let comparison = Comparison::of(&rows, &rows[1..]).expect("rows that can be matched");
    assert_eq!((comparison.matched.len(), comparison.missing.len()), (2, 1));
    assert!(comparison.missing[0].to_string().ends_with("10 0 50"), "{}", comparison.missing[0]);
    assert!(comparison.matched[1].key.to_string().ends_with("10 0"));
}

/// A difference that chance explains is no change. A value that is the same in all runs does not
/// depend on chance.
#[test]
fn means_over_other_runs_may_differ_by_chance() {
    let before = NetworkRow::from_samples(setting(), samples());
    let of = |seed, change: fn(&mut RunSample)| {
        let mut samples = samples();
        samples.iter_mut().for_each(change);
        samples[0].wire_bytes += 30;
        NetworkRow::from_samples(RowSetting { seed, ..setting() }, samples)
    };
    let changed = |after: NetworkRow| {
        let before = std::slice::from_ref(&before);
        let comparison = Comparison::of(before, &[after]).expect("one row each");
        let changes = comparison.matched[0].changes.iter();
        changes.map(|change| change.column.clone()).collect::<Vec<_>>()
    };
    assert_eq!(changed(of(42, |_| ())), ["wire_bytes"]);
    assert_eq!(changed(of(43, |_| ())), [""; 0]);
    assert_eq!(changed(of(43, |run| run.retransmissions = 7)), ["retransmissions"]);
    assert_eq!(changed(of(43, |run| run.wire_bytes *= 1_000)), [""; 0], "two runs tell little");
    let mut more = of(42, |_| ());
    more.runs += 1;
    assert_eq!(changed(more), [""; 0]);
    let unkept = |seed| NetworkRow { samples: Vec::new(), ..of(seed, |run| run.messages += 1) };
    assert_eq!(changed(unkept(43)), [""; 0]);
    assert_eq!(changed(unkept(42)), ["messages", "wire_bytes"]);
}

/// The interval is that of the rounds' means. The effect is told in the spread of repetitions.
#[test]
fn an_effect_does_not_grow_with_the_repetitions() {
    let of = |mean_ns| {
        let (repetitions, sd_ns) = (1_000, 10.0);
        // Five means of 200 repetitions each: Student's quantile times their standard error.
        let ci95_ns = 2.776 * sd_ns / f64::from(repetitions).sqrt();
        let (sd_ns, ci95_ns) = (Some(sd_ns), Some(ci95_ns));
        BenchRow { repetitions, mean_ns, sd_ns, ci95_ns, ..row("skdc", 10) }
    };
    let comparison = Comparison::of(&[of(1_000.0)], &[of(1_001.0)]).expect("one row each");
    let effect = comparison.matched[0].time.effect.expect("there is spread");
    assert!((effect - 0.1).abs() < 0.02, "{effect}");
}

/// A time that is twice as long, with little spread, is not chance. A time 0.1 % longer is.
#[test]
fn a_time_has_changed_if_chance_does_not_explain_it() {
    let before = row("skdc", 10);
    for (factor, changed) in [(2.0, true), (1.001, false), (1.0, false)] {
        let mut after = before.clone();
        after.mean_ns *= factor;
        let comparison =
            Comparison::of(std::slice::from_ref(&before), &[after]).expect("one row each");
        let time = comparison.matched[0].time;
        assert_eq!(time.is_significant(5.0), changed, "{factor}: {time:?}");
        assert_eq!(time.intervals_overlap, !changed, "{factor}: {time:?}");
    }
}

/// With many rows, some look significant by themselves. The correction knows how many rows there
/// are.
#[test]
fn many_rows_are_corrected_for() {
    let before: Vec<_> = (2..42).map(|members| row("skdc", members)).collect();
    let mut after = before.clone();
    // 2.2 standard errors of the difference: p is 0.03 for one row.
    let sd_ns = before[0].sd_ns.expect("there is spread");
    let error = sd_ns * (2.0 / f64::from(before[0].repetitions)).sqrt();
    after[7].mean_ns += 2.2 * error;
    let comparison = Comparison::of(&before, &after).expect("rows that can be matched");
    let time = comparison.matched[7].time;
    assert!(time.p_value < Comparison::LEVEL, "{time:?}");
    assert!(!time.is_significant(0.0), "{time:?}");
}

/// One repetition has no spread. Its row is neither changed nor unchanged, and does not affect the
/// others.
#[test]
fn a_single_repetition_cannot_be_tested() {
    let single = |members, mean_ns| {
        let row = row("skdc", members);
        BenchRow { repetitions: 1, mean_ns, sd_ns: None, ci95_ns: None, ..row }
    };
    let (before, after) = (single(10, 1_000.0), single(10, 9_000.0));
    let alone = Comparison::of(std::slice::from_ref(&before), std::slice::from_ref(&after));
    let alone = alone.expect("one row each");
    assert!(!alone.matched[0].time.is_tested);
    assert_eq!((alone.tested(), alone.overlapping()), (0, None));

    let repeated = row("skdc", 20);
    let mut slower = repeated.clone();
    slower.mean_ns *= 1.01;
    let comparison = Comparison::of(&[before, repeated], &[after, slower]).expect("two each");
    let time = comparison.matched[1].time;
    assert_eq!(comparison.tested(), 1);
    assert_eq!(time.corrected_p_value, time.p_value, "there is nothing to correct for");
}

#[test]
fn what_is_modelled_is_compared_for_one_device_only() {
    let of = |device: Option<&str>, device_ns| BenchRow {
        device: device.map(str::to_owned),
        device_ns: Some(device_ns),
        ..row("skdc", 10)
    };
    let compared = |before: BenchRow, after: BenchRow| {
        let comparison = Comparison::of(&[before], &[after]).expect("one row each");
        let devices: Vec<_> = comparison.other_devices.iter().cloned().collect();
        (comparison.matched[0].changes.len(), devices)
    };
    let (none, m4) = (row("skdc", 10), of(Some("cortex-m4"), 7.0));
    assert_eq!(compared(none, m4.clone()), (0, vec![[None, Some("cortex-m4".to_owned())]]));
    assert_eq!(compared(m4.clone(), of(Some("host"), 1.0)).0, 0);
    assert_eq!(compared(m4, of(Some("cortex-m4"), 8.0)), (1, Vec::new()));
}

#[test]
fn rows_that_are_missing_keep_their_order() {
    let rows = [row("skdc", 9), row("skdc", 10), row("oft", 100)];
    let comparison = Comparison::of(&rows, &[]).expect("rows that can be matched");
    let members: Vec<_> = comparison.missing.iter().map(|key| &*key.0[9]).collect();
    assert_eq!(members, ["9", "10", "100"]);
}

proptest! {
    /// Any numbers in a file can be compared: there is no panic, and probabilities are from 0 to 1.
    #[test]
    fn any_numbers_can_be_compared(
        numbers in prop::collection::vec((0.0..=f64::MAX, 0.0..=f64::MAX, 0..=u32::MAX), 2..6)
    ) {
        let made = |(mean, sd, repetitions): &(f64, f64, u32)| {
            BenchRow { mean_ns: *mean, sd_ns: Some(*sd), repetitions: *repetitions, ..row("skdc", 2) }
        };
        for pair in numbers.windows(2) {
            let comparison = Comparison::of(&[made(&pair[0])], &[made(&pair[1])]).expect("one each");
            let p = comparison.matched[0].time.corrected_p_value;
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }
    }
}
