//! What a scheme of your own needs besides [`Party`](crate::Party) and [`Context`](crate::Context), and
//! a driver that gives parties their commands and messages.
//!
//! - **Messages:** a party reads a [`Message`] by a [`Reader`], and writes one by
//!   [`Context::draft`](crate::Context::draft), which makes a [`Draft`]. On the wire a message is a CBOR
//!   sequence (RFC 8742) of a header, the scheme's body, and a tag if messages are protected:
//!
//!   ```text
//!   [version, group, epoch, operation, kind, sender, to]  body items ...  tag (bstr)
//!   ```
//!
//!   `docs/wire.cddl` describes it in CDDL (RFC 8610). The reader accepts only the shortest encoding of a
//!   number and no left-over bytes, so that one message has one encoding.
//! - **Missed changes:** a member that asks for them keeps a [`CatchUpRequest`]. The header of
//!   every message of [`Operation::CatchUp`](crate::Operation::CatchUp) has a [`Nonce`], and no
//!   other message has one. While a party processes such a message, every message of this operation
//!   that it sends repeats the nonce. So an answer is younger than the request, and cannot have
//!   been made before an eviction that preceded it.
//! - **What only some parties have:** [`Messages`] with keys of their own or with [`Encapsulation`],
//!   [`Knowledge`] of other keys, a common [`EventOrder`], and [`PartyState`] that is saved.
//! - **Changes with a sponsor:** [`sponsored`] says what a command asks of each member, where one of
//!   them acts for all.
//! - **Long-term keys:** a driver hands in [`PeerKeys`].
//!
//! The entry in the catalogue is a [`Scheme`](crate::catalogue::Scheme).

pub use crate::catching_up::{CatchUpRequest, Nonce};
pub use crate::context::Draft;
#[cfg(feature = "distributed")]
pub use crate::context::PeerKeys;
#[cfg(feature = "research")]
pub use crate::context::{Rule, Traced, Tracer};
#[cfg(feature = "distributed")]
pub use crate::mechanisms::sponsored;
pub use crate::outbox::Outgoing;
pub use crate::party::{Encapsulation, EventOrder, Knowledge, Messages};
pub use crate::saved_state::PartyState;
pub use crate::wire::{Header, Message, Reader, VERSION, Writer, parse_header};
