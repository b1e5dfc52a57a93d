//! Reproductions of published studies: their settings, their values and their findings.
//!
//! One reproduction is about the network ([`network_impact`]). The others are about what single
//! parties compute, keep and send. Each of them is a [`Study`], whose rows the benchmark measures.

mod benchmark;
mod centralized;
mod claims;
mod evidence;
pub mod expectations;
mod grade;
pub mod network_impact;
mod nishat;
mod on_boards;
mod printed;
mod provenance;
pub mod published;
mod report;
mod role_rows;
mod sensitivity;
pub mod statements;
mod study;
mod tgdh;
mod verdict;

pub use on_boards::{EXPLANATIONS, OnBoard, Ours, on_boards};
pub use printed::printed;
pub use sensitivity::{GradedRows, MovedFinding, Sensitivity, recorded_sensitivity, sensitivity};
pub use study::studies;
pub use study::{Study, StudyExtent, StudyResult};
