//! The report: one HTML file that opens from disk, without a network, on any screen.
//!
//! It redraws the figures of the network-impact study (Prantl et al. 2024, Discover Data, doi
//! 10.1007/s44248-024-00015-1) from our rows, sets the published values beside them, and says what
//! is seen in words computed from the data. The same [`Report`] renders to the same bytes.

mod axis;
mod benchmark;
mod chart;
mod figures;
mod overview;
mod page;
mod reading;
mod scheme;
mod spread;
mod tables;
mod template;
mod text;
mod verdicts;

pub use self::benchmark::{Benchmark, Entry, Reproduction, Source, render_benchmark};
pub(crate) use self::template::fill;
pub(crate) use self::verdicts::verdicts;
use serde::{Deserialize, Serialize};

use crate::results::{Header, NetworkRow};

/// Everything that the page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Header of the results file.
    pub header: Header,
    /// The rows, in the order in which the table lists them.
    pub rows: Vec<NetworkRow>,
    /// Values from the paper and ours beside them.
    pub published: Vec<PublishedValue>,
    /// The paper's findings, decided by our rows.
    pub verdicts: Vec<Verdict>,
    /// Every number that was set rather than measured here.
    pub calibration: Vec<Calibration>,
    /// How it was done, one paragraph each.
    pub method: Vec<String>,
    /// The command that makes these results again.
    pub reproduce: String,
    /// The command that runs a single row again. `{scheme}`, `{operation}`, `{members}`, `{loss}`,
    /// `{delay}`, `{qos}`, `{runs}` and `{seed}` mean the row's own.
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
    /// Ours, in `unit`; NaN where no row has this setting.
    pub ours: f64,
    /// `ms` or `%`.
    pub unit: String,
    /// Where the paper says it, or what to keep in mind.
    pub note: String,
}

/// What a published value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time until the last party has the key.
    Total,
    /// The part of it spent on the network.
    Transmission,
    /// The share of the time spent on the network.
    TransmissionShare,
}

/// A finding of the paper and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `f1`, `f2`, ...
    pub id: String,
    /// The finding.
    pub claim: String,
    /// Whether our rows bear it out.
    pub outcome: Outcome,
    /// The figures that decide it.
    pub evidence: String,
}

/// Whether a finding holds in our rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds.
    Confirmed,
    /// The rows do not suffice to say.
    NotDecidable,
    /// It does not hold.
    Refuted,
}

impl Outcome {
    /// In words, as within a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotDecidable => "not decidable",
            Self::Refuted => "refuted",
        }
    }
}

/// A parameter that was set, and on what grounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// What it is.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value comes from.
    pub source: String,
}

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render(report: &Report) -> String {
    page::render(report)
}
