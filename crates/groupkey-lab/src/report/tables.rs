//! The tables: published values beside our values, and every row.

use groupkey_choose::number::{digits, fixed};
use minijinja::{Value, context};

use super::content::Quantity;
use super::content::{PublishedValue, Report};
use super::overview::glyph;
use super::scheme::Scheme;
use super::text::{capitalised, factor, operation};
use crate::results::NetworkRow;

/// Builds the lines of published values, our values, and the ratio.
pub(super) fn published(values: &[PublishedValue], schemes: &[Scheme]) -> Vec<Value> {
    values
        .iter()
        .map(|p| {
            let scheme = schemes.iter().find(|s| s.id == p.scheme);
            let ratio = (p.ours / p.published).abs();
            context! {
                scheme => scheme.map_or(p.scheme.as_str(), |s| s.label.as_str()),
                operation => capitalised(operation(&p.operation)),
                quantity => quantity_words(p.quantity),
                members => p.members,
                loss => p.loss_percent.to_string(),
                delay => p.delay_ms.to_string(),
                published => digits(p.published),
                ours => if p.ours.is_finite() { digits(p.ours) } else { "not run".to_owned() },
                unit => &p.unit,
                ratio => ratio.is_finite().then(|| factor(ratio)),
                place => ratio.is_finite().then(|| place(ratio)),
                note => &p.note,
            }
        })
        .collect()
}

/// Builds the table of rows with the columns in which they differ. Values that all rows share
/// appear once.
pub(super) fn rows(report: &Report, schemes: &[Scheme]) -> Value {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|c| c.varies(&report.rows)).collect();
    let shared = COLUMNS.iter().filter(|c| !c.varies(&report.rows)).filter_map(|column| {
        let value = (column.value)(report.rows.first()?);
        (!value.is_empty()).then(|| context! { name => column.name, value })
    });
    let lines = report.rows.iter().map(|row| {
        let scheme = schemes.iter().find(|s| s.id == row.setting.scheme);
        let cells = columns.iter().map(|c| (c.value)(row)).collect::<Vec<String>>();
        let numbers = NUMBERS.iter().map(|n| {
            let value = (n.value)(row);
            let text = value.map_or_else(|| "–".to_owned(), |value| fixed(value, n.decimals));
            context! { text, value => value.map(|value| value.to_string()).unwrap_or_default() }
        });
        context! {
            scheme => scheme.map_or(row.setting.scheme.as_str(), |s| s.label.as_str()),
            glyph => scheme.map(glyph),
            operation => operation(&row.setting.operation),
            members => row.setting.members,
            loss => row.setting.loss_percent.to_string(),
            delay => row.setting.delay_ms.to_string(),
            cells,
            numbers => numbers.collect::<Vec<Value>>(),
            replay => replay(&report.replay, row),
        }
    });
    context! {
        columns => columns.iter().map(|c| c.name).collect::<Vec<_>>(),
        numbers => NUMBERS.iter().map(|n| context! { name => n.name, unit => n.unit })
            .collect::<Vec<Value>>(),
        shared => shared.collect::<Vec<Value>>(),
        lines => lines.collect::<Vec<Value>>(),
    }
}

/// Returns the command that runs one row again.
fn replay(pattern: &str, row: &NetworkRow) -> String {
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
    own.iter().fold(pattern.to_owned(), |command, (name, value)| command.replace(name, value))
}

/// Returns the position (%) of a ratio on the strip from an eighth to eight times.
fn place(ratio: f64) -> f64 {
    let part = 50.0 + 50.0 * ratio.max(1e-9).log(8.0);
    (part.clamp(0.0, 100.0) * 10.0).round() / 10.0
}

fn quantity_words(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Total => "total time",
        Quantity::Transmission => "transmission",
        Quantity::TransmissionShare => "share of transmission",
    }
}

/// A property that the rows of a campaign may all share.
struct Column {
    name: &'static str,
    value: fn(&NetworkRow) -> String,
}

impl Column {
    fn varies(&self, rows: &[NetworkRow]) -> bool {
        rows.windows(2).any(|pair| (self.value)(&pair[0]) != (self.value)(&pair[1]))
    }
}

const COLUMNS: [Column; 9] = [
    Column { name: "Profile", value: |row| row.setting.profile.clone() },
    Column { name: "Suite", value: |row| row.setting.suite.clone() },
    Column { name: "Provenance", value: |row| row.setting.provenance.clone() },
    Column { name: "QoS", value: |row| row.setting.qos.to_string() },
    Column { name: "Protection", value: |row| row.setting.protection.clone() },
    Column { name: "Parameters", value: |row| row.setting.parameters.clone() },
    Column { name: "Controller", value: |row| row.setting.controller_device.clone() },
    Column { name: "Device", value: |row| row.setting.device.clone() },
    Column { name: "Runs", value: |row| row.runs.to_string() },
];

/// A measured value; absent if a row does not have it.
struct Number {
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    value: fn(&NetworkRow) -> Option<f64>,
}

const NUMBERS: [Number; 13] = [
    Number { name: "Mean", unit: "ms", decimals: 1, value: |row| Some(row.mean_ms) },
    Number { name: "SD", unit: "ms", decimals: 1, value: |row| row.sd_ms },
    Number { name: "CI 95 % ±", unit: "ms", decimals: 1, value: |row| row.ci95_ms },
    Number { name: "p50", unit: "ms", decimals: 1, value: |row| Some(row.p50_ms) },
    Number { name: "p90", unit: "ms", decimals: 1, value: |row| Some(row.p90_ms) },
    Number { name: "p99", unit: "ms", decimals: 1, value: |row| Some(row.p99_ms) },
    Number {
        name: "Transmission",
        unit: "ms",
        decimals: 1,
        value: |row| Some(row.transmission_ms),
    },
    Number { name: "Computation", unit: "ms", decimals: 1, value: |row| Some(row.computation_ms) },
    Number { name: "Mean member", unit: "ms", decimals: 1, value: |row| Some(row.member_mean_ms) },
    Number { name: "Messages", unit: "", decimals: 0, value: |row| Some(row.messages) },
    Number { name: "Payload", unit: "B", decimals: 0, value: |row| Some(row.payload_bytes) },
    Number { name: "On the wire", unit: "B", decimals: 0, value: |row| Some(row.wire_bytes) },
    Number { name: "Sent again", unit: "", decimals: 1, value: |row| Some(row.retransmissions) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strip_is_symmetric_about_one() {
        assert_eq!(place(1.0), 50.0);
        assert_eq!(place(8.0), 100.0);
        assert_eq!(place(0.125), 0.0);
        assert_eq!(place(2.0) - 50.0, 50.0 - place(0.5));
        assert_eq!(place(1e6), 100.0);
    }
}
