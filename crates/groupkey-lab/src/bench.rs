//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group size.

pub mod energy;
pub mod role;
mod row;
pub mod trace;

pub use self::row::{BenchRow, Count, Deviation, Traffic};
