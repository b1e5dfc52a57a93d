//! Live groups over a real MQTT broker, with the parties that the benchmark measures and the
//! simulator runs.
//!
//! **Nobody has reviewed the cryptography.** Do not use it to protect anything that matters.
//!
//! [`connect`] makes a device a member of a group:
//!
#![cfg_attr(
    feature = "broker",
    doc = concat!("```\n", include_str!("../examples/member.rs"), "```")
)]
//!
//! [`connect`] is built on two layers. The **core** has no sockets, no clock and no randomness of
//! its own. [`Service`] is the controller, [`Member`] a member, and [`Peer`] a member of a
//! contributory scheme, which needs no controller. They take [`Input`]s and leave [`Output`]s. The
//! **driver** ([`run`](driver::run)) connects one of them to a broker.
//!
//! ```text
//!   broker  <-- TCP -->  connection  <-- Input / Output -->  Service | Member | Peer
//!                        (rumqttc, rebuilt                   around `Box<dyn Party>`s;
//!                         at every reconnect)                the service's log in a Store
//! ```
//!
//! [`study`] is for measurements: it carries the simulator's own groups through a real broker.
//!
//! A party's messages are published unchanged: the payload is the simulator's, byte for byte
//! (`tests/simulator.rs`). This crate adds topics of its own ([`topics`]). They carry requests to
//! join ([`join`]), the retained notice of the current epoch ([`notice`]) and messages to the
//! group. `docs/live.md` is the page for users. ADRs 12 and 15 give the reasons for this design.

#![forbid(unsafe_code)]

pub mod agent;
mod announcement;
#[cfg(feature = "broker")]
pub mod broker;
mod codec;
pub mod config;
pub mod counters;
#[cfg(feature = "broker")]
pub mod demo;
pub mod disk;
pub mod driver;
mod early;
pub mod form;
mod generator;
#[cfg(feature = "http")]
pub mod http;
#[cfg(target_os = "linux")]
pub mod impairment;
pub mod join;
pub mod keyring;
mod login;
pub mod member;
mod membership;
pub mod notice;
pub(crate) mod packet;
mod parties;
pub mod peer;
pub mod policy;
#[cfg(test)]
mod printed;
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

pub use driver::Connection;
pub use form::{Allowed, Form};
pub use generator::Generator;
pub use keyring::Secret;
pub use member::Member;
pub use membership::{ConnectError, Device, Membership, MembershipError, connect};
pub use peer::Peer;
pub use policy::Policy;
pub use runtime::{Input, Output, Runtime};
pub use service::Service;
pub use topics::Topics;
pub use version::Version;
