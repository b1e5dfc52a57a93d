//! Live groups over a real MQTT broker, with the parties that the benchmark measures and the
//! simulator runs.
//!
//! **Nobody has reviewed the cryptography.** Do not use it to protect anything that matters.
//!
//! [`connect`] makes a device a member of a group:
//!
#![cfg_attr(feature = "std", doc = concat!("```\n", include_str!("../examples/member.rs"), "```"))]
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
//! A party's messages are published unchanged: the payload is the simulator's, byte for byte
//! (`tests/simulator.rs`). This crate adds topics of its own ([`topics`]). They carry requests to
//! join ([`join`]), the retained notice of the current epoch ([`notice`]) and messages to the
//! group. `docs/run.md` and `docs/operate.md` are for users. ADRs 12 and 15 give the reasons for this design.

#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
// What only peers or a driver of this crate call is dead in a build without them.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

extern crate alloc;

mod agreement_key;
#[cfg(feature = "std")]
pub mod bridge;
mod codec;
#[cfg(feature = "std")]
pub mod config;
pub mod counters;
pub mod device_settings;
#[cfg_attr(not(feature = "tracing"), path = "diagnostics_off.rs")]
mod diagnostics;
#[cfg(feature = "std")]
pub mod disk;
#[cfg(feature = "std")]
pub mod driver;
mod early_messages;
pub mod event;
mod generator;
pub mod group_form;
#[cfg(feature = "http")]
pub mod http;
pub mod join;
pub mod keyring;
mod local_parties;
pub mod member;
#[cfg(feature = "std")]
mod membership;
pub mod notice;
mod participant;
#[cfg(feature = "distributed")]
pub mod peer;
pub mod policy;
mod rate_limit;
#[cfg(all(test, feature = "std"))]
mod redaction;
mod rekeying;
pub mod runtime;
mod sender_certificate;
pub mod service;
pub mod store;
mod successor_announcement;
#[cfg(feature = "std")]
pub mod tls;
#[cfg(feature = "std")]
pub mod topic_trial;
pub mod topics;
#[cfg(feature = "std")]
mod whole_file;

#[cfg(feature = "std")]
pub use driver::{Connection, Version};
pub use generator::Generator;
pub use group_form::{Allowed, GroupForm, Senders};
pub use keyring::Secret;
pub use member::Member;
#[cfg(feature = "std")]
pub use membership::{
    ConnectError, Membership, MembershipError, MembershipReceiver, MembershipSender,
    MembershipSettings, connect,
};
#[cfg(feature = "distributed")]
pub use peer::Peer;
pub use policy::Policy;
pub use runtime::{Input, Output, Runtime};
pub use service::Service;
pub use topics::Topics;
