//! Reproductions of published studies: their settings, their values and their findings.

pub mod network_impact;
