//! The factors by which each network multiplies an operation's time.

use super::distinct;
use super::panels::{PlacedRow, differ_in_loss_and_delay_alone};
use crate::report::page::PageBlock;
use crate::report::style::{Style, Styles};
use crate::report::table::{PageCell, PageColumn, PageTable};
use crate::report::text::{capitalised, factor, operation, time};
use crate::results::NetworkRow;

/// Makes a table of factors, which are shaded. It has a line for each operation and scheme at its
/// largest size, and a column for each network, by delay and then loss. Returns nothing if there is
/// only one network, or if rows differ in something else.
pub(in crate::report) fn factors(
    placed: &[PlacedRow<'_>],
    styles: &Styles,
) -> Option<Vec<PageBlock>> {
    if !differ_in_loss_and_delay_alone(placed) {
        return None;
    }
    let rows: Vec<&NetworkRow> = placed.iter().map(|placed| placed.row).collect();
    let rows = &rows[..];
    let losses = distinct(rows.iter().map(|row| row.setting.loss_percent));
    let delays = distinct(rows.iter().map(|row| row.setting.delay_ms));
    let networks: Vec<(f64, f64)> =
        delays.iter().flat_map(|&delay| losses.iter().map(move |&loss| (loss, delay))).collect();
    let (&best, others) = networks.split_first()?;
    if others.is_empty() {
        return None;
    }

    let lines: Vec<Line<'_>> = ["create", "add", "remove"]
        .iter()
        .flat_map(|operation| {
            styles.iter().filter_map(|s| Line::of(rows, s, operation, best, others))
        })
        .collect();
    let strongest =
        lines.iter().flat_map(|line| &line.factors).flatten().copied().fold(1.0, f64::max);
    // The shade follows the factor's logarithm: a factor of 2 is as far from 1 as from 4.
    let shade = |f: f64| (100.0 * f.max(1.0).ln() / strongest.ln().max(1e-9)).round();
    let mut columns = vec![
        PageColumn::text("Scheme", |line: &Line<'_>| line.style.cell()),
        PageColumn::text("Operation", |line: &Line<'_>| capitalised(operation(line.operation))),
        PageColumn::number("Members", "", |line: &Line<'_>| line.members.to_string()),
        PageColumn::number(network_words(best), "", |line: &Line<'_>| time(line.base_ms)),
    ];
    columns.extend(others.iter().enumerate().map(|(place, &network)| {
        PageColumn::number(network_words(network), "", move |line: &Line<'_>| {
            match line.factors[place] {
                Some(f) => PageCell::of(f, format!("×\u{2009}{}", factor(f))).shaded(shade(f)),
                None => "not run".into(),
            }
        })
    }));
    let note = format!(
        "Mean time with {}, and how many times as long it takes in the other networks; each scheme \
         at its largest group.",
        network_words(best)
    );
    let table = PageTable::of("Factors by network", &lines, columns);
    (!lines.is_empty()).then(|| vec![PageBlock::note(note), PageBlock::Table(table)])
}

/// An operation of a scheme: the time in the best network, and the factors in the other networks.
struct Line<'a> {
    operation: &'a str,
    style: &'a Style,
    members: u32,
    base_ms: f64,
    factors: Vec<Option<f64>>,
}

impl<'a> Line<'a> {
    fn of(
        rows: &[&NetworkRow],
        style: &'a Style,
        operation: &'a str,
        best: (f64, f64),
        others: &[(f64, f64)],
    ) -> Option<Self> {
        let mine = || {
            rows.iter()
                .filter(|r| r.setting.scheme == style.scheme && r.setting.operation == operation)
        };
        let members = mine().map(|row| row.setting.members).max()?;
        let mean = |network: (f64, f64)| {
            mine()
                .find(|r| {
                    r.setting.members == members
                        && (r.setting.loss_percent, r.setting.delay_ms) == network
                })
                .map(|row| row.mean_ms)
        };
        let base_ms = mean(best).filter(|&ms| ms > 0.0)?;
        let factors = others.iter().map(|&network| Some(mean(network)? / base_ms)).collect();
        Some(Self { operation, style, members, base_ms, factors })
    }
}

fn network_words((loss, delay): (f64, f64)) -> String {
    format!("{loss}\u{a0}% loss, {delay}\u{a0}ms")
}
