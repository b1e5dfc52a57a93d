//! What holds of all schemes alike, or of all of a class, whatever their origin: a file for each
//! law. What a scheme costs, and what it alone claims, is in `tests/schemes`.
//!
//! `cargo test -p groupkey --test it laws::model` runs those of one file.

mod catching_up;
mod cddl;
mod copied_senders;
mod cose;
mod exporter;
mod foundings;
mod groups;
mod hash_trees;
mod hostile_bytes;
mod hostile_members;
mod introductions;
mod messages;
mod model;
mod newcomers;
mod order;
mod oscore;
mod pace;
mod peer_keys;
mod post_quantum;
mod python;
mod recorded_bytes;
mod resumption;
mod saved_state;
#[cfg(feature = "tracing")]
mod spy;
mod steps;
#[cfg(feature = "tracing")]
mod traces;
