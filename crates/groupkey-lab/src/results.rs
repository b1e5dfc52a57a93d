//! Result rows: one setting and operation each, with statistics over the runs and the runs
//! themselves. Everything else, tables, figures and verdicts, derives from them.

mod columns;
mod file;
mod parquet;
#[cfg(test)]
mod schema;

use serde::{Deserialize, Serialize};

pub use self::columns::Column;
pub(crate) use self::columns::fields;
pub use self::file::{
    FileHeader, FileRow, ResultsError, format_of, read_jsonl, write_csv, write_jsonl, write_line,
};
pub use self::parquet::write_parquet;
use crate::statistics::Summary;

/// First line of a results file: what was run, on what, and how to run it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header {
    /// Always `groupkey-results`.
    #[cfg_attr(test, schemars(extend("const" = Self::FORMAT)))]
    pub format: String,
    /// Version of the format; readers refuse any other.
    #[cfg_attr(test, schemars(extend("const" = Self::VERSION)))]
    pub version: u32,
    /// Name of the study, for example `network`.
    pub study: String,
    /// Seed from which the seed of every row is derived.
    pub seed: u64,
    /// Runs per row.
    pub runs: u32,
    /// Commit of the code that ran.
    pub commit: String,
    /// Processor model and number of cores; never a host name or a path.
    pub machine: String,
    /// Suite of algorithms.
    pub suite: String,
    /// What the campaign takes for granted, one sentence each.
    pub assumptions: Vec<String>,
}

impl FileHeader for Header {
    type Row = NetworkRow;
    const FORMAT: &'static str = "groupkey-results";
    const VERSION: u32 = 1;
}

/// What a row measures: one operation of one scheme in one network.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `none`, `mac` or `signature`.
    pub protection: String,
    /// `specified`, `reconstructed` or `stand-in`.
    pub provenance: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// Members of the group.
    pub members: u32,
    /// Packet loss on each client's link, each way (%).
    pub loss_percent: f64,
    /// One-way delay of each client's link (ms).
    pub delay_ms: f64,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// Device profile of the members.
    pub device: String,
    /// Seed of this row's runs.
    pub seed: u64,
}

/// One setting and operation: statistics over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkRow {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `none`, `mac` or `signature`. Empty in rows of before it was kept.
    #[serde(default)]
    pub protection: String,
    /// `specified`, `reconstructed` or `stand-in`.
    pub provenance: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// Members of the group.
    pub members: u32,
    /// Packet loss on each client's link, each way (%).
    pub loss_percent: f64,
    /// One-way delay of each client's link (ms).
    pub delay_ms: f64,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// Device profile of the members.
    pub device: String,
    /// Number of runs.
    pub runs: u32,
    /// Seed of this row's runs.
    pub seed: u64,
    /// Mean time until the last party has the key (ms).
    pub mean_ms: f64,
    /// Standard deviation of that time (ms).
    pub sd_ms: f64,
    /// Half width of the mean's 95 % confidence interval (ms).
    pub ci95_ms: f64,
    /// Median of that time (ms).
    pub p50_ms: f64,
    /// Its 90th percentile (ms).
    pub p90_ms: f64,
    /// Its 99th percentile (ms).
    pub p99_ms: f64,
    /// Mean time that the critical path spends on the network (ms).
    pub transmission_ms: f64,
    /// Mean time that the critical path spends computing (ms); with the former it adds up to the mean.
    pub computation_ms: f64,
    /// Mean over runs and members of the time at which a member had the key (ms).
    pub member_mean_ms: f64,
    /// MQTT application messages published, mean per run.
    pub messages: f64,
    /// Bytes of the schemes' messages, mean per run.
    pub payload_bytes: f64,
    /// Bytes on the wire with every header and retransmission, mean per run.
    pub wire_bytes: f64,
    /// TCP segments sent again, mean per run.
    pub retransmissions: f64,
    /// The runs themselves; left out where only the statistics are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<RunSample>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunSample {
    /// Time until the last party has the key (ms).
    pub total_ms: f64,
    /// The part of it that the critical path spends on the network (ms).
    pub transmission_ms: f64,
    /// The part of it that the critical path spends computing (ms).
    pub computation_ms: f64,
    /// Mean over members of the time at which each had the key (ms).
    pub member_mean_ms: f64,
    /// MQTT application messages published.
    pub messages: u64,
    /// Bytes of the scheme's messages.
    pub payload_bytes: u64,
    /// Bytes on the wire with every header and retransmission.
    pub wire_bytes: u64,
    /// TCP segments sent again.
    pub retransmissions: u64,
}

