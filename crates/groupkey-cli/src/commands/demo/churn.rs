//! Members join and leave, and each change is timed until the last member has the new key.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use groupkey::{Epoch, Operation};
use groupkey_choose::number::figure;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

use super::group::{ChangeTimes, DemoGroup};
use crate::failure::Failure;
use crate::table::{Column, Table, figure_if_any};

#[derive(Debug, Serialize)]
struct OperationRow {
    operation: &'static str,
    epoch: u64,
    /// All of them have the key; otherwise there is no row.
    members: usize,
    /// From the request until the service has the new key, ms.
    made_ms: f64,
    /// From the request until the last member has it, ms.
    everywhere_ms: f64,
}

/// All operations after the group was founded.
#[derive(Debug, Serialize)]
struct ChurnSummary {
    operations: u32,
    members: usize,
    /// Keys that did not reach a member right after the key before.
    out_of_order: u32,
    /// Messages that reached a member a second time.
    repeated: u64,
    /// Messages that reached a member before an earlier one that it had missed.
    skipped: u64,
    /// None without an addition or a removal.
    add_mean_ms: Option<f64>,
    add_max_ms: Option<f64>,
    remove_mean_ms: Option<f64>,
    remove_max_ms: Option<f64>,
}

pub(super) async fn churn(
    group: &mut DemoGroup,
    founders: u32,
    operations: u32,
    seed: u64,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut members: BTreeSet<u32> = (0..founders).collect();
    let begin = Instant::now();
    members.iter().for_each(|&number| group.arrive(number));
    let founded = group.agree(&members, Epoch(0), begin).await?;
    let mut progress = OperationPrinter { table: table(), json, out };
    let mut rows = vec![row(Operation::Create, founded, &members)];
    progress.begin(&rows[0])?;
    let before = Lapses::of(group).await?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut epoch = founded.epoch;
    let mut newcomer = founders;
    for turn in 0..operations {
        let begin = Instant::now();
        let operation = if turn % 2 == 0 {
            group.arrive(newcomer);
            members.insert(newcomer);
            newcomer += 1;
            Operation::Add
        } else {
            let place = rng.next_u64() % members.len() as u64;
            let leaving = members.iter().copied().nth(place as usize).expect("it is below");
            members.remove(&leaving);
            group.evict(leaving).await?;
            Operation::Remove
        };
        let change = group.agree(&members, epoch, begin).await?;
        epoch = change.epoch;
        let row = row(operation, change, &members);
        progress.tell(&row)?;
        rows.push(row);
    }
    // A message that comes twice has come by now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    group.assert_secret(&members).await?;
    let summary = ChurnSummary::new(&rows, operations, &before, &Lapses::of(group).await?);
    progress.end(&summary)
}

/// Prints each operation when it is done.
struct OperationPrinter<'o> {
    table: Table,
    json: bool,
    out: &'o mut dyn Write,
}

impl OperationPrinter<'_> {
    fn begin(&mut self, first: &OperationRow) -> Result<(), Failure> {
        if !self.json {
            write!(self.out, "{}", self.table)?;
        }
        self.tell(first)
    }

    fn tell(&mut self, row: &OperationRow) -> Result<(), Failure> {
        let line = if self.json {
            serde_json::to_string(row).expect("a row is plain data")
        } else {
            self.table.line([
                row.operation.to_owned(),
                row.epoch.to_string(),
                row.members.to_string(),
                figure(row.made_ms),
                figure(row.everywhere_ms),
            ])
        };
        writeln!(self.out, "{line}")?;
        Ok(self.out.flush()?)
    }

    fn end(self, summary: &ChurnSummary) -> Result<(), Failure> {
        if self.json {
            let line = serde_json::to_string(summary).expect("it is plain data");
            return Ok(writeln!(self.out, "{line}")?);
        }
        let ChurnSummary { out_of_order, repeated, skipped, .. } = summary;
        Ok(writeln!(
            self.out,
            "\nmade: until the service has the new key, everywhere: until the last member has it.\n\
             add {} ms on average, {} at most; remove {} and {}.\n\
             Keys out of order: {out_of_order}. Messages that came twice: {repeated}; after a gap: \
             {skipped}.",
            figure_if_any(summary.add_mean_ms),
            figure_if_any(summary.add_max_ms),
            figure_if_any(summary.remove_mean_ms),
            figure_if_any(summary.remove_max_ms),
        )?)
    }
}

fn table() -> Table {
    Table::new([
        Column::text("operation"),
        Column::number("epoch"),
        Column::number("members"),
        Column::number("made, ms"),
        Column::number("everywhere, ms"),
    ])
}

fn row(operation: Operation, change: ChangeTimes, members: &BTreeSet<u32>) -> OperationRow {
    OperationRow {
        operation: operation.name(),
        epoch: change.epoch.0,
        members: members.len(),
        made_ms: change.made.as_secs_f64() * 1e3,
        everywhere_ms: change.everywhere.as_secs_f64() * 1e3,
    }
}

/// Events that should not happen, counted over all members.
struct Lapses {
    out_of_order: u32,
    repeated: u64,
    skipped: u64,
}

impl Lapses {
    async fn of(group: &DemoGroup) -> Result<Self, Failure> {
        let counters = group.member_counters().await?;
        Ok(Self {
            out_of_order: group.out_of_order(),
            repeated: counters.iter().map(|counters| counters.replayed).sum(),
            skipped: counters.iter().map(|counters| counters.skipped).sum(),
        })
    }
}

impl ChurnSummary {
    fn new(rows: &[OperationRow], operations: u32, before: &Lapses, after: &Lapses) -> Self {
        let times = |operation: Operation| {
            let of = rows.iter().filter(|row| row.operation == operation.name());
            let times: Vec<f64> = of.map(|row| row.everywhere_ms).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            (Some(mean).filter(|mean| !mean.is_nan()), times.into_iter().reduce(f64::max))
        };
        let ((add_mean_ms, add_max_ms), (remove_mean_ms, remove_max_ms)) =
            (times(Operation::Add), times(Operation::Remove));
        Self {
            operations,
            members: rows.last().map_or(0, |row| row.members),
            out_of_order: after.out_of_order - before.out_of_order,
            repeated: after.repeated - before.repeated,
            skipped: after.skipped - before.skipped,
            add_mean_ms,
            add_max_ms,
            remove_mean_ms,
            remove_max_ms,
        }
    }
}
