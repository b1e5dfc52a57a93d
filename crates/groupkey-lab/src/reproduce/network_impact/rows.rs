//! The study's rows as its findings refer to them, and comparisons of two rows.

use std::fmt;

use crate::reproduce::evidence::{Comparison, deviations, mean_words};
use crate::results::{NetworkRow, RunSample, Setting};

/// Loss (%) and delay (ms).
pub(super) type Network = (f64, f64);

/// Ratio by which means may differ and still count as the same.
pub(super) const SAME: f64 = 0.10;

/// All rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a>(pub(super) &'a [NetworkRow]);

/// One row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a>(pub(super) &'a NetworkRow);

impl<'a> Rows<'a> {
    /// Returns the row of a setting.
    pub(super) fn at(
        self,
        scheme: &str,
        operation: &str,
        members: u32,
        network: Network,
    ) -> Option<Row<'a>> {
        let found = self.0.iter().find(|NetworkRow { setting, .. }| {
            (setting.scheme.as_str(), setting.operation.as_str()) == (scheme, operation)
                && (setting.members, (setting.loss_percent, setting.delay_ms)) == (members, network)
        });
        found.map(Row)
    }
}

/// The quantity of a row that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Computation,
    Spread,
    Total,
    Transmission,
}

impl Row<'_> {
    /// Returns the compared quantity of each run.
    pub(super) fn samples(self, measure: Measure) -> Vec<f64> {
        let each = |of: fn(&RunSample) -> f64| self.0.samples.iter().map(of).collect();
        match measure {
            Measure::Computation => each(|sample| sample.computation_ms),
            Measure::Spread => deviations(&self.0.totals_ms()),
            Measure::Total => self.0.totals_ms(),
            Measure::Transmission => each(|sample| sample.transmission_ms),
        }
    }

    /// Describes how far the runs lie apart.
    pub(super) fn spread_words(self) -> String {
        self.0.sd_ms.map_or_else(|| "a single run".to_owned(), |sd| format!("{sd:.1} ms"))
    }
}

/// `LKH group-oriented join, 50 members, 10 % / 0 ms`.
impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.0.setting.scheme.as_str() {
            "skdc" => "SKDC",
            "lkh-group" => "LKH group-oriented",
            "lkh-key" => "LKH key-oriented",
            "lkh-user" => "LKH user-oriented",
            _ => "G-DH",
        };
        let operation = match self.0.setting.operation.as_str() {
            "add" => "join",
            "remove" => "leave",
            _ => "creation",
        };
        let Setting { members, loss_percent, delay_ms, .. } = &self.0.setting;
        write!(f, "{scheme} {operation}, {members} members, {loss_percent} % / {delay_ms} ms")
    }
}

/// Claims that the mean of `a` is below the mean of `b`.
pub(super) fn below(
    a: Option<Row<'_>>,
    b: Option<Row<'_>>,
    measure: Measure,
) -> Option<Comparison> {
    let (a, b) = a.zip(b)?;
    Some(Comparison::below(&a.samples(measure), &b.samples(measure), words(a, b, measure)))
}

/// Claims that the total of `a` is not above the total of `b` by more than [`SAME`].
pub(super) fn not_above(a: Option<Row<'_>>, b: Option<Row<'_>>) -> Option<Comparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.samples(Measure::Total));
    Some(Comparison::not_above(&first, &second, SAME, words(a, b, Measure::Total)))
}

/// Claims that the mean of `a` is `ratio` times the mean of `b`, give or take `tolerance`.
pub(super) fn about(
    a: Option<Row<'_>>,
    b: Option<Row<'_>>,
    ratio: f64,
    tolerance: f64,
    measure: Measure,
) -> Option<Comparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.samples(measure));
    Some(Comparison::about(&first, &second, ratio, tolerance, words(a, b, measure)))
}

/// Claims that `b` spreads more than `a`. Equal runs of a network without randomness have no spread
/// for certain, and any spread is more than that.
pub(super) fn wider(a: Option<Row<'_>>, b: Option<Row<'_>>) -> Option<Comparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.samples(Measure::Spread));
    let words = format!("{a}: {} against {b}: {}", a.spread_words(), b.spread_words());
    let alike = |of: &[f64]| of.iter().all(|deviation| *deviation == 0.0);
    if first.len() > 1 && alike(&first) {
        // With loss, a few runs may be equal by chance.
        let by_chance = a.0.setting.loss_percent > 0.0 || alike(&second);
        return Some(match by_chance && first.len() < ENOUGH {
            true => Comparison::open(words),
            false => Comparison::certain(a.0.sd_ms < b.0.sd_ms, words),
        });
    }
    Some(Comparison::below(&first, &second, words))
}

/// Number of runs that cannot be equal to the nanosecond by chance.
const ENOUGH: usize = 10;

fn words(a: Row<'_>, b: Row<'_>, measure: Measure) -> String {
    let [first, second] = [a, b].map(|row| mean_words(&row.samples(measure)));
    format!("{a}: {first} ms against {b}: {second} ms")
}
