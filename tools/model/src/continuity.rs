//! A searched model of a service's store: copies of it, stops and crashes, and two services at once.
//!
//! [`rules`] is what a service does, [`model`] what can happen, [`invariants`] what must hold, and
//! [`searches`] where the search begins. `docs/operate.md` says what the model leaves out.

pub mod invariants;
pub mod model;
pub mod rules;
pub mod searches;
