//! Durable state: a log of steps, and the messages that the broker has not acknowledged.
//!
//! A party has no serialised form, but it is a function of its inputs. So the log has each step's
//! input, randomness and time. Replaying the log restores the party. One transaction makes an entry
//! and the messages of its step durable, before any message leaves.

#[cfg(feature = "std")]
mod in_memory;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

#[cfg(feature = "std")]
pub use self::in_memory::MemoryStore;
use crate::publish::Publish;

/// Keeps a log and a queue. It holds all secrets of a group.
pub trait Store: Send {
    /// Loads everything that was committed.
    fn load(&mut self) -> Result<Saved, StoreError>;

    /// Makes a change durable, whole or not at all.
    fn commit(&mut self, change: &Change) -> Result<(), StoreError>;
}

/// The content of one transaction.
#[derive(Clone, Default)]
pub struct Change {
    /// The number of the first of `entries` in the log.
    pub first: u64,
    /// New entries of the log.
    pub entries: Vec<Vec<u8>>,
    /// Whether the new entries replace all earlier ones, whose bytes must be gone afterwards.
    pub replaces: bool,
    /// New messages.
    pub queued: Vec<Publish>,
    /// Numbers of messages that the broker has acknowledged.
    pub acknowledged: Vec<u64>,
}

/// The content of a store.
#[derive(Clone, Default)]
pub struct Saved {
    /// The number of the first entry that the log has.
    pub first: u64,
    /// The log.
    pub entries: Vec<Vec<u8>>,
    /// Messages that the broker has not acknowledged, by number.
    pub queue: BTreeMap<u64, Publish>,
    /// The number of the next message. Each number is used once.
    pub next: u64,
}

/// The reason why a store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The medium failed: its error message.
    Failed(String),
    /// The log is from another version, or damaged.
    Unreadable,
    /// The log has the maximum number of entries.
    Full {
        /// The maximum number of entries.
        limit: u64,
    },
}

impl Change {
    /// Returns whether there is nothing to write.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.queued.is_empty() && self.acknowledged.is_empty()
    }
}

/// The entries have seeds and keys.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("first", &self.first)
            .field("entries", &self.entries.len())
            .field("queued", &self.queued.len())
            .field("acknowledged", &self.acknowledged)
            .finish()
    }
}

/// The entries have seeds and keys.
impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saved")
            .field("entries", &self.entries.len())
            .field("queue", &self.queue.len())
            .field("next", &self.next)
            .finish()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(what) => write!(f, "the store failed: {what}"),
            Self::Unreadable => write!(f, "the store is damaged, or from another version"),
            Self::Full { limit } => {
                write!(f, "the store's log is full ({limit} entries): start a new group")
            }
        }
    }
}

impl core::error::Error for StoreError {}
