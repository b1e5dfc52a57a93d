//! Rows of results: as a table for people, or as JSON Lines.

use std::io::{self, Write};

use groupkey::catalogue::Class;
use groupkey::protection::Guard;
use groupkey_choose::number::{figure, figure_however_small};
use groupkey_lab::campaign::CampaignOutcome;
use groupkey_lab::choose::prices;
use groupkey_lab::conditions::{Conditions, LossDirection};
use groupkey_lab::plan::Plan;
use groupkey_lab::results::NetworkRow;

use super::Keeping;
use crate::campaign;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table, WIDER, figure_if_any};

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One object per line, without the runs.
    Json,
    /// One object per line, with every run.
    JsonWithSamples,
    Table,
}

/// Runs the plans and prints a row for each setting. JSON Lines are printed as they are done.
pub(crate) fn print(
    plans: &[Plan],
    threads: Option<u16>,
    format: Format,
    keeping: Keeping,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let further = FurtherColumns::of(plans);
    let mut table = table(further.columns());
    let outcome = campaign::run(plans, threads, |row| {
        rows.push(row.clone());
        match format {
            Format::Json => write_json(out, row, false),
            Format::JsonWithSamples => write_json(out, row, true),
            Format::Table => {
                table.row(cells(row).into_iter().chain(further.cells(row)));
                Ok(())
            }
        }
    });
    // If one setting fails, the rows of the others are still worth printing.
    if format == Format::Table && (outcome.is_ok() || !rows.is_empty()) {
        writeln!(out, "{}\n", Paragraph { indent: 0, text: &circumstances(plans) })?;
        table.print_fitting(WIDER, out)?;
    }
    match outcome? {
        CampaignOutcome::Finished => {}
        interrupted => return Err(interruption(interrupted, rows.len())),
    }
    // Programs that read the rows know the files.
    if let (Some(files), Format::Table) = (keeping.keep(plans, rows)?, format) {
        write!(out, "\n{files}")?;
    }
    Ok(())
}

/// Columns that only some tables have.
#[derive(Clone, Copy, Debug)]
struct FurtherColumns {
    has_bandwidths: bool,
    has_energy: bool,
    connections_end: bool,
}

impl FurtherColumns {
    fn of(plans: &[Plan]) -> Self {
        let on_battery = |plan: &Plan| prices(&plan.device).is_some_and(|it| it.radio.is_some());
        Self {
            has_bandwidths: bandwidths_differ(plans.iter().map(|plan| &plan.link.initial)),
            has_energy: plans.iter().any(on_battery),
            connections_end: plans.iter().any(Plan::connections_end),
        }
    }

    fn columns(self) -> impl Iterator<Item = Column> {
        let columns = [
            (self.has_bandwidths, Column::number("kbit/s")),
            (self.has_energy, Column::number("member J").may_go(2)),
            (self.connections_end, Column::number("behind")),
            (self.connections_end, Column::number("asked").may_go(4)),
        ];
        columns.into_iter().filter_map(|(is_shown, column)| is_shown.then_some(column))
    }

    fn cells(self, row: &NetworkRow) -> impl Iterator<Item = String> {
        let rate =
            row.setting.bandwidth_kbit_s.map_or_else(|| "inf".to_owned(), |rate| rate.to_string());
        let joule = row.member_joule.map_or_else(|| "-".to_owned(), figure_however_small);
        let cells = [
            (self.has_bandwidths, rate),
            (self.has_energy, joule),
            (self.connections_end, count(row.behind)),
            (self.connections_end, count(row.catch_ups)),
        ];
        cells.into_iter().filter_map(|(is_shown, cell)| is_shown.then_some(cell))
    }
}

fn interruption(outcome: CampaignOutcome, rows: usize) -> Failure {
    let (done, total) = match outcome {
        CampaignOutcome::Interrupted { done, total } => (done, total),
        CampaignOutcome::Finished => (rows, rows),
    };
    Failure::interrupted(format!("{done} of {total} settings are done, {rows} rows are printed"))
}

