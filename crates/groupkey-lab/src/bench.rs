//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group size.

pub mod energy;
mod row;

pub use self::row::{BenchRow, Count, Deviation, Traffic};
