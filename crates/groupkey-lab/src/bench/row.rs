//! One line of a benchmark's results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::Deviation;

/// What one role does in one operation of one scheme, at one group size.
///
/// Times without further name were measured on the machine that ran the benchmark. The times of the
/// counted primitives on a device are in separate fields, with the device's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchRow {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Parameters that differ from the profile's, separated by spaces: `degree=2`. Empty if none
    /// differs.
    pub parameters: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Security level of the suite for this scheme (bits).
    pub security_bits: u32,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Protection of messages: `none`, `mac`, `signature` or `merkle`.
    pub protection: String,
    /// The workload that asked for this row, for example `smart-city`.
    pub workload: String,
    /// `create`, `add`, `remove`, or another of the scheme's operations. `encrypt` and `decrypt`
    /// are for a message to the group.
    pub operation: String,
    /// `controller`, `subgroup-controller`, `member`, `new-member` or `sponsor`.
    pub role: String,
    /// `deployment` (once, over a confidential channel) or `operational`.
    pub phase: String,
    /// Members of the group when the operation begins; for `create`, when it has ended.
    pub members: u32,
    /// Number of subgroups that these members are divided into; 0 if there are none.
    pub subgroups: u32,
    /// Bytes of the message that is encrypted or decrypted; absent for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<u32>,
    /// How that message got its nonce: `counter` or `synthetic`; absent for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonces: Option<String>,
    /// Measured repetitions.
    pub repetitions: u32,
    /// Seed of the run: the inputs follow from it.
    pub seed: u64,
    /// Clock that measured the times: `processor`, or `wall` on a system that counts no processor
    /// time of a thread.
    pub clock: String,
    /// Mean computation time of the role (ns).
    pub mean_ns: f64,
    /// Half width of the mean's 95 % confidence interval (ns). From ten repetitions on, it is over
    /// the means of rounds.
    pub ci95_ns: Option<f64>,
    /// Standard deviation (ns). It and the interval are absent for a single repetition.
    pub sd_ns: Option<f64>,
    /// Median (ns).
    pub p50_ns: f64,
    /// 90th percentile (ns).
    pub p90_ns: f64,
    /// 99th percentile (ns).
    pub p99_ns: f64,
    /// Cost of the counted primitives by themselves, on the same machine in the same run (ns, mean
    /// of one repetition).
    pub counted_ns: f64,
    /// Measured over counted cost: the best repetition over the counted cost. The excess is our
    /// code, not the scheme's mathematics. Absent if nothing was counted.
    pub measured_over_counted: Option<f64>,
    /// Counted primitives, by the meter's names, mean of one repetition.
    pub primitives: BTreeMap<String, CountedPrimitive>,
    /// Key material kept between operations (bytes).
    pub permanent_bytes: u64,
    /// Key material held in addition during the operation, at most (bytes).
    pub temporary_bytes: u64,
    /// Messages of all kinds that the role sent.
    pub messages: u64,
    /// Bytes of the scheme's own bodies in these messages.
    pub payload_bytes: u64,
    /// Bytes of the whole messages: header, body and protection.
    pub wire_bytes: u64,
    /// Messages to one party.
    pub unicast: MessageTraffic,
    /// Messages to a subset.
    pub multicast: MessageTraffic,
    /// Messages to the whole group.
    pub broadcast: MessageTraffic,
    /// Device profile that the next fields are for, if one was chosen.
    pub device: Option<String>,
    /// Time of the counted primitives on that device (ns): modelled, never measured here.
    pub device_ns: Option<f64>,
    /// Energy of the counted primitives on that device, with its error (J): modelled.
    pub device_joule: Option<Deviation>,
    /// The device's radio, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<String>,
    /// Energy of that radio for the messages that the role sends and receives, with the headers above
    /// the link and one wake-up, and its error (J): modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio_joule: Option<Deviation>,
    /// The samples (ns), in the order of measurement; left out if only the statistics are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_ns: Vec<u64>,
    /// Reasons to doubt the row's times, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How often a primitive was used, and on how much. The meter's documentation says what a unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountedPrimitive {
    /// Calls.
    pub calls: f64,
    /// Sum of the amounts.
    pub amount: f64,
}

/// Messages of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageTraffic {
    /// Number of messages.
    pub messages: u64,
    /// Bytes of the scheme's own bodies.
    pub payload_bytes: u64,
    /// Bytes of the whole messages.
    pub wire_bytes: u64,
}