/// Describes what all rows of a table have in common.
pub(super) fn circumstances(plans: &[Plan]) -> String {
    let Some(plan) = plans.first() else { return String::new() };
    let Plan { profile, suite, device, controller_device, runs, seed, .. } = plan;
    let mut told = format!(
        "Runs per row: {runs}, seed: {seed}; {} profile, {} suite, protection {}; members on {}, \
         controller on {}. ",
        profile.name(),
        suite.name(),
        protections(plans),
        device.name,
        controller_device.name,
    );
    let mut of_all = peculiarities(plans);
    for Peculiarity { holds, what } in of_schemes(plans) {
        let mut schemes: Vec<_> =
            plans.iter().filter(|&plan| holds(plan)).map(|plan| plan.scheme.id).collect();
        schemes.dedup();
        if plans.iter().all(holds) {
            of_all.push(what);
        } else {
            told += &format!("Rows of {}: {what}. ", schemes.join(", "));
        }
    }
    if !of_all.is_empty() {
        told += &format!("All rows: {}. ", of_all.join(", "));
    }
    told + "Times in ms; messages, bytes and resent segments are means of one run."
}

/// An unusual setting, and the rows that have it.
struct Peculiarity {
    holds: fn(&Plan) -> bool,
    what: String,
}

/// Returns the unusual settings that the rows of some schemes have and others cannot have.
fn of_schemes(plans: &[Plan]) -> Vec<Peculiarity> {
    let has_subgroup_device: fn(&Plan) -> bool = |plan| {
        plan.scheme.class() == Class::Hybrid && plan.subgroup_device != plan.controller_device
    };
    let has_request: fn(&Plan) -> bool = |plan| plan.request_bytes.is_some();
    let mut told = Vec::new();
    if let Some(plan) = plans.iter().find(|plan| has_subgroup_device(plan)) {
        let what = format!("controllers of subgroups on {}", plan.subgroup_device.name);
        told.push(Peculiarity { holds: has_subgroup_device, what });
    }
    if let Some(bytes) = plans.iter().find_map(|plan| plan.request_bytes) {
        let what = format!("requests of {bytes} bytes");
        told.push(Peculiarity { holds: has_request, what });
    }
    told
}

/// Returns the unusual settings that all rows have in common and that have no column.
fn peculiarities(plans: &[Plan]) -> Vec<String> {
    let Some(plan) = plans.first() else { return Vec::new() };
    let usual = Plan::new(plan.scheme, plan.members);
    let mut told = Vec::new();
    told.extend(plan.parameters.iter().map(|(name, value)| format!("{name}={value}")));
    told.extend(unusual(plans.iter().map(|plan| &plan.link.initial)));
    if let Some(restarts) = plan.restarts {
        told.push(format!("restarts of the broker {restarts}"));
    }
    if plan.connections_end() {
        let (session, keep_alive_s) = (plan.session.name(), plan.keep_alive_s);
        told.push(format!("sessions {session}"));
        told.push(format!("keep-alive {keep_alive_s} s"));
    }
    if plan.max_in_flight != usual.max_in_flight {
        told.push(format!("{} exchanges in flight", plan.max_in_flight));
    }
    if plan.hand_over != usual.hand_over {
        told.push(format!("taken at {}", plan.hand_over.name()));
    }
    if !plan.link.changes.is_empty() {
        told.push("the links change".to_owned());
    }
    if !plan.exceptions.is_empty() || !plan.subgroup_exceptions.is_empty() {
        told.push("some members differ".to_owned());
    }
    told
}

