//! Which scheme fits a group: requirements in, an answer with its evidence out.
//!
//! The crate has no I/O. The evidence that ships with it is made by `groupkey choose --evidence`;
//! whoever has better evidence can hand it in.

pub mod adapt;
mod assessment;
pub mod board;
pub mod candidate;
mod choice;
pub mod completion;
pub mod decision;
pub mod device;
pub mod equals;
pub mod evidence;
mod exclusion;
mod given_up;
pub mod memory;
pub mod requirements;

pub use assessment::{Energy, Grounds, energy};
pub use candidate::{Candidate, Variant};
pub use choice::{
    ChooseError, assess_on, choose, choose_on, contenders_on, decide_among, equals_on, recommend_on,
};
pub use decision::Decision;
pub use requirements::Requirements;
