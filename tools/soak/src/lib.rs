//! Soak tests: random histories of live groups, with faults, in virtual time.
//!
//! A history is a list of steps: devices arrive, are evicted and speak, and networks, brokers,
//! disks, clocks and processes fail. It runs the service, members and peers of `groupkey-mqtt` as
//! they are, around a broker in virtual time. After each group of faults everything works again.
//! Then the invariants of the [`ledger`] must hold, and within [`LiveScheme::bound`] all honest
//! parties must have one key.
//!
//! A history is a function of its subject, number and seed, so it runs the same way again. A
//! history that breaks an invariant is shrunk: steps are left out while it still fails in the same
//! way.

mod adversary;
pub mod campaign;
mod flash;
pub mod history;
mod insider;
mod journal;
pub mod ledger;
pub mod live_scheme;
mod network;
mod nonces;
pub mod shrink;
mod world;

pub use campaign::{Campaign, SoakReport, soak};
pub use history::{HistoryAction, SoakHistory};
pub use ledger::{Invariant, Violation};
pub use live_scheme::LiveScheme;
pub use world::{HistoryOutcome, run};
