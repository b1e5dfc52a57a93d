//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group size.
//!
//! [`Function`] is the specification: who computes what in which phase. A [`BenchPlan`] says what is
//! measured of a scheme, [`measure`] measures it at one size, [`run`] at all, and a [`BenchRow`]
//! has what came of it. `docs/benchmark.md` explains it to people.

mod activity;
mod book;
mod campaign;
mod cast;
mod clock;
pub mod energy;
mod error;
mod file;
mod function;
mod group;
mod measurement;
mod part;
mod plan;
mod prices;
mod reach;
pub mod requirements;
mod role;
mod row;
mod stage;
mod static_variables;
pub mod trace;
mod warning;
pub mod workload;

pub use self::activity::Activity;
pub use self::campaign::{BenchOptions, BenchOutcome, Unit, pilot, remaining, run, units};
pub use self::clock::Clock;
pub use self::error::BenchError;
pub use self::file::BenchHeader;
pub use self::function::Function;
pub use self::measurement::{Instruments, Measurement, measure};
pub use self::plan::{BenchPlan, Workload};
pub use self::prices::Prices;
pub use self::reach::Reach;
pub use self::role::{Phase, Role};
pub use self::row::{BenchRow, Count, Deviation, Traffic};
pub use self::static_variables::StaticVariables;
pub use self::warning::{Warning, Watch};
pub use crate::device::measure::Price;
pub use crate::results::{read_jsonl, write_csv, write_jsonl, write_line};
