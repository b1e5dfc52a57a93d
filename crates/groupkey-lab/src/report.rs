//! Reports: one HTML file that opens from disk, without a network, on any screen.
//!
//! A page is a list of sections that are made of what a [`Report`] has: rows of any command, the
//! published study that they reproduce, an audit. A [`Choice`] and an [`overview`] are pages of the
//! same kind. Figures follow those of the network-impact study (Prantl et al. 2024, Discover Data,
//! doi 10.1007/s44248-024-00015-1) and of the benchmark studies (S002, S003). Measured, modelled and
//! simulated values are never in one chart or column. The same content renders to the same bytes.

mod audit;
mod axis;
mod benchmark;
mod choice;
mod comparison;
mod content;
mod figure_file;
mod lines;
mod network;
mod page;
mod published;
mod scheme;
mod sections;
mod studies;
mod style;
mod svg;
mod table;
mod text;
mod verdicts;

pub use self::choice::{Choice, render_choice};
pub use self::content::{
    Beside, Calibration, Entry, PrintedQuantity, PrintedValue, PublishedValue, Report,
    Reproduction, Source, TimeQuantity,
};
pub use self::figure_file::{FigureFile, figures};
pub use self::sections::render;
pub use self::studies::{Overview, overview};