/// Returns the unusual settings that all these links have in common, besides loss and delay.
pub(super) fn unusual<'a>(links: impl Iterator<Item = &'a Conditions> + Clone) -> Vec<String> {
    let Some(first) = links.clone().next() else { return Vec::new() };
    let Conditions { loss_direction, burst_ms, jitter_ms, bandwidth_kbit_s, outages, .. } = *first;
    let bandwidth_kbit_s = bandwidth_kbit_s.filter(|_| !bandwidths_differ(links));
    let mut told = Vec::new();
    if loss_direction != LossDirection::Both {
        told.push(format!("packets lost only {}", loss_direction.name()));
    }
    told.extend(burst_ms.map(|ms| format!("lost in bursts of {ms} ms")));
    if jitter_ms > 0.0 {
        told.push(format!("delay ± {jitter_ms} ms"));
    }
    told.extend(bandwidth_kbit_s.map(|rate| format!("{rate} kbit/s")));
    told.extend(outages.map(|outages| format!("outages of each link {outages}")));
    told
}

/// Returns whether the bandwidths differ, so that each row says its own.
pub(super) fn bandwidths_differ<'a>(mut links: impl Iterator<Item = &'a Conditions>) -> bool {
    let first = links.next().map(|link| link.bandwidth_kbit_s);
    links.any(|link| Some(link.bandwidth_kbit_s) != first)
}

/// Names the protection of messages, in one word if it is the same for all schemes.
fn protections(plans: &[Plan]) -> String {
    let schemes_with = |guard: Guard| {
        let mut schemes: Vec<_> = plans
            .iter()
            .filter(|plan| plan.protection == guard)
            .map(|plan| plan.scheme.id)
            .collect();
        schemes.dedup();
        (guard, schemes)
    };
    let used: Vec<_> =
        Guard::ALL.map(schemes_with).into_iter().filter(|(_, ids)| !ids.is_empty()).collect();
    if let [(guard, _)] = &used[..] {
        return guard.name().to_owned();
    }
    let each = used.iter().map(|(guard, ids)| format!("{} ({})", guard.name(), ids.join(", ")));
    each.collect::<Vec<_>>().join(", ")
}

/// Makes a table with these columns and further ones. A narrow terminal drops a column earlier if
/// its `may_go` number is higher.
fn table(further: impl IntoIterator<Item = Column>) -> Table {
    let columns = [
        Column::text("scheme"),
        Column::text("operation"),
        Column::number("members"),
        Column::number("loss %"),
        Column::number("delay"),
        Column::number("QoS").may_go(1),
        Column::number("mean"),
        Column::number("± 95 %"),
        Column::number("sd").may_go(6),
        Column::number("p50").may_go(8),
        Column::number("p90").may_go(7),
        Column::number("p99").may_go(3),
        Column::number("network").may_go(2),
        Column::number("computing").may_go(2),
        Column::number("messages").may_go(5),
        Column::number("payload B").may_go(9),
        Column::number("wire B").may_go(4),
        Column::number("resent").may_go(5),
        Column::text("provenance"),
    ];
    Table::new(columns.into_iter().chain(further))
}

/// Returns a row's cells, without those of further columns.
fn cells(row: &NetworkRow) -> [String; 19] {
    [
        row.setting.scheme.clone(),
        row.setting.operation.clone(),
        row.setting.members.to_string(),
        row.setting.loss_percent.to_string(),
        row.setting.delay_ms.to_string(),
        row.setting.qos.to_string(),
        figure(row.mean_ms),
        figure_if_any(row.ci95_ms),
        figure_if_any(row.sd_ms),
        figure(row.p50_ms),
        figure(row.p90_ms),
        figure(row.p99_ms),
        figure(row.transmission_ms),
        figure(row.computation_ms),
        count(row.messages),
        count(row.payload_bytes),
        count(row.wire_bytes),
        count(row.retransmissions),
        row.setting.provenance.clone(),
    ]
}

fn count(mean: f64) -> String {
    if mean.fract() == 0.0 || mean >= 1000.0 { format!("{mean:.0}") } else { format!("{mean:.1}") }
}

fn write_json(out: &mut dyn Write, row: &NetworkRow, with_samples: bool) -> io::Result<()> {
    let samples = if with_samples { row.samples.clone() } else { Vec::new() };
    serde_json::to_writer(&mut *out, &NetworkRow { samples, ..row.clone() })?;
    writeln!(out)
}