impl NetworkRow {
    /// Summarises the runs of one setting.
    ///
    /// Times are rounded to the nanosecond, the simulator's own resolution: then the files do not
    /// depend on the last bits of a platform's floating point, and read back exactly.
    pub fn from_samples(setting: Setting, samples: Vec<RunSample>) -> Self {
        let samples: Vec<RunSample> = samples.into_iter().map(RunSample::rounded).collect();
        let totals: Vec<f64> = samples.iter().map(|s| s.total_ms).collect();
        let total = Summary::of(&totals);
        let mean = |quantity: fn(&RunSample) -> f64| {
            let sum: f64 = samples.iter().map(quantity).sum();
            to_nanosecond(sum / samples.len().max(1) as f64)
        };

        Self {
            scheme: setting.scheme,
            profile: setting.profile,
            suite: setting.suite,
            protection: setting.protection,
            provenance: setting.provenance,
            operation: setting.operation,
            members: setting.members,
            loss_percent: setting.loss_percent,
            delay_ms: setting.delay_ms,
            qos: setting.qos,
            device: setting.device,
            runs: samples.len() as u32,
            seed: setting.seed,
            mean_ms: to_nanosecond(total.mean),
            sd_ms: to_nanosecond(total.sd),
            ci95_ms: to_nanosecond(total.ci95),
            p50_ms: to_nanosecond(total.p50),
            p90_ms: to_nanosecond(total.p90),
            p99_ms: to_nanosecond(total.p99),
            transmission_ms: mean(|s| s.transmission_ms),
            computation_ms: mean(|s| s.computation_ms),
            member_mean_ms: mean(|s| s.member_mean_ms),
            messages: mean(|s| s.messages as f64),
            payload_bytes: mean(|s| s.payload_bytes as f64),
            wire_bytes: mean(|s| s.wire_bytes as f64),
            retransmissions: mean(|s| s.retransmissions as f64),
            samples,
        }
    }

    /// The runs' total times (ms), in the order they were run.
    pub fn totals_ms(&self) -> Vec<f64> {
        self.samples.iter().map(|s| s.total_ms).collect()
    }
}

impl FileRow for NetworkRow {
    fn check(&self) -> Result<(), String> {
        let times = |run: &RunSample| {
            [run.total_ms, run.transmission_ms, run.computation_ms, run.member_mean_ms]
        };
        let is_time = |ms: &f64| (0.0..=columns::MOST).contains(ms);
        match self.samples.iter().flat_map(times).find(|ms| !is_time(ms)) {
            Some(ms) => Err(format!("a run took {ms:e} ms, which cannot be")),
            None => Ok(()),
        }
    }

    fn columns() -> Vec<Column<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, profile, suite, protection, provenance, operation]);
        columns.extend(fields![integer: members]);
        columns.extend(fields![number: loss_percent, delay_ms]);
        columns.extend(fields![integer: qos]);
        columns.extend(fields![text: device]);
        columns.extend(fields![integer: runs, seed]);
        columns.extend(fields![number: mean_ms, sd_ms, ci95_ms, p50_ms, p90_ms, p99_ms]);
        columns.extend(fields![number: transmission_ms, computation_ms, member_mean_ms]);
        columns.extend(fields![number: messages, payload_bytes, wire_bytes, retransmissions]);
        columns
    }
}

impl RunSample {
    fn rounded(self) -> Self {
        Self {
            total_ms: to_nanosecond(self.total_ms),
            transmission_ms: to_nanosecond(self.transmission_ms),
            computation_ms: to_nanosecond(self.computation_ms),
            member_mean_ms: to_nanosecond(self.member_mean_ms),
            ..self
        }
    }
}

/// Rounds milliseconds (or a mean count) to six decimals.
fn to_nanosecond(milliseconds: f64) -> f64 {
    (milliseconds * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::example::{samples, setting};
    use super::*;

    #[test]
    fn a_row_adds_up() {
        let row = NetworkRow::from_samples(setting(), samples());
        assert_eq!((row.runs, row.mean_ms, row.p50_ms), (2, 15.0, 15.0));
        assert_eq!(row.transmission_ms + row.computation_ms, row.mean_ms);
        assert_eq!((row.messages, row.wire_bytes), (3.5, 150.0));
    }
}

/// A setting and two runs to test with.
#[cfg(test)]
pub(crate) mod example {
    use super::{RunSample, Setting};

    pub(crate) fn setting() -> Setting {
        Setting {
            scheme: "skdc".to_owned(),
            profile: "sound".to_owned(),
            suite: "standard".to_owned(),
            protection: "mac".to_owned(),
            provenance: "specified".to_owned(),
            operation: "create".to_owned(),
            members: 50,
            loss_percent: 5.0,
            delay_ms: 0.0,
            qos: 2,
            device: "esp32".to_owned(),
            seed: 42,
        }
    }

    pub(crate) fn samples() -> Vec<RunSample> {
        let first = RunSample {
            total_ms: 10.0,
            transmission_ms: 8.0,
            computation_ms: 2.0,
            member_mean_ms: 7.0,
            messages: 3,
            payload_bytes: 60,
            wire_bytes: 100,
            retransmissions: 0,
        };
        let second = RunSample {
            total_ms: 20.0,
            transmission_ms: 17.0,
            computation_ms: 3.0,
            messages: 4,
            wire_bytes: 200,
            ..first
        };
        vec![first, second]
    }
}
