//! The files with a benchmark's rows: those of [`crate::results`], with a header and columns of
//! their own.

use std::collections::BTreeMap;

use groupkey::crypto::meter::Primitive;
use serde::{Deserialize, Serialize};

use super::row::{BenchRow, CountedPrimitive, MessageTraffic};
use crate::device::measure::MeasuredPrice;
use crate::results::{FileHeader, FileRow, Origin, PRINTED, ResultColumn, UNKNOWN, fields};
use crate::statistics::Deviation;

/// First line of a benchmark's results: what was run, on what, and how to run it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchHeader {
    /// Always `groupkey-bench`.
    #[cfg_attr(test, schemars(extend("const" = Self::FORMAT)))]
    pub format: String,
    /// Version of the format; readers refuse any other.
    #[cfg_attr(test, schemars(extend("const" = Self::VERSION)))]
    pub version: u32,
    /// Seed from which the seed of every row is derived.
    pub seed: u64,
    /// Commit of the code that ran.
    pub commit: String,
    /// Processor model and number of cores; never a host name or a path.
    pub machine: String,
    /// The workload that was run, for example `smart-city`.
    pub workload: String,
    /// SHA-256 of all plans, in hexadecimal. A run that continues must have the same plans.
    pub plans: String,
    /// Number of rows that follow. It is written when everything is measured, and absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// Prices of primitives by themselves on this machine in this run: by suite, then by the
    /// meter's name of the primitive. Counted costs are given in these prices.
    pub prices: BTreeMap<String, BTreeMap<String, MeasuredPrice>>,
    /// What the benchmark assumes, one sentence each.
    pub assumptions: Vec<String>,
}

impl BenchHeader {
    /// Returns a header without plans, prices and assumptions.
    pub fn new(seed: u64, commit: String, machine: String, workload: String) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            seed,
            commit,
            machine,
            workload,
            plans: String::new(),
            rows: None,
            prices: BTreeMap::new(),
            assumptions: Vec::new(),
        }
    }
}

impl FileHeader for BenchHeader {
    type Row = BenchRow;
    const FORMAT: &'static str = "groupkey-bench";
    const VERSION: u32 = 1;

    fn of_printed(rows: &[BenchRow]) -> Option<Self> {
        let first = rows.first();
        let workload = first.map_or_else(String::new, |row| row.workload.clone());
        let seed = first.map_or(0, |row| row.seed);
        Some(Self {
            rows: Some(rows.len()),
            assumptions: vec![PRINTED.to_owned()],
            ..Self::new(seed, UNKNOWN.to_owned(), UNKNOWN.to_owned(), workload)
        })
    }

    fn origin(&self) -> Origin<'_> {
        Origin { commit: &self.commit, machine: &self.machine, seed: self.seed }
    }

    fn lacking(&self, rows: usize) -> Option<String> {
        let noun = if rows == 1 { "row" } else { "rows" };
        match self.rows {
            None => Some(format!("unfinished: {rows} {noun} so far")),
            Some(all) if rows < all => Some(format!("unfinished: {rows} of {all} rows")),
            Some(all) if rows > all => Some(format!("altered: {rows} rows, not {all}")),
            Some(_) => None,
        }
    }
}

impl FileRow for BenchRow {
    fn check(&self) -> Result<(), String> {
        let known = |name: &&String| Primitive::ALL.iter().any(|known| known.name() == *name);
        match self.primitives.keys().find(|name| !known(name)) {
            Some(unknown) => Err(format!("there is no primitive {unknown:?}")),
            None => Ok(()),
        }
    }

