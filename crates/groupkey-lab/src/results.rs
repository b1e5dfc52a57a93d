//! Result rows. A row has one setting and operation, statistics over the runs, and the runs
//! themselves. Tables, figures and verdicts all derive from the rows.

mod columns;
mod file;
mod kind;
mod run;
#[cfg(test)]
mod schema;

use serde::{Deserialize, Serialize};

pub(crate) use self::columns::fields;
pub use self::columns::{ColumnValues, ResultColumn};
pub use self::file::{
    FileHeader, FileRow, Origin, ResultsError, read_jsonl, write_csv, write_jsonl, write_line,
};
pub(crate) use self::file::{PRINTED, UNKNOWN};
pub use self::kind::ResultsKind;
pub use self::run::{RunHeader, RunRow};
use crate::statistics::Summary;

/// First line of a results file: what was run, on what, and how to run it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultsHeader {
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
    /// What the campaign assumes, one sentence each.
    pub assumptions: Vec<String>,
}

impl FileHeader for ResultsHeader {
    type Row = NetworkRow;
    const FORMAT: &'static str = "groupkey-results";
    const VERSION: u32 = 1;

    fn of_printed(rows: &[NetworkRow]) -> Option<Self> {
        let first = rows.first();
        Some(Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            study: "network".to_owned(),
            seed: first.map_or(0, |row| row.setting.seed),
            runs: first.map_or(0, |row| row.runs),
            commit: UNKNOWN.to_owned(),
            machine: UNKNOWN.to_owned(),
            suite: first.map_or_else(String::new, |row| row.setting.suite.clone()),
            assumptions: vec![PRINTED.to_owned()],
        })
    }

    fn origin(&self) -> Origin<'_> {
        Origin { commit: &self.commit, machine: &self.machine, seed: self.seed }
    }
}

/// What a row measures: one operation of one scheme in one network. A run's outcome depends only on
/// these fields and on the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RowSetting {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Parameters that differ from the profile's, separated by spaces: `degree=2`. Empty if none
    /// differs.
    pub parameters: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `none`, `mac`, `signature` or `merkle`.
    pub protection: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// `create`, `add`, `remove`, `rekey` or `send`.
    pub operation: String,
    /// The operations on the group, this operation last: `create, add`.
    pub history: String,
    /// Members of the group at its creation.
    pub members: u32,
    /// Packet loss on each client's link (%).
    pub loss_percent: f64,
    /// Direction in which packets are lost, as seen from the client: `both`, `down` or `up`.
    pub loss_direction: String,
    /// Mean length of the bursts in which packets are lost (ms); absent if each packet is lost
    /// independently.
    pub burst_ms: Option<f64>,
    /// One-way delay of each client's link (ms).
    pub delay_ms: f64,
    /// Largest deviation of a packet's delay from the one-way delay, up or down (ms).
    pub jitter_ms: f64,
    /// Bandwidth of each client's link (kbit/s); absent if there is no limit.
    pub bandwidth_kbit_s: Option<f64>,
    /// How links change, and which members or subgroups differ from the others. Empty if none does.
    pub variations: String,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// The QoS 2 packet on which a subscriber delivers a message: `publish` or `pubrel`.
    pub hand_over: String,
    /// Largest number of MQTT exchanges in flight at one end of a connection.
    pub max_in_flight: u16,
    /// Bytes of the request with which a member asks to join or leave; absent if the controller
    /// acts without a request.
    pub request_bytes: Option<u32>,
    /// How long the network is idle between two operations (ms); absent if the group has settled
    /// before each.
    pub rest_ms: Option<u64>,
    /// Outages of each client's link an hour; absent if links do not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages_per_hour: Option<f64>,
    /// Mean length of such an outage (s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_s: Option<f64>,
    /// Restarts of the broker an hour; absent if it never restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts_per_hour: Option<f64>,
    /// Mean time that a restart takes (s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_s: Option<f64>,
    /// MQTT's keep-alive (s); absent if connections do not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive_s: Option<u16>,
    /// What is left of a session when its connection has ended: `kept` or `clean`. Absent if
    /// connections do not end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// Device profile of the members.
    pub device: String,
    /// Device profile of the controller and the broker.
    pub controller_device: String,
    /// Device profile of the subgroup controllers. Empty in schemes without subgroups.
    pub subgroup_device: String,
    /// Seed of this row's runs.
    pub seed: u64,
}

/// One setting and operation: statistics over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkRow {
    /// What was run.
    #[serde(flatten)]
    pub setting: RowSetting,
    /// Number of runs.
    pub runs: u32,
    /// Mean time until the last party has the key (ms).
    pub mean_ms: f64,
    /// Standard deviation of that time (ms); absent for a single run.
    pub sd_ms: Option<f64>,
    /// Half width of the mean's 95 % confidence interval (ms); absent for a single run.
    pub ci95_ms: Option<f64>,
    /// Median of that time (ms).
    pub p50_ms: f64,
    /// 90th percentile of that time (ms).
    pub p90_ms: f64,
    /// 99th percentile of that time (ms).
    pub p99_ms: f64,
    /// Mean time that the critical path spends on the network (ms).
    pub transmission_ms: f64,
    /// Mean time that the critical path spends computing (ms). Network and computing time add up to
    /// the mean.
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
    /// Energy of a member (J), mean over members and runs: computation and radio, at the prices of
    /// its device; modelled. Absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_joule: Option<f64>,
    /// Members that stayed behind, mean per run: they lack the key, are connected, and do not know
    /// it or ask no more. The times are those of the others. Absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub behind: f64,
    /// Requests of parties that asked for what they missed, mean per run. Absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub catch_ups: f64,
    /// The runs themselves; left out if only the statistics are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<RunSample>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunSample {
    /// Time until the last party has the key (ms).
    pub total_ms: f64,
    /// The part of the total time that the critical path spends on the network (ms).
    pub transmission_ms: f64,
    /// The part of the total time that the critical path spends computing (ms).
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
    /// Mean energy of a member (J), modelled. Absent if the prices of its device are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_joule: Option<f64>,
    /// Members that stayed behind: they lack the key, are connected, and do not know it or ask no
    /// more. Absent if there were none.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub behind: u64,
    /// Requests of parties that asked for what they missed. Absent if there were none.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub catch_ups: u64,
}

