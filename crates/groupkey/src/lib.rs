//! Group key management schemes, each implemented once, as a state machine without I/O.
//!
//! **Nobody has reviewed the cryptography.** Do not use it to protect anything that matters.
//!
//! A group of devices shares a key that must change whenever a member joins or leaves. Every scheme
//! in the [catalogue] consists of parties: a controller and members, perhaps with subgroup controllers
//! between them, or members only. A [`Device`](device::Device) is one party with its keys: it takes
//! commands and messages, and yields messages for a transport of yours. It has no clock, no socket and
//! no randomness of its own, so the same inputs give the same bytes on every platform.
//!
//! ```
//! use groupkey::catalogue::{self, Profile};
//! use groupkey::device::{Device, Group, Keys};
//! use groupkey::{Command, GroupId, Instance, MemberId, Suite};
//! # use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
//! # let random = |seed| ChaCha20Rng::from_seed([seed; 32]);
//!
//! let group = Group {
//!     configuration: catalogue::scheme("skdc").unwrap().configuration(Profile::Sound),
//!     suite: Suite::Standard,
//!     id: GroupId(1),
//!     instance: Instance([5; 16]), // 16 random bytes, drawn when the group is founded
//! };
//! let keys = || Keys::mac([7; 32]); // a key that all devices share
//! let mut gateway = Device::controller(&group, keys(), random(9)).unwrap();
//! let ids = [MemberId(0), MemberId(1)];
//! let mut members = ids.map(|id| Device::member(&group, id, keys(), random(id.0 as u8)));
//!
//! // Deployment: each member gets an individual key over a confidential channel, such as a cable.
//! gateway.command(Command::Enroll(&ids), 0)?;
//! for (member, (_, bytes)) in members.iter_mut().zip(gateway.confidential()) {
//!     member.receive_confidential(&bytes, 0)?;
//! }
//! // Operation: the gateway makes the group, and its messages go over any channel.
//! gateway.command(Command::Create(&ids), 0)?;
//! for (to, bytes) in gateway.outgoing() {
//!     for member in members.iter_mut().filter(|member| to.includes(member.me(), |_| true)) {
//!         member.receive(&bytes, 0)?;
//!     }
//! }
//! assert_eq!(members[0].group_key(), members[1].group_key());
//! assert!(members[0].group_key().is_some());
//! # Ok::<(), groupkey::Error>(())
//! ```
//!
//! A device needs one family of schemes. The features `centralized` (default), `hybrid`, `distributed`
//! and `pairing` choose the families. `signatures` (default) adds messages signed by their sender.
//! `suite-standard` (default) and `suite-constrained` are the algorithms; [`Suite`] is always named.
//! `research` adds the papers' broken forms and weak algorithms. `tracing` says what happens to a
//! subscriber, and no secret.
//!
//! Where to look: [`device`] for a program of yours, [`messages`] among the members, [`error`] for what
//! can go wrong. [`Party`] is the contract that every scheme implements, [`Context`] has the functions
//! that a party may use, and [`author`] the rest of what a scheme or a driver of your own needs.

#![no_std]
#![forbid(unsafe_code)]
// If a build leaves out some families, the code that only those families use is dead.
#![cfg_attr(
    not(all(feature = "all-schemes", feature = "research")),
    allow(dead_code, unused_imports, unused_macros)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod author;
mod catching_up;
mod context;
pub mod crypto;
pub mod device;
#[cfg_attr(not(feature = "tracing"), path = "diagnostics_off.rs")]
mod diagnostics;
pub mod error;
pub mod exporter;
mod identity;
mod mechanisms;
pub mod messages;
mod operation;
mod outbox;
mod party;
pub mod protection;
mod saved_state;
mod scheme;
mod schemes;
mod secret;
mod wire;

pub use context::{Context, Setting};
pub use crypto::{GroupContext, Suite};
pub use error::Error;
pub use identity::{Epoch, GroupId, Instance, MemberId, PartyId, SubgroupId};
#[cfg(feature = "distributed")]
pub use mechanisms::event_order::{self, Ordered};
pub use outbox::{Channel, Event, Outbox, Recipient, SubsetId};
pub use party::{Command, Footprint, Input, KeyFingerprint, KeyNode, MessageKey, Operation, Party};
pub use saved_state::SavedState;
pub use schemes::catalogue;
pub use secret::Key;

// Pages of the book that contain Rust code: `cargo test` runs that code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/messages.md")]
mod messages_page {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/order.md")]
mod order_page {}