    /// Each primitive has two columns, in every table: `primitives_wrap_calls`,
    /// `primitives_wrap_amount`, and so on.
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, profile, parameters, suite]);
        columns.extend(fields![integer: security_bits]);
        columns.extend(fields![text: class, provenance, protection, workload]);
        columns.extend(fields![text: operation, role, phase]);
        columns.extend(fields![integer: members, subgroups]);
        columns.push(ResultColumn::integer("message_bytes", |row: &Self| {
            row.message_bytes.map(u64::from)
        }));
        columns.push(ResultColumn::text("nonces", |row: &Self| row.nonces.clone()));
        columns.extend(fields![integer: repetitions, seed]);
        columns.extend(fields![text: clock]);
        columns.extend(fields![number: mean_ns]);
        columns.extend(fields![optional number: ci95_ns, sd_ns]);
        columns.extend(fields![number: p50_ns, p90_ns, p99_ns]);
        columns.extend(fields![number: counted_ns]);
        columns.push(ResultColumn::number("measured_over_counted", |row: &Self| {
            row.measured_over_counted
        }));
        columns.extend(fields![integer: permanent_bytes, temporary_bytes]);
        columns.extend(fields![integer: messages, payload_bytes, wire_bytes]);
        columns.extend(traffic("unicast", |row: &Self| row.unicast));
        columns.extend(traffic("multicast", |row: &Self| row.multicast));
        columns.extend(traffic("broadcast", |row: &Self| row.broadcast));
        columns.push(ResultColumn::text("device", |row: &Self| row.device.clone()));
        columns.push(ResultColumn::number("device_ns", |row: &Self| row.device_ns));
        columns.extend(deviation("device_joule", |row: &Self| row.device_joule));
        columns.push(ResultColumn::text("radio", |row: &Self| row.radio.clone()));
        columns.extend(deviation("radio_joule", |row: &Self| row.radio_joule));
        columns.extend(counts_of(|row: &Self| &row.primitives));
        columns
    }
}

pub(super) fn traffic<R: 'static>(
    kind: &str,
    of: fn(&R) -> MessageTraffic,
) -> [ResultColumn<R>; 3] {
    [
        ResultColumn::integer(format!("{kind}_messages"), move |row| Some(of(row).messages)),
        ResultColumn::integer(format!("{kind}_payload_bytes"), move |row| {
            Some(of(row).payload_bytes)
        }),
        ResultColumn::integer(format!("{kind}_wire_bytes"), move |row| Some(of(row).wire_bytes)),
    ]
}

/// Returns the columns of a figure with its error.
pub(super) fn deviation<R: 'static>(
    name: &str,
    of: fn(&R) -> Option<Deviation>,
) -> [ResultColumn<R>; 2] {
    [
        ResultColumn::number(format!("{name}_value"), move |row| Some(of(row)?.value)),
        ResultColumn::number(format!("{name}_error"), move |row| Some(of(row)?.error)),
    ]
}

pub(super) fn counts_of<R: 'static>(
    of: fn(&R) -> &BTreeMap<String, CountedPrimitive>,
) -> impl Iterator<Item = ResultColumn<R>> {
    Primitive::ALL.into_iter().flat_map(move |primitive| {
        let name = primitive.name().replace('-', "_");
        let count = move |row: &R| of(row).get(primitive.name()).copied().unwrap_or_default();
        [
            ResultColumn::number(format!("primitives_{name}_calls"), move |row| {
                Some(count(row).calls)
            }),
            ResultColumn::number(format!("primitives_{name}_amount"), move |row| {
                Some(count(row).amount)
            }),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_knows_what_its_file_lacks() {
        let of = |rows| {
            let header = BenchHeader::new(1, String::new(), String::new(), String::new());
            BenchHeader { rows, ..header }
        };
        assert_eq!(of(Some(116)).lacking(116), None);
        assert_eq!(of(Some(116)).lacking(1).as_deref(), Some("unfinished: 1 of 116 rows"));
        assert_eq!(of(Some(1)).lacking(2).as_deref(), Some("altered: 2 rows, not 1"));
        assert_eq!(of(None).lacking(1).as_deref(), Some("unfinished: 1 row so far"));
    }
}
