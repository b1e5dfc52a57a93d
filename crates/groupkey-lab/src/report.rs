//! The report: one HTML file that opens from disk, without a network, on any screen.
//!
//! It redraws the figures of the network-impact study (Prantl et al. 2024, Discover Data, doi
//! 10.1007/s44248-024-00015-1) from our rows and sets the published values beside them. Sentences
//! computed from the data describe the figures. The same [`Report`] renders to the same bytes.

mod axis;
mod benchmark;
mod chart;
mod choice;
mod conditions;
mod content;
mod figures;
mod overview;
mod page;
mod reading;
mod scheme;
mod spread;
mod studies;
mod tables;
mod template;
mod text;
mod verdicts;

pub use self::benchmark::{
    Benchmark, Beside, Entry, PrintedQuantity, PrintedValue, Reproduction, Source, render_benchmark,
};
pub use self::choice::{Choice, render_choice};
pub use self::content::{Calibration, PublishedValue, Quantity, Report};
pub use self::page::render;
pub use self::studies::{Overview, overview};
