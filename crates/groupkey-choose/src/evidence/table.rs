//! The counts of one operation at ascending sizes, column by column.
//!
//! A column is one number of a [`Sample`] over all sizes. Most columns do not change, or lie on a
//! line, so only the sizes at which they turn are written down.

mod line;
mod slot;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use self::line::{SizePosition, bends, short, values, written};
use self::slot::{Slot, flat};
use super::{Estimate, Load, Sample, Uses};
use crate::decision::Variant;
use crate::moment::Moment;

/// The counts of one operation of a variant, without the protection of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct CountTable {
    /// The variant; its protection is `none`.
    pub variant: Variant,
    /// The operation's name.
    pub operation: String,
    /// The turnover of the groups before it, as [`Moment::turnover`] has it.
    turnover: u32,
    /// The counted sizes (members), ascending.
    members: Vec<u32>,
    columns: Vec<CountColumn>,
}

/// Why a table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The sizes are none or do not ascend.
    Sizes,
    /// It refers to a table before it that is of something else.
    Unlike,
    /// A column has a name that does not exist.
    Name(String),
    /// A column has other than a number for its first and last size, or too many of them.
    Values(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenCounts {
    scheme: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, u32>,
    suite: String,
    operation: String,
    /// Members that had left before, as a share of those that the group has.
    #[serde(default, skip_serializing_if = "is_zero")]
    turnover: f64,
    members: Vec<u32>,
    /// Whether columns are left out that the table before has, too.
    #[serde(default, skip_serializing_if = "is_false")]
    like: bool,
    counts: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq)]
struct CountColumn {
    name: String,
    slot: Slot,
    /// Whether it lies on lines over the logarithm of the size, or over the size.
    is_logarithmic: bool,
    values: Vec<f64>,
}

impl CountTable {
    /// Puts a table together from samples at distinct sizes, without protection of messages. `None`
    /// without samples.
    pub fn of(variant: Variant, operation: String, samples: &[Sample]) -> Option<Self> {
        let mut samples: Vec<&Sample> = samples.iter().collect();
        samples.sort_by_key(|sample| sample.members);
        let members: Vec<u32> = samples.iter().map(|sample| sample.members).collect();
        if members.is_empty() {
            return None;
        }
        let rows: Vec<BTreeMap<String, f64>> = samples.iter().map(|sample| flat(sample)).collect();
        let mut names: Vec<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
        names.sort();
        names.dedup();
        let equal: Vec<String> = (names.iter())
            .filter_map(|name| name.strip_suffix('+'))
            .filter(|primitive| {
                let of = |row: &BTreeMap<String, f64>, kind| {
                    row.get(&format!("{primitive}{kind}")).copied()
                };
                rows.iter().all(|row| of(row, '+') == of(row, '#'))
            })
            .map(str::to_owned)
            .collect();
        let is_left_out = |name: &str| {
            name.strip_suffix('#').is_some_and(|name| equal.iter().any(|equal| equal == name))
        };
        let column = |name: &String| {
            let told: Vec<Option<f64>> = rows.iter().map(|row| row.get(name).copied()).collect();
            let slot = Slot::named(name).expect("a sample has only known columns");
            let zero = |value: &Option<f64>| value.unwrap_or(0.0);
            let values = match slot.repeats() {
                // Of a stage that some sizes do not have, only the number is zero there.
                Some(repeats) => {
                    let has_stage = rows.iter().map(|row| row.contains_key(&repeats));
                    let there = told.iter().zip(has_stage);
                    let there = there.map(|(value, has)| has.then(|| zero(value)));
                    with_neighbours(&there.collect::<Vec<_>>())
                }
                None => told.iter().map(zero).collect(),
            };
            let values: Vec<f64> = values.into_iter().map(short).collect();
            let is_logarithmic = bends(&members, &values, true) < bends(&members, &values, false);
            CountColumn { name: name.clone(), slot, is_logarithmic, values }
        };
        let columns = names.into_iter().filter(|name| !is_left_out(name)).map(column);
        let columns = columns.map(|column| match column.name.strip_suffix('+') {
            Some(name) if equal.iter().any(|equal| equal == name) => {
                let name = format!("{name}=");
                let slot = Slot::named(&name).expect("it is a count of a primitive");
                CountColumn { name, slot, ..column }
            }
            _ => column,
        });
        let columns = columns.filter(|column| column.values.iter().any(|value| *value != 0.0));
        let columns = columns.collect();
        Some(Self { variant, operation, turnover: 0, members, columns })
    }

