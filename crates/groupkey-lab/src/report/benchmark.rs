//! The report of a benchmark: one HTML file in the style of the network study's report.
//!
//! It redraws the figures of the benchmark studies (S002, S003) from our rows. Each scheme has a
//! section with drawings of a real run. A table compares any schemes. Measured and modelled values
//! are never in one chart or column. The same [`Benchmark`] renders to the same bytes.

mod audit;
mod content;
mod drawing;
mod figures;
mod lines;
mod measure;
mod page;
mod published;
mod reproduction;
mod run;
mod scheme;
mod series;
mod table;

pub use self::content::{Benchmark, Beside, Entry, Reproduction, Source};
pub use self::page::render_benchmark;
pub use self::published::{PrintedQuantity, PrintedValue};
