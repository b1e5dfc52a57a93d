//! The report: one HTML file that opens from disk, without a network, on any screen.
//!
//! It redraws the figures of the network-impact study (Prantl et al. 2024, Discover Data, doi
//! 10.1007/s44248-024-00015-1) from our rows, sets the published values beside them, and says what
//! is seen in words computed from the data. The same [`Report`] renders to the same bytes.

mod axis;
mod benchmark;
mod chart;
mod conditions;
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

pub use crate::published::Quantity;
use crate::results::{Header, NetworkRow};
pub use crate::verdict::{Outcome, Verdict};

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