    /// Returns the same counts as those of groups with this [turnover](Moment::turnover).
    #[must_use]
    pub fn after(self, turnover: u32) -> Self {
        Self { turnover, ..self }
    }

    /// Returns the [turnover](Moment::turnover) of the counted groups.
    pub const fn turnover(&self) -> u32 {
        self.turnover
    }

    /// Returns the smallest and the largest counted size (members).
    pub fn counted(&self) -> (u32, u32) {
        (self.members[0], self.members[self.members.len() - 1])
    }

    /// Returns the counted sizes (members), ascending.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Returns the most messages that a step sends at any counted size; `None` if an operation has
    /// several steps.
    pub(super) fn messages_of_steps(&self) -> Option<f64> {
        let of = |&members: &u32| self.at(members)?.value.messages_of_its_step();
        self.members.iter().map(of).try_fold(0.0, |most: f64, one| Some(most.max(one?)))
    }

    /// Returns the sample at a size, without protection of messages. `None` below the smallest one.
    pub fn at(&self, members: u32) -> Option<Estimate<Sample>> {
        let (least, most) = self.counted();
        if members < least {
            return None;
        }
        let place = SizePosition::of(&self.members, members);
        let mut sample = self.blank(members);
        for column in &self.columns {
            let value = place.value(&column.values, column.is_logarithmic).max(0.0);
            column.slot.set(&mut sample, value);
        }
        sample.stages.retain(|stage| stage.repeats > 0.0);
        Some(Estimate { value: sample, is_extrapolated: members > most })
    }

    /// Returns the sample at a size, at this share of the way from this turnover to that of the
    /// other table of the same operation. `None` below the smallest size of either.
    pub(super) fn at_between(
        &self,
        other: &Self,
        share: f64,
        members: u32,
    ) -> Option<Estimate<Sample>> {
        let (here, there) = (self.at(members)?, other.at(members)?);
        let rows = [flat(&here.value), flat(&there.value)];
        let mut sample = self.blank(members);
        let names: BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
        for name in names {
            let slot = Slot::named(name).expect("a sample has only known columns");
            let of = |row: &BTreeMap<String, f64>| row.get(name).copied();
            let told = [of(&rows[0]), of(&rows[1])];
            // Of a stage that one of them does not have, only the number is zero there.
            let absent = slot.repeats().and_then(|repeats| {
                let has_both = rows.iter().all(|row| row.contains_key(&repeats));
                if has_both { None } else { told.into_iter().flatten().next() }
            });
            let [from, to] = told.map(|value| value.or(absent).unwrap_or_default());
            slot.set(&mut sample, (to - from).mul_add(share, from));
        }
        sample.stages.retain(|stage| stage.repeats > 0.0);
        let is_extrapolated = here.is_extrapolated || there.is_extrapolated;
        Some(Estimate { value: sample, is_extrapolated })
    }

    fn blank(&self, members: u32) -> Sample {
        Sample {
            operation: self.operation.clone(),
            members,
            member: Load::default(),
            busiest: Load::default(),
            controller: Load::default(),
            gateway: Load::default(),
            stages: Vec::new(),
            finish: Uses::default(),
            largest: 0,
        }
    }

    /// Returns the table as it is written after `before`. Columns that both have are left out, if
    /// the other one is of another suite's counts at the same sizes.
    pub(super) fn write_after(&self, before: Option<&Self>) -> WrittenCounts {
        let mut written = self.write();
        let Some(before) = before.filter(|before| before.is_like(&written)) else { return written };
        let mut told = before.write().counts;
        for (name, text) in std::mem::take(&mut written.counts) {
            if told.remove(&name).as_ref() != Some(&text) {
                written.counts.insert(name, text);
            }
        }
        // What only the other table has is zero here.
        written.counts.extend(told.into_keys().map(|name| (name, "0".to_owned())));
        WrittenCounts { like: true, ..written }
    }

