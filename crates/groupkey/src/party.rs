//! The contract that every scheme implements.
//!
//! A [`Party`] is a state machine: a step takes one [`Input`] and leaves messages and events in the
//! context's outbox. A step either succeeds completely, or returns an error and changes nothing.
//! Drive parties through [`Context::command`](crate::Context::command) and
//! [`Context::deliver`](crate::Context::deliver), which check a message before the party sees it.
//!
//! Which party gets which command:
//!
//! - centralized and hybrid schemes: the controller gets [`Command::Enroll`], then `Create`, `Add`,
//!   `Remove`. In hybrid schemes it tells subgroup controllers what concerns them.
//! - distributed schemes: `Create`, `Add` and `Remove` are membership events. Every party
//!   concerned, the joining member included, gets them in the same order (view synchrony). Each
//!   party knows from its state whether it must act.
//!
//! [`Ordered`](crate::Ordered) gives the members of any distributed scheme this common order, over
//! a topic.
//!
//! [`Command::Rekey`] goes to the controller. In hybrid and distributed schemes it goes to every
//! party, like the tick of a clock. A party that has no part in it does nothing.
//!
//! If members of a distributed group cannot reach each other, the group falls into parts. Each
//! member gets [`Command::Partition`] with the members that it cannot reach, and every part
//! continues by itself. When two parts can reach each other again, all members of both get
//! [`Command::Merge`].
//!
//! The scheme's [`Law`](crate::catalogue::Law) says what must hold when an operation has settled.

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Unsupported};
use crate::identity::{Epoch, MemberId};
pub use crate::operation::Operation;
use crate::saved_state::SavedState;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A state machine of one party in one group.
pub trait Party: Send {
    /// Processes one input. An error changes nothing.
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error>;

    /// Returns the group key this party holds, if any, with its epoch.
    fn group_key(&self) -> Option<(Epoch, &Key)>;

    /// Returns the epoch of an event that was announced and is not complete at this party. Only
    /// parties that order events ([`Ordered`](crate::Ordered)) have one.
    fn under_way(&self) -> Option<Epoch> {
        None
    }

    /// Returns whether this party counts another one among the members. A party without a roster
    /// counts every party. Only parties that order events ([`Ordered`](crate::Ordered)) have one.
    fn counts_as_member(&self, _: MemberId) -> bool {
        true
    }

    /// Returns the members that were evicted from the group, each with the epoch that a ticket for
    /// it must name, by ascending id. Only parties that order events ([`Ordered`](crate::Ordered))
    /// know any.
    fn evicted(&self) -> &[(MemberId, Epoch)] {
        &[]
    }

    /// Takes another party's word that these were evicted, in place of its last word. It counts if
    /// enough say so. Returns `false` if there is no room for it. Only parties that order events
    /// ([`Ordered`](crate::Ordered)) remember it.
    fn hear_evicted(&mut self, _reporter: MemberId, _evicted: &[(MemberId, Epoch)]) -> bool {
        true
    }

    /// Returns the latest epoch that the group is known to have been in. Only parties that order
    /// events ([`Ordered`](crate::Ordered)) know one.
    fn latest_epoch(&self) -> Epoch {
        Epoch::default()
    }

    /// Returns whether a party that is no longer a member may ask to rejoin by itself: it was neither
    /// evicted, nor has it asked to leave. Only parties that order events
    /// ([`Ordered`](crate::Ordered)) are removed for another reason: others held them for dead.
    fn may_return(&self) -> bool {
        false
    }

    /// Returns whether messages have keys and the group has none
    /// ([`Law::OneMessage`](crate::catalogue::Law::OneMessage)).
    fn keys_messages(&self) -> bool {
        false
    }

