//! Group key management schemes, each implemented once, as a state machine without I/O.
//!
//! **Nobody has reviewed the cryptography.** Do not use it to protect anything that matters.
//!
//! A group of devices shares a key that must change whenever a member joins or leaves. Every scheme
//! in the [catalogue] consists of [`Party`] state machines: a controller and members, perhaps with
//! subgroup controllers between them, or members only. The application drives a party: it passes
//! commands and messages through [`Context`], and sends what the party leaves in an [`Outbox`]. A
//! party has no clock, no socket and no randomness of its own, so the same inputs give the same
//! bytes on every platform.
//!
//! ```
//! use groupkey_testkit::rig::{Rig, Settings};
//!
//! // A controller and eight members in virtual time.
//! let scheme = groupkey::catalogue::scheme("lkh-group").unwrap();
//! let mut rig = Rig::new(scheme, Settings::default());
//! rig.create(8).unwrap();
//! let before = rig.agreed_key().unwrap().clone();
//!
//! // Member 3 is evicted: everybody else agrees on a new key.
//! rig.remove(3).unwrap();
//! assert_ne!(&before, rig.agreed_key().unwrap());
//! ```
//!
//! A device needs one family of schemes. The features `centralized`, `hybrid`, `distributed` and
//! `pairing` choose the families. `signatures` adds messages signed by their sender. [`device`]
//! drives a single party over any transport.
//!
//! Where to look: [`party`] is the contract, [`context`] has the functions that a party may use,
//! [`wire`] is the message format, and [`crypto`] contains all cryptography.

#![no_std]
#![forbid(unsafe_code)]
// If a build leaves out some families, the code that only those families use is dead.
#![cfg_attr(not(feature = "all-schemes"), allow(dead_code, unused_imports, unused_macros))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod catching_up;
pub mod context;
pub mod crypto;
pub mod device;
pub mod error;
pub mod identity;
mod mechanisms;
pub mod messages;
mod nonce;
mod operation;
pub mod outbox;
pub mod party;
pub mod protection;
pub mod saved_state;
mod scheme;
pub mod schemes;
pub mod secret;
pub mod wire;

pub use context::{Context, Setting};
pub use crypto::{GroupContext, Suite};
pub use error::Error;
pub use identity::{Epoch, GroupId, Instance, MemberId, PartyId, SubgroupId};
#[cfg(feature = "distributed")]
pub use mechanisms::event_order::{self, Ordered};
pub use outbox::{Channel, Event, Outbox, Recipient, SubsetId};
pub use party::{Command, Footprint, Input, KeyFingerprint, KeyNode, MessageKey, Operation, Party};
pub use saved_state::SavedState;
pub use scheme::growth;
pub use schemes::catalogue;
pub use secret::Key;

// Pages of the book that contain Rust code: `cargo test` runs that code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/messages.md")]
mod messages_page {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/order.md")]
mod order_page {}
