//! Rows of a network study: figures, factors, and the table of all rows.

pub(super) mod axes;
mod factors;
mod figures;
pub(super) mod marks;
mod panels;
pub(super) mod quantity;
mod reading;

use std::collections::BTreeMap;

use groupkey_choose::number::fixed;

pub(super) use self::factors::factors;
pub(super) use self::figures::figures;
use self::panels::PlacedRow;
use super::content::{PublishedValue, Report};
use super::style::Styles;
use super::table::{PageCell, PageColumn, PageTable};
use super::text::{energy, operation};
use crate::results::NetworkRow;

/// The rows of network studies, and what the page shows beside them.
#[derive(Clone, Debug)]
pub(super) struct StudyRows<'a> {
    /// Begins the anchors of its figures.
    pub(super) prefix: &'static str,
    pub(super) rows: Vec<PlacedRow<'a>>,
    /// Values of a published study in the same settings, if the rows reproduce one.
    pub(super) published: &'a [PublishedValue],
    pub(super) styles: &'a Styles,
}

/// Places the rows of all network studies, the first of which is at `first` in the page's data.
pub(super) fn placed(report: &Report, first: usize) -> Vec<PlacedRow<'_>> {
    let rows = report.networks.iter();
    let rows = rows.flat_map(|(source, _, rows)| rows.iter().map(move |row| (*source, row)));
    let placed = rows.enumerate();
    placed.map(|(number, (source, row))| PlacedRow { place: first + number, source, row }).collect()
}

/// Makes the table of all rows. `replay` is the command that runs one of them again, or empty.
pub(super) fn table<'r>(
    rows: impl Iterator<Item = &'r NetworkRow>,
    styles: &Styles,
    replay: &str,
) -> PageTable {
    type Own = PageColumn<'static, NetworkRow>;
    let text = |name: &'static str, of: fn(&NetworkRow) -> String| Own::text(name, of);
    let number = |name: &'static str, unit, decimals, of: fn(&NetworkRow) -> Option<f64>| {
        let cell = move |value| PageCell::of(value, fixed(value, decimals));
        Own::number(name, unit, move |row| of(row).map(cell))
    };
    let columns = vec![
        PageColumn::text("Scheme", |row: &NetworkRow| styles.of_scheme(&row.setting.scheme).cell())
            .key("scheme"),
        text("Operation", |row| operation(&row.setting.operation).to_owned()).filter("operation"),
        number("Members", "", 0, |row| Some(f64::from(row.setting.members))).filter("members"),
        Own::number("Loss", "%", |row| row.setting.loss_percent.to_string()).filter("loss"),
        Own::number("Delay", "ms", |row| row.setting.delay_ms.to_string()).filter("delay"),
        Own::number("Bandwidth", "kbit/s", |row| {
            row.setting.bandwidth_kbit_s.map(|rate| PageCell::of(rate, rate.to_string()))
        }),
        text("Profile", |row| row.setting.profile.clone()),
        text("Suite", |row| row.setting.suite.clone()),
        text("Provenance", |row| row.setting.provenance.clone()),
        text("QoS", |row| row.setting.qos.to_string()),
        text("Protection", |row| row.setting.protection.clone()),
        text("Parameters", |row| row.setting.parameters.clone()),
        text("Controller", |row| row.setting.controller_device.clone()),
        text("Device", |row| row.setting.device.clone()),
        text("Runs", |row| row.runs.to_string()),
        number("Mean", "ms", 1, |row| Some(row.mean_ms)).key("mean"),
        number("SD", "ms", 1, |row| row.sd_ms),
        number("CI 95 % ±", "ms", 1, |row| row.ci95_ms),
        number("p50", "ms", 1, |row| Some(row.p50_ms)),
        number("p90", "ms", 1, |row| Some(row.p90_ms)),
        number("p99", "ms", 1, |row| Some(row.p99_ms)),
        number("Transmission", "ms", 1, |row| Some(row.transmission_ms)),
        number("Computation", "ms", 1, |row| Some(row.computation_ms)),
        number("Mean member", "ms", 1, |row| Some(row.member_mean_ms)),
        number("Messages", "", 0, |row| Some(row.messages)),
        number("Payload", "B", 0, |row| Some(row.payload_bytes)),
        number("On the wire", "B", 0, |row| Some(row.wire_bytes)),
        number("Sent again", "", 1, |row| Some(row.retransmissions)),
        Own::number("Member", "J, modelled", |row| {
            row.member_joule.map(|joule| PageCell::of(joule, energy(joule)))
        }),
        PageColumn::text("Run again", |row| filled(replay, row)),
    ];
    PageTable::of("Rows of network studies", rows, columns)
}

/// Fills a row's values into the command that runs it again.
fn filled(replay: &str, row: &NetworkRow) -> String {
    let own = [
        ("{scheme}", row.setting.scheme.clone()),
        ("{operation}", row.setting.operation.clone()),
        ("{members}", row.setting.members.to_string()),
        ("{loss}", row.setting.loss_percent.to_string()),
        ("{delay}", row.setting.delay_ms.to_string()),
        ("{qos}", row.setting.qos.to_string()),
        ("{runs}", row.runs.to_string()),
        ("{seed}", row.setting.seed.to_string()),
    ];
    own.iter().fold(replay.to_owned(), |command, (name, value)| command.replace(name, value))
}

/// Counts the settings, and their runs. A run does all operations of a setting, and each operation
/// has a row.
pub(super) fn settings_and_runs<'r>(rows: impl Iterator<Item = &'r NetworkRow>) -> (usize, usize) {
    let mut runs = BTreeMap::new();
    for NetworkRow { setting, runs: of_row, .. } in rows {
        let names = (&setting.scheme, &setting.profile, &setting.suite, &setting.device);
        let rate = setting.bandwidth_kbit_s.map(f64::to_bits);
        let loss = (setting.loss_percent.to_bits(), setting.delay_ms.to_bits(), rate);
        let network = (loss, setting.qos);
        let most = runs.entry((names, setting.members, network)).or_insert(0);
        *most = (*most).max(*of_row as usize);
    }
    (runs.len(), runs.values().sum())
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}
