//! Durable state: a service's log of steps with the messages that the broker has not acknowledged,
//! what a peer must not forget, and a member's membership.
//!
//! A party has no serialised form, but it is a function of its inputs. So the log has each step's
//! input, randomness and time. Replaying the log restores the party. One transaction makes an entry
//! and the messages of its step durable, before any message leaves.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

#[cfg(feature = "std")]
use std::sync::{Arc, Mutex, PoisonError};

use groupkey::{Epoch, MemberId};
#[cfg(feature = "std")]
use zeroize::Zeroize;

/// Keeps a log and a queue. It holds all secrets of a group.
pub trait Store: Send {
    /// Loads everything that was committed.
    fn load(&mut self) -> Result<StoredLog, StoreError>;

    /// Makes a change durable, whole or not at all.
    fn commit(&mut self, change: &Transaction) -> Result<(), StoreError>;
}

/// The content of one transaction.
#[derive(Clone, Default)]
pub struct Transaction {
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
pub struct StoredLog {
    /// The number of the first entry that the log has.
    pub first: u64,
    /// The log.
    pub entries: Vec<Vec<u8>>,
    /// Messages that the broker has not acknowledged, by number.
    pub queue: BTreeMap<u64, Publish>,
    /// The number of the next message. Each number is used once.
    pub next: u64,
}

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// The message's number. Messages are published in this order, and acknowledged by number.
    pub id: u64,
    /// The topic.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Whether the broker keeps the message for later subscribers.
    pub retain: bool,
    /// How long the broker keeps the message for clients that are offline, in s, from its arrival
    /// at the broker. Without this limit, the broker keeps the message as long as the clients'
    /// sessions. MQTT 3.1.1 has no such limit.
    pub expiry: Option<u32>,
}

/// What a group has decided about its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The latest epoch that the group is known to have been in.
    pub latest: Epoch,
    /// The evicted members by ascending id, at most 4,096, each with the epoch that a ticket for it
    /// must name.
    pub evicted: Vec<(MemberId, Epoch)>,
    /// The operators' words that evicted some of them, for others that were not there. At most one of
    /// 128 bytes for each.
    pub words: Vec<Vec<u8>>,
}

/// Keeps the decisions of a group for one peer.
pub trait DecisionStore: Send {
    /// Loads what was kept last; nothing if nothing was.
    fn load(&mut self) -> Result<Decisions, StoreError>;

    /// Makes the decisions durable, whole or not at all.
    fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError>;
}

/// Keeps one membership of a device, so that it outlives a restart of the device. The bytes are
/// encrypted under a key of the device's identity. An old copy opens no membership but its own.
pub trait MembershipStore: Send {
    /// Loads what was kept last; nothing if nothing was, or if it was forgotten.
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Makes a membership durable in place of the one before, whole or not at all. This happens once
    /// when the device joins or the group changes its scheme, and takes some hundred bytes.
    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError>;

    /// Forgets the membership: the device was evicted.
    fn forget(&mut self) -> Result<(), StoreError>;
}

#[cfg(feature = "std")]
/// A store in memory. Clones share their content, so that the content outlives a crash in a test.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<StoredLog>>);

/// The reason why a store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The medium failed: its error message.
    Failed(String),
    /// Another process has it open.
    InUse,
    /// The log is from another version, or damaged.
    Unreadable,
    /// The log has the maximum number of entries.
    Full {
        /// The maximum number of entries.
        limit: u64,
    },
}

impl Transaction {
    /// Returns whether there is nothing to write.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.queued.is_empty() && self.acknowledged.is_empty()
    }
}

#[cfg(feature = "std")]
impl Store for MemoryStore {
    fn load(&mut self) -> Result<StoredLog, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn commit(&mut self, change: &Transaction) -> Result<(), StoreError> {
        let mut saved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if change.replaces {
            saved.entries.iter_mut().for_each(Zeroize::zeroize);
            saved.entries.clear();
            saved.first = change.first;
        }
        saved.entries.extend(change.entries.iter().cloned());
        for publish in &change.queued {
            saved.next = saved.next.max(publish.id + 1);
            saved.queue.insert(publish.id, publish.clone());
        }
        for id in &change.acknowledged {
            saved.queue.remove(id);
        }
        Ok(())
    }
}

/// The entries have seeds and keys.
impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("first", &self.first)
            .field("entries", &self.entries.len())
            .field("queued", &self.queued.len())
            .field("acknowledged", &self.acknowledged)
            .finish()
    }
}

/// The entries have seeds and keys.
impl fmt::Debug for StoredLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredLog")
            .field("entries", &self.entries.len())
            .field("queue", &self.queue.len())
            .field("next", &self.next)
            .finish()
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(what) => write!(f, "the store failed: {what}"),
            Self::InUse => write!(f, "the store failed: another groupkey serve has it open"),
            Self::Unreadable => write!(f, "the store is damaged, or from another version"),
            Self::Full { limit } => {
                write!(f, "the store's log is full ({limit} entries): start a new group")
            }
        }
    }
}

impl core::error::Error for StoreError {}
