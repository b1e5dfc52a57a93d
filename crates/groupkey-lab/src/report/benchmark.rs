//! The report of a benchmark: one HTML file, in the manner of the network study's.
//!
//! It redraws the figures of the benchmark studies (S002, S003) from our rows, has a section for each
//! scheme with drawings of a real run, and a table in which any schemes can be compared. What was
//! measured and what was modelled are never in one chart or column. The same [`Benchmark`] renders
//! to the same bytes.

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

pub use self::content::{Benchmark, Entry, Reproduction, Source};
pub use self::page::render_benchmark;
