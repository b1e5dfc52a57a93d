//! Compares two results files: what changed, and what may be noise.
//!
//! Rows are matched by what they measure. Counts, sizes and bytes must be equal, or they have
//! changed. If they are means over runs that were drawn differently, chance may be the reason.
//! Means of times are compared with Welch's t test. It needs only each row's mean, its interval and
//! number of repetitions. Because there are many rows, the p-values are corrected by Holm's method.
//! Hedges' g tells how large a difference is.

mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::results::FileRow;
use crate::statistics::{Moments, hedges_g, holm, welch, welch_of};

/// Rows that can be compared with those of another file.
pub trait Comparable: FileRow {
    /// The columns that say what a row measures. Two rows match if all of these are alike.
    const KEY: &'static [&'static str];
    /// The columns that differ from one run to the next, times above all. All others must not
    /// differ.
    const VARYING: &'static [&'static str];
    /// The other columns that are means over the runs. If the runs were [drawn
    /// differently](Self::is_drawn_as), chance has a part in them.
    const DRAWN: &'static [&'static str] = &[];
    /// The other columns that a device profile gives. They are compared if both rows have the same
    /// [device](Self::device).
    const MODELLED: &'static [&'static str] = &[];
    /// The column of the mean time that is compared, if rows have one.
    const TIME: Option<&'static str>;

    /// Returns the device whose times and energy are modelled beside the measured values.
    fn device(&self) -> Option<&str> {
        None
    }

    /// Whether the runs of both rows drew the same values, so that means over them must be equal,
    /// too.
    fn is_drawn_as(&self, _other: &Self) -> bool {
        true
    }

    /// Returns the runs' values of a column of [`Self::DRAWN`]; none if they were not kept.
    fn drawn(&self, _column: &str) -> Vec<f64> {
        Vec::new()
    }

    /// Returns number, mean and variance of the independent times: of runs, or of means of rounds.
    fn time(&self) -> Moments {
        self.repetitions()
    }

    /// Returns number, mean and variance of the times of single repetitions.
    fn repetitions(&self) -> Moments {
        Moments { n: 1.0, mean: 0.0, variance: 0.0 }
    }

    /// Returns the half width of the mean's 95 % confidence interval.
    fn interval(&self) -> f64 {
        f64::INFINITY
    }
}

/// The comparison of the rows of two files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Rows that are in both files, in the order of the second.
    pub matched: Vec<Match>,
    /// Rows of the first file that the second lacks, in its order.
    pub missing: Vec<RowKey>,
    /// Rows of the second file that the first lacks, in its order.
    pub new: Vec<RowKey>,
    /// The devices of matched rows, first and second, where they differ. Their modelled values are
    /// not compared.
    pub other_devices: BTreeSet<[Option<String>; 2]>,
}

/// A row that is in both files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// What the row measures.
    pub key: RowKey,
    /// Its counts, sizes, bytes and other certain values that differ.
    pub changes: Vec<ChangedValue>,
    /// Its time.
    pub time: TimeChange,
}

/// The values of [`Comparable::KEY`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RowKey(pub Vec<String>);

/// A certain value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedValue {
    /// The column.
    pub column: String,
    /// Its value in the first file; empty if absent.
    pub before: String,
    /// Its value in the second file; empty if absent.
    pub after: String,
}

/// Two means of a time, in the rows' own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeChange {
    /// Mean in the first file.
    pub before: f64,
    /// Mean in the second file.
    pub after: f64,
    /// How much longer the time is, in per cent of before; absent if before was 0.
    pub percent: Option<f64>,
    /// Whether both rows have at least the two repetitions that a test needs. Without them nothing
    /// is known: the p-values are 1, and the row does not count among the compared rows.
    pub is_tested: bool,
    /// Two-sided p-value of Welch's t test.
    pub p_value: f64,
    /// The p-value after Holm's correction for all tested rows of the comparison.
    pub corrected_p_value: f64,
    /// Hedges' g of after less before, in standard deviations of single repetitions; absent if
    /// there is no spread.
    pub effect: Option<f64>,
    /// Whether the means' 95 % confidence intervals overlap.
    pub intervals_overlap: bool,
}

/// Rows that cannot be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguous {
    /// The file: 1 is the first, 2 the second.
    pub file: usize,
    /// What more than one row of the file measures.
    pub key: RowKey,
}

impl Comparison {
    /// The level of significance.
    pub const LEVEL: f64 = 0.05;

