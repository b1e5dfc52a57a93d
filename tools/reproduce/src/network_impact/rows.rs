//! The study's rows as its findings refer to them, and comparisons of two rows.

use std::fmt;

use groupkey_lab::results::{NetworkRow, RowSetting, RunSample};

use groupkey_lab::verdict::Thresholds;

use crate::evidence::{RunValues, SampleStatistic, SettingComparison, mean_words};

/// Loss (%) and delay (ms).
pub(super) type LossAndDelay = (f64, f64);

/// All rows, and the thresholds by which they are compared.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) rows: &'a [NetworkRow],
    pub(super) thresholds: &'a Thresholds,
}

#[derive(Clone, Copy)]
pub(super) struct IndexedRow<'a>(pub(super) &'a NetworkRow, usize, &'a Thresholds);

impl<'a> Rows<'a> {
    pub(super) fn at(
        self,
        scheme: &str,
        operation: &str,
        members: u32,
        network: LossAndDelay,
    ) -> Option<IndexedRow<'a>> {
        let place = self.rows.iter().position(|NetworkRow { setting, .. }| {
            (setting.scheme.as_str(), setting.operation.as_str()) == (scheme, operation)
                && (setting.members, (setting.loss_percent, setting.delay_ms)) == (members, network)
        });
        place.map(|place| IndexedRow(&self.rows[place], place, self.thresholds))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowQuantity {
    Computation,
    /// The mean, over members, of the time until each has the key.
    MemberMean,
    Spread,
    Total,
    Transmission,
}

impl IndexedRow<'_> {
    pub(super) fn samples(self, measure: RowQuantity) -> Vec<f64> {
        let each = |of: fn(&RunSample) -> f64| self.0.samples.iter().map(of).collect();
        match measure {
            RowQuantity::Computation => each(|sample| sample.computation_ms),
            RowQuantity::MemberMean => each(|sample| sample.member_mean_ms),
            RowQuantity::Spread | RowQuantity::Total => self.0.totals_ms(),
            RowQuantity::Transmission => each(|sample| sample.transmission_ms),
        }
    }

    pub(super) fn sample(self, measure: RowQuantity) -> RunValues {
        let quantity = if measure == RowQuantity::Spread {
            SampleStatistic::Spread
        } else {
            SampleStatistic::Mean
        };
        RunValues::comparing(quantity, self.samples(measure))
    }

    pub(super) const fn place(self) -> usize {
        self.1
    }

    pub(super) fn scheme(self) -> &'static str {
        match self.0.setting.scheme.as_str() {
            "skdc" => "SKDC",
            "lkh-group" => "LKH group-oriented",
            "lkh-key" => "LKH key-oriented",
            "lkh-user" => "LKH user-oriented",
            _ => "G-DH",
        }
    }

    pub(super) fn operation(self) -> &'static str {
        match self.0.setting.operation.as_str() {
            "add" => "join",
            "remove" => "leave",
            _ => "creation",
        }
    }

    /// Describes how far the runs lie apart.
    pub(super) fn spread_words(self) -> String {
        self.0.sd_ms.map_or_else(|| "a single run".to_owned(), |sd| format!("{sd:.1} ms"))
    }
}

/// `LKH group-oriented join, 50 members, 10 % / 0 ms`.
impl fmt::Display for IndexedRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [scheme, operation] = [self.scheme(), self.operation()];
        let RowSetting { members, loss_percent, delay_ms, .. } = &self.0.setting;
        write!(f, "{scheme} {operation}, {members} members, {loss_percent} % / {delay_ms} ms")
    }
}

pub(super) fn below(
    a: Option<IndexedRow<'_>>,
    b: Option<IndexedRow<'_>>,
    measure: RowQuantity,
) -> Option<SettingComparison> {
    let margin = 1.0 + a?.2.order.value;
    not_above(a, b, measure).map(|comparison| comparison.strictly(margin))
}

