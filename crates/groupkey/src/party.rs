//! The contract that every scheme implements, and the capabilities that only some parties have.

use alloc::vec::Vec;
use core::fmt;

use crate::context::Context;
use crate::error::{Error, Unsupported};
use crate::identity::{Epoch, MemberId};
pub use crate::operation::Operation;
use crate::saved_state::PartyState;
use crate::secret::Key;
use crate::wire::Message;

/// A state machine of one party in one group.
///
/// A step takes one [`Input`] and leaves messages and events in the context's outbox. It either
/// succeeds completely, or returns an error and changes nothing. Drive parties through
/// [`Context::command`] and [`Context::deliver`], which check a message before the party sees it.
pub trait Party: Send {
    /// Processes one input. An error changes nothing.
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error>;

    /// Returns the group key this party holds, if any, with its epoch.
    fn group_key(&self) -> Option<(Epoch, &Key)>;

    /// Returns how much key material this party holds.
    fn footprint(&self) -> Footprint;

    /// Returns where messages to the group get their keys.
    fn messages(&self) -> Messages<'_> {
        Messages::UnderGroupKey
    }

    /// Returns what the party can tell about keys other than the present group key.
    fn knowledge(&self) -> Option<&dyn Knowledge> {
        None
    }

    /// Returns the order of events that the party keeps: [`Ordered`](crate::Ordered) has one.
    fn ordering(&self) -> Option<&dyn EventOrder> {
        None
    }

    /// Returns the same as [`Self::ordering`], to be changed.
    fn ordering_mut(&mut self) -> Option<&mut dyn EventOrder> {
        None
    }

    /// Returns the state that is saved. The controllers of all schemes have one, subgroup controllers
    /// included. [`SavedState::of`](crate::SavedState::of) saves it.
    fn state(&self) -> Option<&dyn PartyState> {
        None
    }

    /// Returns the same as [`Self::state`], to be restored:
    /// [`Configuration::restore_controller`](crate::catalogue::Configuration::restore_controller).
    fn state_mut(&mut self) -> Option<&mut dyn PartyState> {
        None
    }
}

/// Where a party's messages to the group get their keys.
#[derive(Clone, Copy)]
pub enum Messages<'p> {
    /// From the group key, or each from the scheme's own encryption.
    Encapsulated(&'p dyn Encapsulation),
    /// From the group key.
    UnderGroupKey,
    /// Each message has a key, and the group has none ([`Law::OneMessage`](crate::catalogue::Law)):
    /// the key of the last message that was begun.
    UnderOwnKeys(Option<MessageKey<'p>>),
}

/// A scheme's own encryption. [`Messenger::encrypt`](crate::messages::Messenger::encrypt) makes
/// messages with it.
pub trait Encapsulation {
    /// Returns a new key, and a ciphertext that carries the key to all members of the current epoch,
    /// whatever they know of each other.
    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error>;

    /// Returns the key that a ciphertext of the current epoch carries. Only data encrypted under
    /// the key shows whether it is the right one. A controller cannot.
    fn decapsulate(&self, _: &mut Context<'_>, _: &[u8]) -> Result<Key, Error> {
        Err(Unsupported::Operation.into())
    }
}

/// What a party can tell about keys other than the present group key.
pub trait Knowledge {
    /// Returns the group key of an epoch up to the current one, in self-healing schemes. In these a
    /// member has the keys of all epochs since it joined, even of epochs that it missed. The scheme
    /// says how far back this goes.
    fn past_key(&self, _: &mut Context<'_>, _: Epoch) -> Option<Key> {
        None
    }

    /// Returns the tree of the keys that this party knows of, if the scheme has one. Each node
    /// precedes the nodes below it. The tree is for drawings, and for readers who want to see what
    /// an operation changed. It reveals no key.
    fn key_tree(&self, _: &mut Context<'_>) -> Vec<KeyNode> {
        Vec::new()
    }
}

/// One order of joins and leaves without a controller, as one party knows it.
pub trait EventOrder {
    /// Returns the epoch of an event that was announced and is not complete at this party.
    fn under_way(&self) -> Option<Epoch>;

    /// Returns whether this party counts another one among the members. A party without a roster
    /// counts every party.
    fn counts_as_member(&self, member: MemberId) -> bool;

    /// Returns the members that were evicted from the group, each with the epoch that a ticket for
    /// it must name, by ascending id.
    fn evicted(&self) -> &[(MemberId, Epoch)];

    /// Takes another party's word that these were evicted, in place of its last word. It counts if
    /// enough say so. Returns `false` if there is no room for it.
    fn hear_evicted(&mut self, reporter: MemberId, evicted: &[(MemberId, Epoch)]) -> bool;

    /// Returns the latest epoch that the group is known to have been in.
    fn latest_epoch(&self) -> Epoch;

    /// Returns whether a party that is no longer a member may ask to rejoin by itself: it was neither
    /// evicted, nor has it asked to leave. It was removed because others held it for dead.
    fn may_return(&self) -> bool;
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
///
/// Which party gets which command:
///
/// - centralized and hybrid schemes: the controller gets [`Enroll`](Self::Enroll), then `Create`, `Add`,
///   `Remove`. In hybrid schemes it tells subgroup controllers what concerns them.
/// - distributed schemes: `Create`, `Add` and `Remove` are membership events. Every party
///   concerned, the joining member included, gets them in the same order (view synchrony). Each
///   party knows from its state whether it must act.
///
/// [`Ordered`](crate::Ordered) gives the members of any distributed scheme this common order, over
/// a topic.
///
/// [`Command::Rekey`] goes to the controller. In hybrid and distributed schemes it goes to every
/// party, like the tick of a clock. A party that has no part in it does nothing.
///
/// If members of a distributed group cannot reach each other, the group falls into parts. Each
/// member gets [`Command::Partition`] with the members that it cannot reach, and every part
/// continues by itself. When two parts can reach each other again, all members of both get
/// [`Command::Merge`].
///
/// The scheme's [`Law`](crate::catalogue::Law) says what must hold when an operation has settled.
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

impl<'p> Messages<'p> {
    /// Returns the key of the last message that was begun, if messages have keys of their own.
    pub const fn last_key(self) -> Option<MessageKey<'p>> {
        match self {
            Self::UnderOwnKeys(last) => last,
            Self::Encapsulated(_) | Self::UnderGroupKey => None,
        }
    }

    /// Returns the scheme's own encryption. Fails with [`Unsupported::Operation`] if it has none.
    pub fn encryption(self) -> Result<&'p dyn Encapsulation, Error> {
        match self {
            Self::Encapsulated(encryption) => Ok(encryption),
            Self::UnderGroupKey | Self::UnderOwnKeys(_) => Err(Unsupported::Operation.into()),
        }
    }
}

impl fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encapsulated(_) => "Encapsulated",
            Self::UnderGroupKey => "UnderGroupKey",
            Self::UnderOwnKeys(_) => "UnderOwnKeys",
        })
    }
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