    fn is_like(&self, written: &WrittenCounts) -> bool {
        let Variant { scheme, parameters, .. } = &self.variant;
        (scheme, parameters, &self.operation, &self.members)
            == (&written.scheme, &written.parameters, &written.operation, &written.members)
            && self.turnover == turnover_of(written.turnover)
    }

    fn write(&self) -> WrittenCounts {
        let counts = self.columns.iter().map(|column| {
            let written = written(&self.members, &column.values, column.is_logarithmic);
            (column.name.clone(), written)
        });
        WrittenCounts {
            scheme: self.variant.scheme.clone(),
            parameters: self.variant.parameters.clone(),
            suite: self.variant.suite.clone(),
            operation: self.operation.clone(),
            turnover: f64::from(self.turnover) / f64::from(Moment::WHOLE),
            members: self.members.clone(),
            like: false,
            counts: counts.collect(),
        }
    }

    /// Reads what [`Self::write_after`] wrote, given the table before.
    pub(super) fn read(
        mut written: WrittenCounts,
        before: Option<&Self>,
    ) -> Result<Self, TableError> {
        if written.like {
            let before = before.filter(|before| before.is_like(&written));
            let mut counts = before.ok_or(TableError::Unlike)?.write().counts;
            counts.append(&mut written.counts);
            written.counts = counts;
            written.counts.retain(|_, text| text != "0");
        }
        let WrittenCounts { scheme, parameters, suite, operation, members, counts, .. } = written;
        let turnover = turnover_of(written.turnover);
        if members.is_empty() || !members.is_sorted_by(|a, b| a < b) || members[0] == 0 {
            return Err(TableError::Sizes);
        }
        let column = |(name, text): (String, String)| {
            let slot = Slot::named(&name).ok_or_else(|| TableError::Name(name.clone()))?;
            let (is_logarithmic, values) =
                values(&members, &text).ok_or_else(|| TableError::Values(name.clone()))?;
            Ok(CountColumn { name, slot, is_logarithmic, values })
        };
        let columns = counts.into_iter().map(column).collect::<Result<_, _>>()?;
        let variant = Variant { scheme, parameters, suite, guard: "none".to_owned() };
        Ok(Self { variant, operation, turnover, members, columns })
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sizes => f.write_str("the sizes do not ascend"),
            Self::Unlike => f.write_str("the table before is of something else"),
            Self::Name(name) => write!(f, "there is no count named {name:?}"),
            Self::Values(name) => write!(f, "the numbers of {name:?} do not fit the sizes"),
        }
    }
}

impl std::error::Error for TableError {}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for it.
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for it.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Returns a turnover as it was before it was written.
fn turnover_of(written: f64) -> u32 {
    (written * f64::from(Moment::WHOLE)).round() as u32
}