/// Claims that the mean of `a` is below the mean of `b`, or equal.
pub(super) fn not_above(
    a: Option<IndexedRow<'_>>,
    b: Option<IndexedRow<'_>>,
    measure: RowQuantity,
) -> Option<SettingComparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.sample(measure));
    Some(of(
        a,
        b,
        SettingComparison::at_most(first, second, 1.0 + a.2.order.value, words(a, b, measure)),
    ))
}

/// Claims that the mean of `a` is less than so many times the mean of `b`.
pub(super) fn below_times(
    a: Option<IndexedRow<'_>>,
    b: Option<IndexedRow<'_>>,
    times: f64,
    measure: RowQuantity,
) -> Option<SettingComparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.sample(measure));
    let factor = times * (1.0 + a.2.bound.value);
    Some(of(a, b, SettingComparison::at_most(first, second, factor, words(a, b, measure))))
}

/// Claims that the mean of `a` is `ratio` times the mean of `b`, give or take what counts as equal.
pub(super) fn about(
    a: Option<IndexedRow<'_>>,
    b: Option<IndexedRow<'_>>,
    ratio: f64,
    measure: RowQuantity,
) -> Option<SettingComparison> {
    let (a, b) = a.zip(b)?;
    let [first, second] = [a, b].map(|row| row.sample(measure));
    let tolerance = a.2.change.value;
    Some(of(a, b, SettingComparison::about(first, second, ratio, tolerance, words(a, b, measure))))
}

/// Claims that `b` spreads as much as `a`, or more. Equal runs of a network without randomness have
/// no spread for certain, and any spread is more than that.
pub(super) fn wider(
    a: Option<IndexedRow<'_>>,
    b: Option<IndexedRow<'_>>,
) -> Option<SettingComparison> {
    let (a, b) = a.zip(b)?;
    let words = format!("{a}: {} against {b}: {}", a.spread_words(), b.spread_words());
    let alike = |row: IndexedRow<'_>| {
        let totals = row.0.totals_ms();
        totals.len() > 1 && totals.iter().all(|total| *total == totals[0])
    };
    let compared = match (alike(a), alike(b)) {
        // With loss, a few runs may be equal by chance.
        _ if [a, b].iter().any(|&row| {
            alike(row) && row.0.setting.loss_percent > 0.0 && row.0.samples.len() < ENOUGH
        }) =>
        {
            SettingComparison::open(words)
        }
        (true, true) => SettingComparison::seen(false, words),
        // Without loss there is no randomness: any spread at all is more.
        (true, false) if a.0.setting.loss_percent == 0.0 => SettingComparison::exact(0.0, words),
        _ => {
            let [first, second] = [a, b].map(|row| row.sample(RowQuantity::Spread));
            SettingComparison::at_most(first, second, 1.0 + a.2.order.value, words)
        }
    };
    Some(of(a, b, compared))
}

fn of(a: IndexedRow<'_>, b: IndexedRow<'_>, comparison: SettingComparison) -> SettingComparison {
    let mut comparison = comparison.of_rows([a.place(), b.place()]);
    let (one, two) = (&a.0.setting, &b.0.setting);
    if a.scheme() == b.scheme() {
        comparison = comparison.with("scheme", a.scheme());
    }
    if one.operation == two.operation {
        comparison = comparison.with("operation", a.operation());
    }
    if one.members == two.members {
        comparison = comparison.with("size", format!("{} members", one.members));
    }
    if one.loss_percent == two.loss_percent {
        comparison = comparison.with("loss", format!("{} %", one.loss_percent));
    }
    if one.delay_ms == two.delay_ms {
        comparison = comparison.with("delay", format!("{} ms", one.delay_ms));
    }
    comparison
}

/// Number of runs that cannot be equal to the nanosecond by chance.
const ENOUGH: usize = 10;

fn words(a: IndexedRow<'_>, b: IndexedRow<'_>, measure: RowQuantity) -> String {
    let [first, second] = [a, b].map(|row| mean_words(&row.samples(measure)));
    format!("{a}: {first} ms against {b}: {second} ms")
}
