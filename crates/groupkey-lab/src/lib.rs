//! The laboratory: campaigns run plans and produce rows of results. Reports show the rows.
//!
//! A [`plan`] says what to run, and [`scenario`] reads a plan from a file. A [`campaign`] runs it
//! on the simulated network with the times of a [`device`]. [`results`] keeps the rows and
//! [`statistics`] compares them. [`reproduce`] compares the rows with a published study, and
//! [`report`] shows everything. [`mod@bench`] measures what each role of a scheme computes, keeps
//! and sends. [`audit`] attacks the claims of a scheme. [`capacity`] says which schemes fit on a board
//! and how long its battery lasts.
//!
//! [`conditions`] describes links, and [`published`] holds the values that papers print.
//! [`registry`] adds schemes to the catalogue's, and [`input`] reads users' files.

pub mod audit;
pub mod bench;
pub mod campaign;
pub mod choose;
pub mod conditions;
pub mod device;
pub mod input;
pub mod plan;
pub mod published;
pub mod registry;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod scenario;
pub mod statistics;
mod verdict;
