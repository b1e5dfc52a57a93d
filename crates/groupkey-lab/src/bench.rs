//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group size.

mod file;
mod row;

pub use self::file::{BenchHeader, Price};
pub use self::row::{BenchRow, Count, Deviation, Traffic};
pub use crate::results::{read_jsonl, write_csv, write_jsonl, write_line};
