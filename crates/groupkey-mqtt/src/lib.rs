//! Groups over a real MQTT broker: the parties that the benchmark measures and the simulator runs, live.
//!
//! Two layers. The **core** has no sockets, no clock and no randomness of its own: [`Service`] is the
//! controller's side (who may join, what is stored, what leaves), [`Member`] a member's, [`Peer`] that
//! of a member of a contributory scheme, which needs no controller. They take [`Input`]s and leave
//! [`Output`]s. The **driver** ([`run`](driver::run)) connects one of them to a broker.
//!
//! ```text
//!   broker  <-- TCP -->  connection  <-- Input / Output -->  Service | Member | Peer
//!                        (rumqttc, rebuilt                   around `Box<dyn Party>`s;
//!                         at every reconnect)                the service's log in a Store
//! ```
//!
//! [`study`] measures instead: it carries the simulator's own groups through a real broker.
//!
//! What a party sends is published as it is: the payload is the simulator's, byte for byte
//! (`tests/simulator.rs`). What this crate adds has topics of its own ([`topics`]): joining
//! ([`join`]), the retained notice of the current epoch ([`notice`]), and what members say to each
//! other. `docs/live.md` is the page for users, ADRs 12 and 15 say why it is made this way.

#![forbid(unsafe_code)]

pub mod agent;
#[cfg(feature = "broker")]
pub mod broker;
mod codec;
pub mod config;
pub mod counters;
pub mod disk;
pub mod driver;
pub mod form;
#[cfg(feature = "http")]
pub mod http;
#[cfg(target_os = "linux")]
pub mod impairment;
pub mod join;
pub mod keyring;
pub mod member;
pub mod notice;
mod parties;
pub mod peer;
pub mod policy;
pub mod probe;
mod publish;
pub mod runtime;
pub mod service;
pub mod store;
#[cfg(all(feature = "study", target_os = "linux"))]
pub mod study;
pub mod tls;
pub mod topics;
pub mod version;

pub use form::Form;
pub use member::Member;
pub use peer::Peer;
pub use policy::Policy;
pub use runtime::{Input, Output, Runtime};
pub use service::Service;
pub use topics::Topics;
pub use version::Version;
