//! The rows of a benchmark as tables. Schemes with a controller and schemes without one never
//! share a table. A further list has the activities that schemes refuse at a size.

use std::collections::BTreeSet;
use std::io::{self, Write};

use groupkey::Error;
use groupkey::catalogue::{Class, Scheme};
use groupkey_choose::number::figure;
use groupkey_lab::bench::{Activity, BenchPlan, BenchRow, Unit};

use crate::failure::Failure;
use crate::output::remark;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table, WIDER};

/// Prints a table for each kind of scheme, below what all rows have in common.
pub(crate) fn print(
    plans: &[BenchPlan],
    rows: &[&BenchRow],
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(plan) = plans.first() else { return Ok(()) };
    let clock = rows.first().map_or("", |row| &row.clock);
    let text = &circumstances(plan, plans, clock);
    writeln!(out, "{}", Paragraph { indent: 0, text })?;
    let is_served = |row: &&&BenchRow| row.class != Class::Distributed.name();
    let (served, among_themselves): (Vec<_>, Vec<_>) =
        rows.iter().copied().partition(|row| is_served(&row));
    for (heading, rows) in
        [("With a controller", served), ("Members among themselves", among_themselves)]
    {
        if !rows.is_empty() {
            writeln!(out, "\n{heading}\n")?;
            print_table(plan, &rows, out)?;
        }
    }
    Ok(())
}

/// Prints what makes the times doubtful: the first few warnings, and how many more there are.
pub(crate) fn print_warnings(rows: &[&BenchRow], json: bool) {
    const SHOWN: usize = 3;
    let warnings: Vec<_> = rows
        .iter()
        .flat_map(|row| row.warnings.iter().map(move |warning| (row, warning)))
        .collect();
    for (row, warning) in warnings.iter().take(SHOWN) {
        let BenchRow { scheme, operation, role, phase, members, .. } = row;
        let text = format!(
            "warning: {scheme}, {role} at {operation} of {members} members, {phase} phase: {warning}"
        );
        remark(&Paragraph { indent: 0, text: &text }.to_string());
    }
    if warnings.len() > SHOWN {
        let all = if json { "each row has its own" } else { "--json has all" };
        remark(&format!("warning: {} more of this kind; {all}", warnings.len() - SHOWN));
    }
}

fn circumstances(plan: &BenchPlan, plans: &[BenchPlan], clock: &str) -> String {
    let BenchPlan { workload, profile, suite, protection, nonces, seed, device, .. } = plan;
    let repetitions: BTreeSet<u32> = plans.iter().map(|plan| plan.repetitions).collect();
    let repetitions: Vec<String> = repetitions.iter().map(u32::to_string).collect();
    let repetitions = repetitions.join(" or ");
    let device = device.as_ref().map_or_else(String::new, |device| {
        let radio = match &device.radio {
            Some(radio) => format!(", with one wake-up of its radio {}", radio.name),
            None => String::new(),
        };
        format!(
            " Modelled is what the counted primitives cost on {}, and µJ their energy{radio}.",
            device.label()
        )
    });
    format!(
        "Workload {workload}, repetitions: {repetitions}, seed: {seed}; {} profile, {} suite, \
         protection {}, {} nonces. Times in µs: the mean is {clock} time, measured on this machine, counted is what the same \
         primitives cost by themselves in this run, and x is the best measured time over it.{device} \
         Key material in bytes; messages and bytes are those that the role sends.",
        profile.name(),
        suite.name(),
        protection.name(),
        nonces.name(),
    )
}

fn print_table(plan: &BenchPlan, rows: &[&BenchRow], out: &mut dyn Write) -> io::Result<()> {
    let modelled = plan.device.is_some();
    let talks = rows.iter().any(|row| row.message_bytes.is_some());
    let mut table = Table::new(columns(talks, modelled));
    rows.iter().for_each(|row| table.row(cells(row, talks, modelled)));
    table.print_fitting(WIDER, out)
}

