//! The laboratory: campaigns run plans and produce rows of results. Reports show the rows.
//!
//! A [`plan`] says what to run, and [`scenario`] reads a plan from a file. A [`campaign`] runs it
//! on the simulated network with the times of a [`device`]. [`results`] keeps the rows and
//! [`statistics`] compares them. [`report`] shows everything, and [`verdict`] is how far a published
//! finding holds. [`mod@bench`] measures what each role of a scheme computes, keeps
//! and sends. [`audit`] attacks the claims of a scheme.
//!
//! [`mod@clock`] measures, [`conditions`] describes links, and [`registry`] adds schemes to the catalogue's.

pub mod audit;
pub mod bench;
pub mod campaign;
pub mod choose;
pub mod clock;
pub mod conditions;
pub mod device;
mod interruptible_carrier;
pub mod plan;
pub mod report;
pub mod results;
pub mod scenario;
pub mod statistics;
pub mod verdict;

pub use groupkey_choose::registry;
