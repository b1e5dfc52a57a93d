//! Schemes with one controller that hands out keys.

pub(crate) mod enrolment;
pub mod skdc;