/// Returns the columns. A narrow terminal drops a column earlier if its `may_go` number is higher.
fn columns(talks: bool, modelled: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::text("scheme"),
        Column::text("operation"),
        Column::text("phase"),
        Column::text("role"),
        Column::number("members"),
    ];
    columns.extend(talks.then(|| Column::number("message B")));
    columns.extend([
        Column::number("mean"),
        Column::number("± 95 %").may_go(2),
        Column::number("p50").may_go(8),
        Column::number("p90").may_go(9),
        Column::number("p99").may_go(7),
        Column::number("counted").may_go(3),
        Column::number("x").may_go(1),
    ]);
    if modelled {
        columns.extend([Column::number("modelled"), Column::number("µJ").may_go(2)]);
    }
    columns.extend([
        Column::number("permanent").may_go(4),
        Column::number("temporary").may_go(9),
        Column::number("messages").may_go(5),
        Column::number("payload B").may_go(10),
        Column::number("wire B").may_go(6),
        Column::text("provenance"),
    ]);
    columns
}

fn cells(row: &BenchRow, talks: bool, modelled: bool) -> Vec<String> {
    let microseconds = |ns: f64| figure(ns / 1e3);
    let mut cells = vec![
        row.scheme.clone(),
        row.operation.clone(),
        row.phase.clone(),
        row.role.clone(),
        row.members.to_string(),
    ];
    if talks {
        cells.push(row.message_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()));
    }
    cells.extend([
        microseconds(row.mean_ns),
        row.ci95_ns.map_or_else(|| "-".to_owned(), microseconds),
        microseconds(row.p50_ns),
        microseconds(row.p90_ns),
        microseconds(row.p99_ns),
        microseconds(row.counted_ns),
        row.measured_over_counted.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
    ]);
    if modelled {
        let joule = [row.device_joule, row.radio_joule].into_iter().flatten();
        let joule = joule.map(|energy| energy.value).reduce(|one, other| one + other);
        cells.push(row.device_ns.map_or_else(|| "-".to_owned(), microseconds));
        cells.push(joule.map_or_else(|| "-".to_owned(), |joule| figure(joule * 1e6)));
    }
    cells.extend([
        row.permanent_bytes.to_string(),
        row.temporary_bytes.to_string(),
        row.messages.to_string(),
        row.payload_bytes.to_string(),
        row.wire_bytes.to_string(),
        row.provenance.clone(),
    ]);
    cells
}

/// Refused activities: one entry for each scheme, size and reason.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<BenchRefusal>);

impl Refusals {
    pub(super) fn add(&mut self, unit: Unit<'_>, activity: Activity, error: Error) {
        let (scheme, members) = (unit.plan.scheme, unit.members);
        let is_alike = |known: &&mut BenchRefusal| {
            (known.scheme.id, known.members, known.error) == (scheme.id, members, error)
        };
        let activity = activity.name();
        match self.0.iter_mut().find(is_alike) {
            None => {
                self.0.push(BenchRefusal { scheme, members, error, activities: vec![activity] })
            }
            Some(known) if known.activities.contains(&activity) => {}
            Some(known) => known.activities.push(activity),
        }
    }

    /// Returns a line for each scheme, size and reason.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|BenchRefusal { scheme, members, error, activities }| {
            format!("{}: no {} of {members} members: {error}", scheme.id, activities.join(", "))
        })
    }

    /// Returns why there is no row at all.
    pub(super) fn failure(&self) -> Failure {
        let has_capacity = |refusal: &BenchRefusal| {
            refusal.scheme.parameters.iter().any(|parameter| parameter.name == "capacity")
        };
        let reason = self.0.first().map(|refusal| format!(": {}", refusal.error));
        let failure = Failure::input(format!("nothing was measured{}", reason.unwrap_or_default()));
        failure.with_help(match self.0.iter().any(has_capacity) {
            true => "fewer --members, or more room with --set capacity=..",
            false => "`groupkey schemes ID` has the limits",
        })
    }
}

#[derive(Debug)]
struct BenchRefusal {
    scheme: &'static Scheme,
    members: u32,
    error: Error,
    activities: Vec<&'static str>,
}
