//! Processor time of the same operations, measured on this machine where it is asked for.

use std::io;

use groupkey::catalogue::{Profile, Scheme};

use super::contender::GroupPast;
use super::row::{MeasuredEffort, PeerRow};
use crate::bench::{self, BenchError, BenchOptions, BenchOutcome, BenchPlan, BenchRow, HostPrices};
use crate::device::measure::Effort;

/// Measures the operations of new groups, and writes the times into their rows. Returns whether it came
/// to the end. Schemes that were not run are not measured, nor are groups above `most_members`.
pub fn measure(
    rows: &mut [PeerRow],
    schemes: &[&'static Scheme],
    most_members: u32,
    repetitions: u32,
    options: &BenchOptions<'_>,
) -> Result<bool, BenchError> {
    let plans = schemes.iter().filter_map(|scheme| {
        let of_scheme = rows.iter().filter(|row| {
            row.scheme == scheme.id
                && row.past == GroupPast::New.name()
                && row.members <= most_members
        });
        let mut members: Vec<u32> = of_scheme.map(|row| row.members).collect();
        members.sort_unstable();
        members.dedup();
        let plan = BenchPlan {
            workload: "peers".to_owned(),
            protection: scheme.default_protection(Profile::Sound),
            repetitions,
            ..BenchPlan::new(scheme, members)
        };
        (!plan.members.is_empty()).then_some(plan)
    });
    let plans: Vec<BenchPlan> = plans.collect();
    let mut prices = HostPrices::new(Effort::QUICK);
    let mut measured: Vec<BenchRow> = Vec::new();
    let outcome = bench::run(&bench::units(&plans), &mut prices, options, &mut |new| {
        measured.extend_from_slice(new);
        io::Result::Ok(())
    })?;
    for row in rows.iter_mut().filter(|row| row.past == GroupPast::New.name()) {
        row.measured = of_row(row, &measured);
    }
    Ok(outcome == BenchOutcome::Finished)
}

fn of_row(row: &PeerRow, measured: &[BenchRow]) -> Option<MeasuredEffort> {
    let of = |roles: &[&str]| {
        let is_it = |bench: &&BenchRow| {
            (&bench.scheme, &bench.operation, bench.members)
                == (&row.scheme, &row.operation, row.members)
                && bench.phase == "operational"
                && roles.contains(&&*bench.role)
        };
        measured.iter().find(is_it).map(|bench| bench.mean_ns / 1e3)
    };
    let effort = MeasuredEffort {
        sender_us: of(&["controller", "sponsor"]),
        member_us: of(&["member"]),
        newcomer_us: of(&["new-member"]),
    };
    (effort != MeasuredEffort::default()).then_some(effort)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn rows_of_new_groups_get_times() {
        let mut rows = ["new", "departed"]
            .map(|past| PeerRow { past: past.to_owned(), ..PeerRow::example("skdc", 4, 1.0) });
        let stop = AtomicBool::new(false);
        let options =
            BenchOptions { stop: &stop, on_progress: &|_, _| (), on_refusal: &|_, _, _| () };
        let skdc = scheme("skdc").expect("in the catalogue");
        assert!(measure(&mut rows, &[skdc], 10, 2, &options).expect("it can be measured"));
        let time = rows[0].measured.expect("it was measured");
        assert!(time.sender_us > Some(0.0) && time.member_us > Some(0.0));
        assert_eq!((time.newcomer_us, rows[1].measured), (None, None));
    }
}