    /// Compares the rows of two files.
    pub fn of<R: Comparable>(before: &[R], after: &[R]) -> Result<Self, Ambiguous> {
        let columns = R::columns();
        let key_of = |row: &R| {
            let named = |name: &&str| columns.iter().find(|column| column.name == **name);
            let values = R::KEY.iter().filter_map(named);
            RowKey(values.map(|column| column.plain(row)).collect())
        };
        let certain: Vec<_> = columns
            .iter()
            .filter(|column| {
                !R::KEY.contains(&&*column.name) && !R::VARYING.contains(&&*column.name)
            })
            .collect();
        let mut earlier = BTreeMap::new();
        for row in before {
            if earlier.insert(key_of(row), row).is_some() {
                return Err(Ambiguous { file: 1, key: key_of(row) });
            }
        }

        let mut comparison = Self {
            matched: Vec::new(),
            missing: Vec::new(),
            new: Vec::new(),
            other_devices: BTreeSet::new(),
        };
        let mut seen = BTreeMap::new();
        let mut drawn = Vec::new();
        for row in after {
            let key = key_of(row);
            if seen.insert(key.clone(), ()).is_some() {
                return Err(Ambiguous { file: 2, key });
            }
            let Some(old) = earlier.remove(&key) else {
                comparison.new.push(key);
                continue;
            };
            let had_other_luck = !row.is_drawn_as(old);
            let devices = [old, row].map(|row| row.device().map(str::to_owned));
            let has_other_device = devices[0] != devices[1];
            if has_other_device {
                comparison.other_devices.insert(devices);
            }
            let mut changes = Vec::new();
            for column in &certain {
                if has_other_device && R::MODELLED.contains(&&*column.name) {
                    continue;
                }
                let (before, after) = (column.plain(old), column.plain(row));
                let change = ChangedValue { column: column.name.clone(), before, after };
                if had_other_luck && R::DRAWN.contains(&&*change.column) {
                    let values = [old, row].map(|row| row.drawn(&change.column));
                    let p_value = welch(&values[0], &values[1]).p_value;
                    drawn.push((comparison.matched.len(), change, p_value));
                } else if change.before != change.after {
                    changes.push(change);
                }
            }
            comparison.matched.push(Match { key, changes, time: TimeChange::of(old, row) });
        }
        let is_missing = |key: &RowKey| earlier.contains_key(key);
        comparison.missing = before.iter().map(key_of).filter(is_missing).collect();

        let p_values: Vec<_> = drawn.iter().map(|&(.., p_value)| p_value).collect();
        for ((place, change, _), corrected) in drawn.into_iter().zip(holm(&p_values)) {
            if corrected < Self::LEVEL {
                comparison.matched[place].changes.push(change);
            }
        }

        let times = comparison.matched.iter_mut().map(|row| &mut row.time);
        let tested: Vec<_> = times.filter(|time| time.is_tested).collect();
        let p_values: Vec<_> = tested.iter().map(|time| time.p_value).collect();
        for (time, corrected) in tested.into_iter().zip(holm(&p_values)) {
            time.corrected_p_value = corrected;
        }
        Ok(comparison)
    }

    /// Returns the number of rows that have times that can be tested.
    pub fn tested(&self) -> usize {
        self.matched.iter().filter(|row| row.time.is_tested).count()
    }

    /// Returns the share of tested rows whose means' confidence intervals overlap (0 to 1); `None`
    /// without such rows.
    pub fn overlapping(&self) -> Option<f64> {
        let tested = self.matched.iter().filter(|row| row.time.is_tested);
        let overlapping = tested.filter(|row| row.time.intervals_overlap).count();
        (self.tested() > 0).then(|| overlapping as f64 / self.tested() as f64)
    }
}

impl TimeChange {
    /// Whether the means differ, at [`Comparison::LEVEL`], and by at least this many per cent.
    pub fn is_significant(&self, least_percent: f64) -> bool {
        self.corrected_p_value < Comparison::LEVEL
            && self.percent.is_none_or(|percent| percent.abs() >= least_percent)
    }

    fn of<R: Comparable>(before: &R, after: &R) -> Self {
        let (first, second) = (before.time(), after.time());
        let p_value = welch_of(&second, &first).p_value;
        let difference = second.mean - first.mean;
        Self {
            before: first.mean,
            after: second.mean,
            percent: Some(100.0 * difference / first.mean).filter(|percent| percent.is_finite()),
            is_tested: R::TIME.is_some() && first.n >= 2.0 && second.n >= 2.0,
            p_value,
            corrected_p_value: p_value,
            effect: hedges_g(&after.repetitions(), &before.repetitions()),
            intervals_overlap: difference.abs() <= before.interval() + after.interval(),
        }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<_> = self.0.iter().filter(|value| !value.is_empty()).map(|v| &**v).collect();
        f.write_str(&told.join(" "))
    }
}

#[cfg(test)]
mod tests;
