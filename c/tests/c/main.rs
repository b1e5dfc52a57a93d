//! The library as programs in C use it.

mod header;
mod packaging;
mod programs;
mod tools;
