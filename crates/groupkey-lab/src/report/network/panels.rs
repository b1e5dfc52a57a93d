//! Which rows share a panel: those that differ in nothing but what the panel shows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::results::{NetworkRow, ResultColumn, RowSetting};

#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct PlacedRow<'a> {
    /// Its place in the page's data.
    pub(super) place: usize,
    /// The number of its file.
    pub(super) source: usize,
    pub(super) row: &'a NetworkRow,
}

#[derive(Clone, Debug)]
pub(super) struct PanelRows<'a> {
    /// What tells it from the other panels, in words. Empty if there are no others.
    pub(super) heading: String,
    pub(super) rows: Vec<PlacedRow<'a>>,
}

/// What a panel shows by itself, by the names of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelAxis {
    MembersAndLoss,
    Members,
    /// Members, in quantities that the network does not change.
    MembersAnywhere,
}

/// Divides rows into panels: by delay, and by each field in which rows of one scheme differ. If rows
/// of several files are the same in all of that, then by file.
pub(super) fn panels<'a>(rows: &[PlacedRow<'a>], axis: PanelAxis) -> Vec<PanelRows<'a>> {
    let columns: Vec<_> =
        RowSetting::columns().into_iter().filter(|column| axis.divides(&column.name)).collect();
    let told: Vec<&ResultColumn<RowSetting>> =
        columns.iter().filter(|column| is_delay(column) || differs(rows, column)).collect();
    let key = |placed: &PlacedRow<'_>| -> Vec<String> {
        told.iter().map(|column| column.plain(&placed.row.setting)).collect()
    };
    let by_file = axis != PanelAxis::MembersAnywhere && has_doubles(rows, axis, &key);
    let mut panels: Vec<(Vec<String>, PanelRows<'a>)> = Vec::new();
    for placed in rows {
        let mut key = key(placed);
        let mut words: Vec<String> =
            told.iter().zip(&key).map(|(column, value)| heading(&column.name, value)).collect();
        if by_file {
            key.push(placed.source.to_string());
            words.push(format!("file {}", placed.source + 1));
        }
        match panels.iter_mut().find(|(other, _)| *other == key) {
            Some((_, panel)) => panel.rows.push(*placed),
            None => {
                panels.push((key, PanelRows { heading: words.join(", "), rows: vec![*placed] }))
            }
        }
    }
    panels.sort_by(|(a, _), (b, _)| in_order(a, b));
    panels.into_iter().map(|(_, panel)| panel).collect()
}

