//! The studies, run again: what is compared, and how it comes out.

mod computation_studies;
mod network_impact;
