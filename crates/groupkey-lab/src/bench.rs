//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group size.

pub mod energy;
pub mod requirements;
pub mod role;
mod row;
pub mod trace;
pub mod workload;

pub use self::row::{BenchRow, Count, Deviation, Traffic};
