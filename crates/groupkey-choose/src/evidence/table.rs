//! The counts of one operation at ascending sizes, column by column.
//!
//! A column is one number of a [`Sample`] over all sizes. Most columns do not change, or lie on a
//! line, so only the sizes at which they turn are written down.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeviceRole, Estimate, Load, PrimitiveCount, ProtocolTraffic, Sample, Stage, Uses};
use crate::decision::Variant;

/// The counts of one operation of a variant, without the protection of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct CountTable {
    /// The variant; its protection is `none`.
    pub variant: Variant,
    /// The operation's name.
    pub operation: String,
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

/// A table as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenCounts {
    scheme: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, u32>,
    suite: String,
    operation: String,
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

/// The place of a column in a sample.
#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Load(usize, ColumnPart),
    Stage(usize, StagePart),
    Finish(ColumnPart),
    Largest,
}

#[derive(Clone, Debug, PartialEq)]
enum ColumnPart {
    Calls(String),
    Amount(String),
    /// Calls and amount, which are equal.
    Both(String),
    /// Messages or bytes that are sent, received, or sent as copies.
    Traffic(usize, bool),
    Keys,
}

#[derive(Clone, Debug, PartialEq)]
enum StagePart {
    Number(usize),
    Uses(ColumnPart),
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
            let values = match slot {
                // Of a stage that some sizes do not have, only the number is zero there.
                Slot::Stage(stage, ref part) if *part != StagePart::Number(0) => {
                    let repeats = format!("{stage}.{}", NUMBERS[0]);
                    let has_stage = rows.iter().map(|row| row.contains_key(&repeats));
                    let there = told.iter().zip(has_stage);
                    let there = there.map(|(value, has)| has.then(|| zero(value)));
                    with_neighbours(&there.collect::<Vec<_>>())
                }
                _ => told.iter().map(zero).collect(),
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
        Some(Self { variant, operation, members, columns })
    }

    /// Returns the smallest and the largest counted size (members).
    pub fn counted(&self) -> (u32, u32) {
        (self.members[0], self.members[self.members.len() - 1])
    }

