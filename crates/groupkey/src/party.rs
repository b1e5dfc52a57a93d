//! The contract that every scheme implements.
//!
//! A [`Party`] is a state machine: a step takes one [`Input`] and leaves messages and events in the
//! context's outbox. It returns an error without having changed anything, or it succeeds whole.
//! Drive parties through [`Context::command`](crate::Context::command) and
//! [`Context::deliver`](crate::Context::deliver), which check a message before the party sees it.
//!
//! Who gets which command:
//!
//! - centralized and hybrid schemes: the controller gets [`Command::Enroll`], then `Create`, `Add`,
//!   `Remove`; in hybrid schemes it tells subgroup controllers what concerns them;
//! - distributed schemes: `Create`, `Add` and `Remove` are membership events that every party
//!   concerned gets in the same order (view synchrony), the new member included; each knows from
//!   its state whether it is the one to act.
//!
//! [`Ordered`](crate::Ordered) gives members of any distributed scheme that one order, over a topic.
//!
//! [`Command::Rekey`] goes to the controller; in hybrid and distributed schemes it goes to every party,
//! as clocks do, and a party that has no part in it does nothing.
//!
//! A distributed group whose members lose sight of each other falls into parts. Each member gets
//! [`Command::Partition`] with those out of its reach, and every part continues by itself; when two
//! parts see each other again, all members of both get [`Command::Merge`].
//!
//! What must be true when an operation has settled is the scheme's [`Law`](crate::catalogue::Law).

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Unsupported};
use crate::identity::{Epoch, MemberId};
pub use crate::operation::Operation;
use crate::secret::Key;
use crate::wire::Message;

/// A state machine of one party in one group.
pub trait Party: Send {
    /// Takes one input. On an error nothing has changed.
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error>;

    /// The group key this party holds, if any, with its epoch.
    fn group_key(&self) -> Option<(Epoch, &Key)>;

    /// The epoch of an event that was announced and is not complete here, in parties that bring events
    /// into an order ([`Ordered`](crate::Ordered)).
    fn under_way(&self) -> Option<Epoch> {
        None
    }

    /// Whether messages have keys and the group has none
    /// ([`Law::OneMessage`](crate::catalogue::Law::OneMessage)).
    fn keys_messages(&self) -> bool {
        false
    }

    /// The key of the last message that went around, in schemes that have keys for messages.
    fn message_key(&self) -> Option<MessageKey<'_>> {
        None
    }

    /// The group key of an epoch up to the current one, where a scheme heals: a member has the keys
    /// of all epochs since it came, those that it missed included, as far back as the scheme says.
    fn past_key(&self, _: &mut Context<'_>, _: Epoch) -> Option<Key> {
        None
    }

    /// The scheme's own encryption, where it has one: a new key, and a ciphertext that carries it to
    /// all members of the current epoch, whatever they know of each other. Everywhere else
    /// [`Unsupported::Operation`]. [`Messenger::encrypt`](crate::messages::Messenger::encrypt) makes
    /// messages of it.
    fn encapsulate(&self, _: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        Err(Unsupported::Operation.into())
    }

    /// The key that a ciphertext of the current epoch carries. Only what is encrypted under it
    /// shows whether it is the right one.
    fn decapsulate(&self, _: &mut Context<'_>, _: &[u8]) -> Result<Key, Error> {
        Err(Unsupported::Operation.into())
    }

    /// The tree of the keys that this party knows of, where the scheme has one, each node before those
    /// below it. For drawings and for a reader that wants to see what an operation changed; it gives no key
    /// away.
    fn key_tree(&self, _: &mut Context<'_>) -> Vec<KeyNode> {
        Vec::new()
    }

    /// How much key material this party holds.
    fn footprint(&self) -> Footprint;
}

/// The key of one message.
#[derive(Clone, Copy, Debug)]
pub struct MessageKey<'k> {
    /// The key.
    pub key: &'k Key,
    /// Whether this party began the message: nobody else is to send anything under it.
    pub own: bool,
}

/// What a party reacts to.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Its application wants something.
    Command(Command<'a>),
    /// A message has arrived, and was checked.
    Message(Message<'a>),
}

/// What an application wants of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Add a member to the running group.
    Add(MemberId),
    /// Add members and evict others, all in one change of the key. Those that join must be
    /// enrolled; nobody may be named twice.
    Batch {
        /// They join.
        joining: &'a [MemberId],
        /// They leave.
        leaving: &'a [MemberId],
    },
    /// Ask for what was missed, after [`SkippedEpoch`](crate::error::Misbehaviour::SkippedEpoch). For
    /// members and for controllers of subgroups.
    CatchUp,
    /// Make a group of these members, at least two, in this order.
    Create(&'a [MemberId]),
    /// Deployment phase: give each of these an individual key over a confidential channel.
    Enroll(&'a [MemberId]),
    /// Planned membership: this member may have the keys of these epochs, both ends included, and no
    /// others. Without it a member that is created may have all.
    Grant {
        /// Who.
        member: MemberId,
        /// From this epoch on.
        first: Epoch,
        /// To this one.
        last: Epoch,
    },
    /// Our part of the group and another one see each other again. All members of both parts get
    /// this, each with the members of the other part.
    Merge {
        /// The members of the other part, in any order, but the same for all that get it.
        members: &'a [MemberId],
        /// The epoch that this leads to, later than those of both parts.
        epoch: Epoch,
    },
    /// These members are out of reach: continue without them. They may continue by themselves.
    Partition(&'a [MemberId]),
    /// A new period begins: change the key even if no member joins or leaves.
    Rekey,
    /// Evict a member.
    Remove(MemberId),
    /// Begin a message to the group: draw its key and let every member have it. For members of
    /// schemes that have keys for messages and none for the group.
    Send,
}

/// A node of a party's key tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNode {
    /// Where the node above it is in the list; none for the root.
    pub parent: Option<usize>,
    /// Who is at this leaf.
    pub member: Option<MemberId>,
    /// Tells the node's present key from others; none where this party does not know the key.
    pub fingerprint: Option<KeyFingerprint>,
}

/// Some bytes of a hash of a key: another key has another one, and it says nothing about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyFingerprint([u8; 8]);

/// Key material in bytes: the quantity "storage" of S002 and S003.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Held between operations.
    pub permanent: usize,
    /// Held in addition while an operation was under way, at most.
    pub temporary: usize,
}

impl KeyFingerprint {
    /// That of a key or of a blinded key.
    pub fn of(cx: &mut Context<'_>, key: &[u8]) -> Self {
        let digest = cx.digest("groupkey key fingerprint", &[key]);
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self(first)
    }
}