impl RowSetting {
    pub(crate) fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, profile, parameters, suite, protection]);
        columns.extend(fields![text: provenance, operation, history]);
        columns.extend(fields![integer: members]);
        columns.extend(fields![number: loss_percent]);
        columns.extend(fields![text: loss_direction]);
        columns.extend(fields![optional number: burst_ms]);
        columns.extend(fields![number: delay_ms, jitter_ms]);
        columns.extend(fields![optional number: bandwidth_kbit_s]);
        columns.extend(fields![text: variations]);
        columns.extend(fields![integer: qos]);
        columns.extend(fields![text: hand_over]);
        columns.extend(fields![integer: max_in_flight]);
        columns.extend(fields![optional integer: request_bytes, rest_ms]);
        columns.extend(fields![optional number: outages_per_hour, outage_s]);
        columns.extend(fields![optional number: restarts_per_hour, restart_s]);
        columns.extend(fields![optional integer: keep_alive_s]);
        columns.extend(fields![text: session]);
        columns.extend(fields![text: device, controller_device, subgroup_device]);
        columns.extend(fields![integer: seed]);
        columns
    }
}

impl NetworkRow {
    /// Summarises the runs of one setting.
    ///
    /// Times are rounded to the nanosecond, the simulator's own resolution. The files therefore do
    /// not depend on the last bits of a platform's floating point, and they read back exactly.
    pub fn from_samples(setting: RowSetting, samples: Vec<RunSample>) -> Self {
        let samples: Vec<RunSample> = samples.into_iter().map(RunSample::rounded).collect();
        let totals: Vec<f64> = samples.iter().map(|s| s.total_ms).collect();
        let total = Summary::of(&totals);
        let mean = |quantity: fn(&RunSample) -> f64| {
            let sum: f64 = samples.iter().map(quantity).sum();
            to_nanosecond(sum / samples.len().max(1) as f64)
        };

        Self {
            setting,
            runs: samples.len() as u32,
            mean_ms: to_nanosecond(total.mean),
            sd_ms: total.sd.map(to_nanosecond),
            ci95_ms: total.ci95.map(to_nanosecond),
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
            member_joule: mean_joule(&samples),
            behind: mean(|s| s.behind as f64),
            catch_ups: mean(|s| s.catch_ups as f64),
            samples,
        }
    }

    /// Returns the runs' total times (ms), in the order of the runs.
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

    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns: Vec<_> = RowSetting::columns()
            .into_iter()
            .map(|column| column.of_part(|row: &Self| &row.setting))
            .collect();
        columns.extend(fields![integer: runs]);
        columns.extend(fields![number: mean_ms]);
        columns.extend(fields![optional number: sd_ms, ci95_ms]);
        columns.extend(fields![number: p50_ms, p90_ms, p99_ms]);
        columns.extend(fields![number: transmission_ms, computation_ms, member_mean_ms]);
        columns.extend(fields![number: messages, payload_bytes, wire_bytes, retransmissions]);
        columns.extend(fields![optional number: member_joule]);
        columns.extend(fields![number: behind, catch_ups]);
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
            member_joule: self.member_joule.map(to_picojoule),
            ..self
        }
    }
}

// Rows without outages have no fields of outages.
fn is_zero(mean: &f64) -> bool {
    *mean == 0.0
}

const fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

/// Rounds milliseconds (or a mean count) to six decimals.
fn to_nanosecond(milliseconds: f64) -> f64 {
    (milliseconds * 1e6).round() / 1e6
}

/// Returns the mean energy of the runs; `None` if that of one of them is not known.
fn mean_joule(samples: &[RunSample]) -> Option<f64> {
    let sum = samples.iter().map(|run| run.member_joule).sum::<Option<f64>>()?;
    (!samples.is_empty()).then(|| to_picojoule(sum / samples.len() as f64))
}

/// Rounds joules to twelve decimals.
fn to_picojoule(joule: f64) -> f64 {
    (joule * 1e12).round() / 1e12
}

/// Formats parameters as rows of results have them: `degree=2 subgroups=4`.
pub(crate) fn told_parameters(parameters: &[(String, u32)]) -> String {
    let told = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    told.collect::<Vec<_>>().join(" ")
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

/// A setting and two runs for tests.
#[cfg(test)]
pub(crate) mod example {
    use super::{RowSetting, RunSample};

    pub(crate) fn setting() -> RowSetting {
        RowSetting {
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
            ..RowSetting::default()
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
            member_joule: Some(2e-6),
            retransmissions: 0,
            behind: 0,
            catch_ups: 0,
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