    /// Returns the key of the last message that was begun, in schemes that have keys for messages.
    fn message_key(&self) -> Option<MessageKey<'_>> {
        None
    }

    /// Returns the group key of an epoch up to the current one, in self-healing schemes. In these a
    /// member has the keys of all epochs since it joined, even of epochs that it missed. The scheme
    /// says how far back this goes.
    fn past_key(&self, _: &mut Context<'_>, _: Epoch) -> Option<Key> {
        None
    }

    /// Runs the scheme's own encryption, if it has one. Returns a new key, and a ciphertext that
    /// carries the key to all members of the current epoch, whatever they know of each other. Other
    /// schemes return [`Unsupported::Operation`].
    /// [`Messenger::encrypt`](crate::messages::Messenger::encrypt) uses it to make messages.
    fn encapsulate(&self, _: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        Err(Unsupported::Operation.into())
    }

    /// Returns the key that a ciphertext of the current epoch carries. Only data encrypted under
    /// the key shows whether it is the right one.
    fn decapsulate(&self, _: &mut Context<'_>, _: &[u8]) -> Result<Key, Error> {
        Err(Unsupported::Operation.into())
    }

    /// Returns the tree of the keys that this party knows of, if the scheme has one. Each node
    /// precedes the nodes below it. The tree is for drawings, and for readers who want to see what
    /// an operation changed. It reveals no key.
    fn key_tree(&self, _: &mut Context<'_>) -> Vec<KeyNode> {
        Vec::new()
    }

    /// Returns how much key material this party holds.
    fn footprint(&self) -> Footprint;

    /// Appends this party's state to a state that was begun for it ([`SavedState::new`]). The
    /// controllers of all schemes have a saved form, subgroup controllers included. Other parties
    /// return [`Unsupported::SavedState`].
    fn save(&self, _: &mut SavedState) -> Result<(), Error> {
        Err(Unsupported::SavedState.into())
    }

    /// Takes over the state that [`Self::save`] appended. The party must be new and of the same
    /// configuration, and is of no use after an error.
    /// [`Configuration::restore_controller`](crate::catalogue::Configuration::restore_controller)
    /// makes the party and checks what precedes and follows its state.
    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Error> {
        Err(Unsupported::SavedState.into())
    }
}

/// The key of one message.
#[derive(Clone, Copy, Debug)]
pub struct MessageKey<'k> {
    /// The key.
    pub key: &'k Key,
    /// Whether this party began the message. No other party may send anything under its key.
    pub own: bool,
}

/// An input that a party reacts to.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A command from the party's application.
    Command(Command<'a>),
    /// A message that has arrived and passed the checks.
    Message(Message<'a>),
}

/// A command from an application to its party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Add a member to the running group.
    Add(MemberId),
    /// Add members and evict others, all in one change of the key. Joining members must be
    /// enrolled. No member may be named twice.
    Batch {
        /// The joining members.
        joining: &'a [MemberId],
        /// The leaving members.
        leaving: &'a [MemberId],
    },
    /// Ask for missed changes, after [`SkippedEpoch`](crate::error::Misbehaviour::SkippedEpoch).
    /// For members and for subgroup controllers.
    CatchUp,
    /// Make a group of these members, at least two, in this order.
    Create(&'a [MemberId]),
    /// Deployment phase: give each of these members an individual key over a confidential channel.
    Enroll(&'a [MemberId]),
    /// Planned membership: this member may have the keys of these epochs, first and last included,
    /// and no others. Without this command, a member of the created group may have all keys.
    Grant {
        /// The member.
        member: MemberId,
        /// The first epoch whose key the member may have.
        first: Epoch,
        /// The last epoch whose key the member may have.
        last: Epoch,
    },
    /// Our part of the group and another part can reach each other again. All members of both parts
    /// get this command, each with the members of the other part.
    Merge {
        /// The members of the other part, in any order. All receivers must get the same order.
        members: &'a [MemberId],
        /// The epoch that the merger leads to. It is later than the epochs of both parts.
        epoch: Epoch,
    },
    /// These members are out of reach: continue without them. They may continue by themselves.
    Partition(&'a [MemberId]),
    /// A new period begins: change the key even if no member joins or leaves.
    Rekey,
    /// Evict a member.
    Remove(MemberId),
    /// Begin a message to the group: draw its key and distribute the key to every member. For
    /// members of schemes that have keys for messages and none for the group.
    Send,
}

/// A node of a party's key tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNode {
    /// The index of the parent node in the list; none for the root.
    pub parent: Option<usize>,
    /// The member at this leaf.
    pub member: Option<MemberId>,
    /// Distinguishes the node's present key from others; none if this party does not know the key.
    pub fingerprint: Option<KeyFingerprint>,
}

/// Some bytes of a hash of a key. Another key has another fingerprint. It reveals nothing about the
/// key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyFingerprint([u8; 8]);

/// Key material in bytes: the quantity "storage" of S002 and S003.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Key material held between operations.
    pub permanent: usize,
    /// The most key material held in addition during an operation.
    pub temporary: usize,
}

impl KeyFingerprint {
    /// Returns the fingerprint of a key or of a blinded key.
    pub fn of(cx: &mut Context<'_>, key: &[u8]) -> Self {
        let digest = cx.digest("groupkey key fingerprint", &[key]);
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self(first)
    }
}
