//! Churn: which members join a group and leave it, and when.
//!
//! A trace comes from a CSV file ([`Trace::load`]) or from a [`TraceGenerator`] with a seed, and
//! [`replay`](fn@replay) runs it through a group. `docs/workloads.md` describes the file.

mod events;
mod file;
mod generator;
mod replay;

pub use self::events::{JoinOrLeave, Trace, TraceError, TraceEvent};
pub use self::generator::{ArrivalPattern, GeneratorError, TraceGenerator};
pub use self::replay::{ReplayError, ReplayRow, TraceReplay, check, replay};