pub(super) fn differ_in_loss_and_delay_alone(rows: &[PlacedRow<'_>]) -> bool {
    let axis = PanelAxis::MembersAndLoss;
    let columns = RowSetting::columns();
    let mut others = columns.iter().filter(|it| axis.divides(&it.name) && !is_delay(it));
    let delay = |placed: &PlacedRow<'_>| vec![placed.row.setting.delay_ms.to_string()];
    !others.any(|column| differs(rows, column)) && !has_doubles(rows, axis, &delay)
}

impl PanelAxis {
    /// Returns whether rows that differ in this field are in different panels.
    fn divides(self, name: &str) -> bool {
        let is_shown = match self {
            Self::MembersAndLoss => name == "loss_percent",
            Self::Members => false,
            Self::MembersAnywhere => !OF_MESSAGES.contains(&name),
        };
        !is_shown && !EVERYWHERE.contains(&name)
    }
}

/// Fields that no panel is about, or that each panel shows.
const EVERYWHERE: [&str; 5] = ["scheme", "provenance", "operation", "members", "seed"];

/// Fields that change the messages of a scheme.
const OF_MESSAGES: [&str; 7] =
    ["profile", "parameters", "suite", "protection", "history", "variations", "request_bytes"];

fn is_delay(column: &ResultColumn<RowSetting>) -> bool {
    column.name == "delay_ms"
}

/// Returns whether rows of one scheme and operation differ in a field. Where the field follows from
/// the scheme, it tells nothing.
fn differs(rows: &[PlacedRow<'_>], column: &ResultColumn<RowSetting>) -> bool {
    let mut known: BTreeMap<(&str, &str), String> = BTreeMap::new();
    rows.iter().any(|placed| {
        let setting = &placed.row.setting;
        let value = column.plain(setting);
        let first =
            known.entry((&setting.scheme, &setting.operation)).or_insert_with(|| value.clone());
        *first != value
    })
}

/// Returns whether a panel would have two rows for one mark.
fn has_doubles(
    rows: &[PlacedRow<'_>],
    axis: PanelAxis,
    key: &dyn Fn(&PlacedRow<'_>) -> Vec<String>,
) -> bool {
    let mut marks = std::collections::BTreeSet::new();
    rows.iter().any(|placed| {
        let RowSetting { scheme, operation, members, loss_percent, .. } = &placed.row.setting;
        let loss = if axis == PanelAxis::MembersAndLoss { loss_percent.to_bits() } else { 0 };
        !marks.insert((key(placed), scheme, operation, *members, loss))
    })
}

/// Says a field's value in words: `QoS 1`, `100 kbit/s`.
fn heading(name: &str, value: &str) -> String {
    match (name, value) {
        ("delay_ms", _) => format!("one-way delay {value} ms"),
        ("loss_percent", _) => format!("{value} % loss"),
        ("bandwidth_kbit_s", "") => "no limit of bandwidth".to_owned(),
        ("bandwidth_kbit_s", _) => format!("{value} kbit/s"),
        ("qos", _) => format!("QoS {value}"),
        ("history", _) => format!("after {value}"),
        ("profile", _) => format!("{value} form"),
        (_, "") => format!("no {}", name.replace('_', " ")),
        _ => format!("{} {value}", name.replace('_', " ")),
    }
}

/// Numbers are in the order of their size.
fn in_order(a: &[String], b: &[String]) -> Ordering {
    let number = |text: &String| text.parse::<f64>().ok();
    let parts = a.iter().zip(b).map(|(a, b)| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    });
    parts.fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example::{samples, setting};

    fn row(change: impl Fn(&mut RowSetting)) -> NetworkRow {
        let mut setting = setting();
        change(&mut setting);
        NetworkRow::from_samples(setting, samples())
    }

    fn headings(rows: &[NetworkRow], axis: PanelAxis) -> Vec<String> {
        let placed = rows.iter().enumerate();
        let placed: Vec<_> =
            placed.map(|(place, row)| PlacedRow { place, source: place, row }).collect();
        panels(&placed, axis).into_iter().map(|panel| panel.heading).collect()
    }

    #[test]
    fn what_differs_is_a_panel_and_what_follows_from_the_scheme_is_none() {
        let both = PanelAxis::MembersAndLoss;
        let slow = row(|it| it.bandwidth_kbit_s = Some(1_000.0));
        let slower = row(|it| it.bandwidth_kbit_s = Some(200.0));
        let delay = setting().delay_ms;
        let told = |words: &str| format!("one-way delay {delay} ms, {words}");
        assert_eq!(headings(&[slow, slower], both), [told("200 kbit/s"), told("1000 kbit/s")]);
        // Another scheme is protected otherwise: that tells nothing.
        let other = row(|it| (it.scheme, it.protection) = ("oft".to_owned(), "none".to_owned()));
        assert_eq!(headings(&[row(|_| ()), other], both).len(), 1);
        let lossy = row(|it| it.loss_percent = 33.0);
        assert_eq!(headings(&[row(|_| ()), lossy.clone()], both).len(), 1);
        assert_eq!(headings(&[row(|_| ()), lossy], PanelAxis::Members).len(), 2);
    }

    #[test]
    fn the_same_of_two_files_is_divided_by_file() {
        let rows = [row(|_| ()), row(|it| it.seed = 7)];
        let told = headings(&rows, PanelAxis::MembersAndLoss);
        assert!(told[0].ends_with(", file 1") && told[1].ends_with(", file 2"), "{told:?}");
        assert_eq!(headings(&rows, PanelAxis::MembersAnywhere), [""]);
    }
}
