//! Reproductions of published studies: their settings, their values and their findings.
//!
//! One reproduction is about the network ([`network_impact`]). The others are about what single
//! parties compute, keep and send. Each of them is a [`Study`], whose rows the benchmark measures.

mod benchmark;
mod cells;
mod centralized;
mod claims;
mod evidence;
pub mod expectations;
pub mod network_impact;
mod nishat;
mod on_boards;
mod page;
mod studies;
pub(crate) mod study;
mod tgdh;

pub(crate) use self::benchmark::{CENTRALIZED, DISTRIBUTED};
pub use self::cells::grouped;
pub use self::on_boards::{EXPLANATIONS, OnBoard, Ours, on_boards};
pub use self::page::{Overview, overview};
pub use self::studies::studies;
pub use self::study::{Beside, Examination, Extent, Study};