/// Fills gaps with the nearest value.
fn with_neighbours(told: &[Option<f64>]) -> Vec<f64> {
    let nearest = |place: usize| {
        let there = told.iter().enumerate().filter_map(|(other, value)| Some((other, (*value)?)));
        there.min_by_key(|(other, _)| place.abs_diff(*other)).map_or(0.0, |(_, value)| value)
    };
    (0..told.len()).map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{PrimitiveCount, ProtocolTraffic, Stage};

    fn sample(members: u32, stages: usize) -> Sample {
        let n = f64::from(members);
        let uses = Uses(
            [("unwrap".to_owned(), PrimitiveCount { calls: n.log2(), amount: n.log2() })].into(),
        );
        let sent = ProtocolTraffic { messages: n, bytes: 40.0 * n };
        let load = Load { uses: uses.clone(), sent, keys: 16.0, ..Load::default() };
        let stage = Stage { repeats: 1.0, awaited: n, uses, ..Stage::default() };
        Sample {
            operation: "add".to_owned(),
            members,
            member: load.clone(),
            busiest: load,
            controller: Load::default(),
            gateway: Load::default(),
            stages: vec![stage; stages],
            finish: Uses::default(),
            largest: 3 * members + 7,
        }
    }

    fn table(samples: &[Sample]) -> CountTable {
        let variant = Variant {
            scheme: "skdc".to_owned(),
            parameters: BTreeMap::new(),
            suite: "standard".to_owned(),
            guard: "none".to_owned(),
        };
        CountTable::of(variant, "add".to_owned(), samples).expect("there are samples")
    }

    #[test]
    fn a_counted_size_is_told_as_it_was_counted() {
        let samples = [2, 4, 8, 64].map(|members| sample(members, 1));
        let table = table(&samples);
        for sample in samples {
            let told = table.at(sample.members).expect("it was counted");
            assert_eq!((told.value, told.is_extrapolated), (sample, false));
        }
    }

    #[test]
    fn between_sizes_a_column_goes_on_as_it_grows() {
        let table = table(&[2, 4, 8, 64].map(|members| sample(members, 1)));
        let told = table.at(16).expect("it is between").value;
        assert_eq!((told.largest, told.member.sent.messages), (55, 16.0));
        assert!((told.member.uses.0["unwrap"].calls - 4.0).abs() < 1e-9, "it grows as a logarithm");
        let beyond = table.at(128).expect("it goes on");
        assert_eq!((beyond.value.largest, beyond.is_extrapolated), (391, true));
        assert_eq!(table.at(1), None);
    }

    #[test]
    fn a_stage_that_some_sizes_lack_fades() {
        let table = table(&[sample(2, 1), sample(4, 2)]);
        let stages = |members: u32| table.at(members).expect("counted").value.stages;
        assert_eq!((stages(2).len(), stages(4).len()), (1, 2));
        let between = stages(3);
        assert_eq!((between[0].repeats, between[1].repeats), (1.0, 0.5));
        assert_eq!(between[1].awaited, 4.0);
    }

    #[test]
    fn between_turnovers_counts_lie_between_and_a_stage_that_one_lacks_fades() {
        let fresh = table(&[sample(2, 1), sample(8, 1)]);
        let later = [2, 8].map(|members| Sample { largest: 99, ..sample(members, 2) });
        let later = table(&later).after(Moment::WHOLE);
        assert_eq!((fresh.turnover(), later.turnover()), (0, 1_000_000));
        for (share, largest, repeats) in [(0.0, 31, 0), (0.5, 65, 1), (1.0, 99, 1)] {
            let between = fresh.at_between(&later, share, 8).expect("both were counted").value;
            assert_eq!((between.largest, between.stages.len()), (largest, 1 + repeats));
            assert_eq!(between.member, sample(8, 1).member);
            assert!(between.stages.iter().all(|stage| stage.awaited == 8.0));
        }
        let written = later.write_after(Some(&fresh));
        assert!(!written.like && written.turnover == 1.0);
        assert_eq!(CountTable::read(written, None), Ok(later));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let first = table(&[2, 4, 8, 64].map(|members| sample(members, 1)));
        let mut other =
            table(&[2, 4, 8, 64].map(|members| Sample { largest: 5, ..sample(members, 1) }));
        other.variant.suite = "constrained".to_owned();
        let text = [first.write_after(None), other.write_after(Some(&first))];
        assert!(text[1].like && text[1].counts.len() == 1, "{:?}", text[1]);
        let [one, two] = text;
        let read = CountTable::read(one, None).expect("it was written");
        assert_eq!(CountTable::read(two.clone(), Some(&read)).as_ref(), Ok(&other));
        assert_eq!(read, first);
        assert_eq!(CountTable::read(two, None), Err(TableError::Unlike));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let good = table(&[sample(2, 1), sample(4, 1)]).write_after(None);
        let read = |change: fn(&mut WrittenCounts)| {
            let mut written = good.clone();
            change(&mut written);
            CountTable::read(written, None)
        };
        assert!(read(|_| ()).is_ok());
        assert_eq!(read(|written| written.members.reverse()), Err(TableError::Sizes));
        assert_eq!(read(|written| written.members.clear()), Err(TableError::Sizes));
        for (name, text) in [("x", "1"), ("m.", "1"), ("99999.n", "1"), ("m.wrap", "1")] {
            let mut written = good.clone();
            written.counts.insert(name.to_owned(), text.to_owned());
            assert_eq!(CountTable::read(written, None), Err(TableError::Name(name.to_owned())));
        }
        for text in ["", "a", "1,2,3", ",2", "NaN", "1,"] {
            let mut written = good.clone();
            written.counts.insert("largest".to_owned(), text.to_owned());
            assert_eq!(
                CountTable::read(written, None),
                Err(TableError::Values("largest".to_owned()))
            );
        }
    }
}
