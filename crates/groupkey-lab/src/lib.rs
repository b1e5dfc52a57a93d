//! The laboratory: plans are run by campaigns, give rows of results, and the rows give reports.
//!
//! [`plan`] says what to run and [`scenario`] reads it from a file; [`campaign`] runs it on the
//! simulated network with the times of a [`device`]; [`results`] keeps the rows and [`statistics`]
//! compares them; [`reproduce`] compares them with a published study, and [`report`] shows it all.
//! [`mod@bench`] measures what each role of a scheme computes, keeps and sends, and [`audit`]
//! attacks what a scheme claims.
//!
//! Beside these, [`conditions`] are those of a link, [`published`] holds the values that papers
//! print, [`registry`] adds schemes to those of the catalogue, and [`input`] reads users' files.

pub mod audit;
pub mod bench;
pub mod campaign;
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
