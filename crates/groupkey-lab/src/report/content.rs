//! What the report of the network-impact study shows.

use serde::{Deserialize, Serialize};

use crate::results::{Header, NetworkRow};
use crate::verdict::Verdict;

/// Everything that the page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Header of the results file.
    pub header: Header,
    /// The rows, in the order in which the table lists them.
    pub rows: Vec<NetworkRow>,
    /// Values from the paper, and our values beside them.
    pub published: Vec<PublishedValue>,
    /// The paper's findings, decided by our rows.
    pub verdicts: Vec<Verdict>,
    /// Every number that was set rather than measured here.
    pub calibration: Vec<Calibration>,
    /// The method, one paragraph each.
    pub method: Vec<String>,
    /// The command that makes these results again.
    pub reproduce: String,
    /// The command that runs a single row again. `{scheme}`, `{operation}`, `{members}`, `{loss}`,
    /// `{delay}`, `{qos}`, `{runs}` and `{seed}` stand for the row's own values.
    pub replay: String,
}

/// A value that the paper prints, and what our rows give in the same setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedValue {
    /// Its key in the table of published values.
    pub key: String,
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// Members of the group.
    pub members: u32,
    /// Packet loss (%).
    pub loss_percent: f64,
    /// One-way delay (ms).
    pub delay_ms: f64,
    /// What the value measures.
    pub quantity: Quantity,
    /// The paper's value, in `unit`.
    pub published: f64,
    /// Our value, in `unit`; NaN if no row has this setting.
    pub ours: f64,
    /// `ms` or `%`.
    pub unit: String,
    /// Where the paper prints the value, or what to keep in mind.
    pub note: String,
}

/// A parameter that was set, and the source of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// What the parameter is.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value comes from.
    pub source: String,
}

/// The quantity that a published value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time until the last party has the key.
    Total,
    /// The part of that time spent on the network.
    Transmission,
    /// The share of the time spent on the network.
    TransmissionShare,
}
