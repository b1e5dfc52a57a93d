//! Reproductions of published studies: their settings, their values and their findings.

mod evidence;
pub mod network_impact;
