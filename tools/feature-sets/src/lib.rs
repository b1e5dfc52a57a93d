//! The same devices, built with two sets of features: the build script has a library with one family,
//! one suite and no signatures, and records what its devices say. This crate has a library with all
//! features. `tests/features.rs` gives the devices of the one what those of the other said.

pub mod exchange;

/// The messages and keys of the build script's devices, in hexadecimal digits, a line each.
pub const RECORDED: &str = include_str!(concat!(env!("OUT_DIR"), "/recorded.txt"));
