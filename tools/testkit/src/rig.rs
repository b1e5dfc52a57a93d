//! A whole group in virtual time: controller, members and the wires between them.
//!
//! The rig is the basis of tests of schemes, both ours and schemes written elsewhere. It enrols,
//! creates, adds and removes. It delivers every message after a latency drawn from its seed, and
//! knows what must hold afterwards: [`Rig::agreed_key`]. Members and subgroup controllers can sleep
//! through operations. Evicted parties stay, and receive every message that goes over an open
//! channel.
//!
//! In [`Settings::hostile`] mode, tampered copies precede every message, and a replay follows it. A
//! party that accepts one of them fails the run.

pub mod boneh;
mod delivery;
pub mod fame;
mod forger;
pub mod fractions;
mod history;
mod inspection;
mod interception;
mod operations;
mod parties;
mod report;
mod restarts;
mod state;
mod trace;
mod transcript;
mod transit;

pub use self::forger::Forger;
pub use self::history::Move;
pub use self::report::{OperationReport, RigError, SentMessage};
pub use self::state::{Rig, SUITES, Settings};
pub use self::trace::{OperationTrace, TracedMessage, TracedOperation, ValueId};
pub use self::transcript::transcript;
pub use self::transit::{Fate, Transit};
pub use groupkey::protection::Guard;
