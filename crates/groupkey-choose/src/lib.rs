//! Which scheme fits a group: requirements in, an answer with its evidence out.
//!
//! The crate has no I/O. The evidence that ships with it is made by `groupkey choose --evidence`;
//! whoever has better evidence can hand it in.

pub mod candidate;
pub mod completion;
pub mod decision;
pub mod device;
pub mod evidence;
pub mod requirements;

pub use candidate::{Candidate, Variant};
pub use decision::Decision;
pub use requirements::Requirements;