    /// Returns the counted sizes (members), ascending.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Returns the sample at a size, without protection of messages. `None` below the smallest one.
    pub fn at(&self, members: u32) -> Option<Estimate<Sample>> {
        let (least, most) = self.counted();
        if members < least {
            return None;
        }
        let place = SizePosition::of(&self.members, members);
        let mut sample = Sample {
            operation: self.operation.clone(),
            members,
            member: Load::default(),
            busiest: Load::default(),
            controller: Load::default(),
            gateway: Load::default(),
            stages: Vec::new(),
            finish: Uses::default(),
            largest: 0,
        };
        for column in &self.columns {
            let value = place.value(&column.values, column.is_logarithmic).max(0.0);
            column.slot.set(&mut sample, value);
        }
        sample.stages.retain(|stage| stage.repeats > 0.0);
        Some(Estimate { value: sample, is_extrapolated: members > most })
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
        Ok(Self { variant, operation, members, columns })
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

/// The loads of a sample by the first letter of their columns.
const LOADS: [&str; 4] = ["m", "b", "c", "g"];

/// The traffic of a load.
const TRAFFIC: [[&str; 2]; 3] = [["sm", "sb"], ["rm", "rb"], ["cm", "cb"]];

/// The numbers of a stage.
const ROLE: usize = 7;
const NUMBERS: [&str; 8] = ["n", "s", "m", "b", "d", "a", "r", "role"];

impl Slot {
    fn named(name: &str) -> Option<Self> {
        if name == "largest" {
            return Some(Self::Largest);
        }
        let (place, rest) = name.split_once('.')?;
        if let Some(load) = LOADS.iter().position(|load| *load == place) {
            return Some(Self::Load(load, ColumnPart::named(rest)?));
        }
        if place == "f" {
            return Some(Self::Finish(ColumnPart::named(rest)?));
        }
        // More stages would be a mistake, and much memory.
        let stage = place.parse().ok().filter(|stage| *stage < 10_000)?;
        let part = match NUMBERS.iter().position(|number| *number == rest) {
            Some(number) => StagePart::Number(number),
            None => StagePart::Uses(ColumnPart::named(rest)?),
        };
        Some(Self::Stage(stage, part))
    }

    fn set(&self, sample: &mut Sample, value: f64) {
        match self {
            Self::Load(load, part) => {
                let Sample { member, busiest, controller, gateway, .. } = sample;
                part.set([member, busiest, controller, gateway][*load], value);
            }
            Self::Finish(part) => part.set_use(&mut sample.finish, value),
            Self::Largest => sample.largest = value.round() as u32,
            Self::Stage(stage, part) => {
                if sample.stages.len() <= *stage {
                    sample.stages.resize(*stage + 1, Stage::default());
                }
                let stage = &mut sample.stages[*stage];
                match part {
                    StagePart::Uses(part) => part.set_use(&mut stage.uses, value),
                    StagePart::Number(ROLE) => {
                        stage.sender = match value.round() as u32 {
                            1 => DeviceRole::Controller,
                            2 => DeviceRole::Gateway,
                            _ => DeviceRole::Member,
                        }
                    }
                    StagePart::Number(number) => {
                        let Stage {
                            repeats,
                            senders,
                            messages,
                            bytes,
                            deliveries,
                            awaited,
                            receivers,
                            ..
                        } = stage;
                        *[repeats, senders, messages, bytes, deliveries, awaited, receivers]
                            [*number] = value;
                    }
                }
            }
        }
    }
}

impl ColumnPart {
    fn named(name: &str) -> Option<Self> {
        if name == "k" {
            return Some(Self::Keys);
        }
        for (index, [messages, bytes]) in TRAFFIC.into_iter().enumerate() {
            if name == messages || name == bytes {
                return Some(Self::Traffic(index, name == bytes));
            }
        }
        let primitive = name.get(..name.len().checked_sub(1)?)?.to_owned();
        match name.as_bytes()[name.len() - 1] {
            b'+' => Some(Self::Calls(primitive)),
            b'#' => Some(Self::Amount(primitive)),
            b'=' => Some(Self::Both(primitive)),
            _ => None,
        }
    }

    fn set(&self, load: &mut Load, value: f64) {
        match self {
            Self::Keys => load.keys = value,
            Self::Traffic(index, is_bytes) => {
                let Load { sent, received, copies, .. } = load;
                let traffic = [sent, received, copies].into_iter().nth(*index);
                let Some(ProtocolTraffic { messages, bytes }) = traffic else { return };
                *(if *is_bytes { bytes } else { messages }) = value;
            }
            Self::Calls(_) | Self::Amount(_) | Self::Both(_) => {
                self.set_use(&mut load.uses, value);
            }
        }
    }

    fn set_use(&self, uses: &mut Uses, value: f64) {
        if value == 0.0 {
            return;
        }
        match self {
            Self::Calls(primitive) => uses.0.entry(primitive.clone()).or_default().calls = value,
            Self::Amount(primitive) => uses.0.entry(primitive.clone()).or_default().amount = value,
            Self::Both(primitive) => {
                uses.0.insert(primitive.clone(), PrimitiveCount { calls: value, amount: value });
            }
            Self::Traffic(..) | Self::Keys => {}
        }
    }
}

/// Returns the columns of one sample that are not zero.
fn flat(sample: &Sample) -> BTreeMap<String, f64> {
    let mut row = BTreeMap::new();
    let loads = [&sample.member, &sample.busiest, &sample.controller, &sample.gateway];
    for (letter, load) in LOADS.into_iter().zip(loads) {
        flat_uses(&mut row, letter, &load.uses);
        let traffic = [load.sent, load.received, load.copies];
        for ([messages, bytes], traffic) in TRAFFIC.into_iter().zip(traffic) {
            row.insert(format!("{letter}.{messages}"), traffic.messages);
            row.insert(format!("{letter}.{bytes}"), traffic.bytes);
        }
        row.insert(format!("{letter}.k"), load.keys);
    }
    flat_uses(&mut row, "f", &sample.finish);
    row.insert("largest".to_owned(), f64::from(sample.largest));
    row.retain(|_, value| *value != 0.0);
    for (index, stage) in sample.stages.iter().enumerate() {
        let Stage { senders, messages, bytes, deliveries, awaited, uses, sender, .. } = stage;
        let Stage { repeats, receivers, .. } = stage;
        let role = match sender {
            DeviceRole::Controller => 1.0,
            DeviceRole::Gateway => 2.0,
            DeviceRole::Member => 3.0,
        };
        let sent = [*repeats, *senders, *messages, *bytes];
        let numbers = sent.into_iter().chain([*deliveries, *awaited, *receivers, role]);
        for (name, value) in NUMBERS.into_iter().zip(numbers) {
            row.insert(format!("{index}.{name}"), value);
        }
        flat_uses(&mut row, &index.to_string(), uses);
    }
    row
}

fn flat_uses(row: &mut BTreeMap<String, f64>, place: &str, uses: &Uses) {
    for (primitive, PrimitiveCount { calls, amount }) in &uses.0 {
        row.insert(format!("{place}.{primitive}+"), *calls);
        row.insert(format!("{place}.{primitive}#"), *amount);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for it.
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Fills gaps with the nearest value.
fn with_neighbours(told: &[Option<f64>]) -> Vec<f64> {
    let nearest = |place: usize| {
        let there = told.iter().enumerate().filter_map(|(other, value)| Some((other, (*value)?)));
        there.min_by_key(|(other, _)| place.abs_diff(*other)).map_or(0.0, |(_, value)| value)
    };
    (0..told.len()).map(nearest).collect()
}

/// Returns a number with at most six significant digits, unless it is whole.
fn short(value: f64) -> f64 {
    if value == value.round() { value } else { format!("{value:.5e}").parse().unwrap_or(value) }
}

/// A place between two sizes.
struct SizePosition {
    /// The indices of the two sizes; equal at a counted size.
    between: (usize, usize),
    /// How far it is from the first to the second one, over the size and over its logarithm.
    share: f64,
    logarithmic_share: f64,
}

impl SizePosition {
    fn of(sizes: &[u32], members: u32) -> Self {
        let upper = sizes.partition_point(|size| *size < members);
        if sizes.get(upper) == Some(&members) || sizes.len() == 1 {
            let index = upper.min(sizes.len() - 1);
            return Self { between: (index, index), share: 0.0, logarithmic_share: 0.0 };
        }
        let upper = upper.clamp(1, sizes.len() - 1);
        let [low, high, here] = [sizes[upper - 1], sizes[upper], members].map(f64::from);
        Self {
            between: (upper - 1, upper),
            share: (here - low) / (high - low),
            logarithmic_share: (here / low).ln() / (high / low).ln(),
        }
    }

    fn value(&self, values: &[f64], is_logarithmic: bool) -> f64 {
        let (low, high) = (values[self.between.0], values[self.between.1]);
        if low == high {
            return low;
        }
        let share = if is_logarithmic { self.logarithmic_share } else { self.share };
        (high - low).mul_add(share, low)
    }
}

/// Returns how far the values are from the lines between their neighbours, in all.
fn bends(sizes: &[u32], values: &[f64], is_logarithmic: bool) -> f64 {
    let mut sum = 0.0;
    for middle in 1..sizes.len().saturating_sub(1) {
        let around = |list: &[f64]| [list[middle - 1], list[middle + 1]];
        let place = SizePosition::of(&[sizes[middle - 1], sizes[middle + 1]], sizes[middle]);
        let expected = place.value(&around(values), is_logarithmic);
        sum += (expected - values[middle]).abs() / values[middle].abs().max(1e-9);
    }
    sum
}

/// Writes the numbers of a column: one if it does not change, otherwise one for each size, or
/// nothing where a line between the neighbours tells it. `~` before it says that the lines are over
/// the logarithm.
fn written(sizes: &[u32], values: &[f64], is_logarithmic: bool) -> String {
    if values.iter().all(|value| *value == values[0]) {
        return values[0].to_string();
    }
    let mut told = vec![String::new(); values.len()];
    let mut from = 0;
    told[0] = values[0].to_string();
    while from + 1 < values.len() {
        let mut to = from + 1;
        while to + 1 < values.len() && is_told(sizes, values, is_logarithmic, from, to + 1) {
            to += 1;
        }
        told[to] = values[to].to_string();
        from = to;
    }
    let text = told.join(",");
    if is_logarithmic { format!("~{text}") } else { text }
}

/// Whether the two ends tell what is between them.
fn is_told(sizes: &[u32], values: &[f64], is_logarithmic: bool, from: usize, to: usize) -> bool {
    let ends = [sizes[from], sizes[to]];
    (from + 1..to).all(|middle| {
        let place = SizePosition::of(&ends, sizes[middle]);
        short_of(place.value(&[values[from], values[to]], is_logarithmic)) == values[middle]
    })
}

/// Returns an interpolated number as it was before it was left out: whole if it nearly is.
fn short_of(value: f64) -> f64 {
    if (value - value.round()).abs() < 1e-6 { value.round() } else { short(value) }
}

/// Reads what [`written`] wrote.
fn values(sizes: &[u32], text: &str) -> Option<(bool, Vec<f64>)> {
    let (is_logarithmic, text) = match text.strip_prefix('~') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    if !text.contains(',') {
        return Some((is_logarithmic, vec![number(text)?; sizes.len()]));
    }
    let mut told = Vec::with_capacity(sizes.len());
    for text in text.split(',') {
        told.push(if text.is_empty() { None } else { Some(number(text)?) });
    }
    if told.len() != sizes.len() || told[0].is_none() || told[told.len() - 1].is_none() {
        return None;
    }
    let mut values: Vec<f64> = Vec::with_capacity(sizes.len());
    let mut from = 0;
    for to in 0..told.len() {
        let Some(value) = told[to] else { continue };
        for middle in from + 1..to {
            let place = SizePosition::of(&[sizes[from], sizes[to]], sizes[middle]);
            values.push(short_of(place.value(&[told[from]?, value], is_logarithmic)));
        }
        values.push(value);
        from = to;
    }
    Some((is_logarithmic, values))
}

#[cfg(test)]
mod tests {
    use super::*;

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
