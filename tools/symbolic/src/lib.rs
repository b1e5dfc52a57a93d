//! Protocols that all schemes share, in the symbolic model (Dolev and Yao, IEEE Transactions on
//! Information Theory 29(2), 1983): how a device joins, how a key reaches members, and messages under it.
//!
//! `models/` has each protocol as implications in the TPTP language: what a party does when it gets a
//! message, and what an adversary can compute. A first-order prover searches for a derivation of what must
//! not be. If it ends without one, there is none: for any number of runs, devices and messages. Source of
//! the method: Weidenbach, Towards an Automatic Analysis of Security Protocols in First-Order Logic,
//! CADE 1999. `docs/symbolic.md` has the assumptions and the results.

mod model;
mod prover;

pub use self::model::{MODELS, ModelQuestion, ProtocolModel, ProverAnswer, models};
pub use self::prover::{ProverReport, ask, is_installed};
