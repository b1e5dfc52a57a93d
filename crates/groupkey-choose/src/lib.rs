//! Which scheme fits a group: requirements in, an answer with its evidence out.
//!
//! [`requirements::RequirementsDraft`] reads a file of requirements, and nothing else has I/O.
//! [`choose`] decides, and [`answer::Answer`] puts the decision into words. The evidence that ships
//! with the crate is made by `groupkey choose --evidence`; whoever has better evidence can hand it
//! in.

pub mod answer;
mod assessment;
mod choice;
pub mod completion;
pub mod decision;
pub mod device;
pub mod equals;
pub mod evidence;
mod exclusion;
pub mod input;
pub mod moment;
pub mod number;
pub mod pareto;
mod periods;
pub mod programs;
pub mod questions;
pub mod registry;
pub mod requirements;
mod spelling;
pub mod words;
mod working_memory;

pub use assessment::Grounds;
pub use choice::{
    ChooseError, assess_on, choose, choose_on, contenders_on, decide_among, decide_on, recommend_on,
};
pub use decision::{Candidate, Decision, Variant};
pub use moment::Moment;
pub use requirements::Requirements;
