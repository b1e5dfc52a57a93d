//! Churn: which members join a group and leave it, and when.
//!
//! A trace comes from a CSV file ([`Trace::load`]) or from a [`Generator`] with a seed, and
//! [`replay`](fn@replay) runs it through a group. `docs/workloads.md` describes the file.

mod events;
mod file;
mod generator;
mod replay;

pub use self::events::{Change, Event, Trace, TraceError};
pub use self::generator::{Generator, GeneratorError, Kind};
pub use self::replay::{Replay, ReplayError, ReplayRow, check, replay};
