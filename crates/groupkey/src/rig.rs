//! A whole group in virtual time: controller, members and the wires between them.
//!
//! The rig is the basis of tests of schemes, ours and those of a scheme written elsewhere. It
//! enrols, creates, adds and removes, delivers every message after a latency drawn from its seed,
//! and knows what must be true afterwards: [`Rig::agreed_key`]. Members can sleep through operations,
//! subgroup controllers too, and evicted parties stay on and are offered whatever goes over an open
//! channel.
//!
//! In [`Settings::hostile`] mode every message is preceded by tampered copies of itself and followed
//! by a replay; a party that takes one of them fails the run.

pub mod boneh;
mod delivery;
mod forger;
pub mod fractions;
mod history;
mod hostility;
mod inspection;
mod interception;
mod operations;
mod report;
mod seats;
mod state;
mod trace;
mod transcript;
mod transit;

pub use self::forger::Forger;
pub use self::history::Move;
pub use self::report::{Report, RigError, Sent};
pub use self::state::{Rig, SUITES, Settings};
pub use self::trace::{Act, Message as TracedMessage, Trace, ValueId};
pub use self::transcript::transcript;
pub use self::transit::{Fate, Transit};
pub use crate::protection::Guard;
