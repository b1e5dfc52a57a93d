//! What survives a crash: a log of steps, and the messages that the broker has not acknowledged.
//!
//! A party has no serialised form, but it is a function of its inputs. So the log has each step's
//! input, the randomness it was given and its time; replaying it gives the party as it was. An
//! entry and the messages that its step left are durable in one transaction, before any of them
//! leaves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minicbor::{Decode, Encode};

use crate::publish::Publish;

/// Keeps a log and a queue. All secrets of a group are in it.
pub trait Store: Send {
    /// Everything that was committed.
    fn load(&mut self) -> Result<Saved, StoreError>;

    /// Makes a change durable, whole or not at all.
    fn commit(&mut self, change: &Change) -> Result<(), StoreError>;
}

/// A change.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The number of the first of `entries` in the log.
    pub first: u64,
    /// New entries of the log.
    pub entries: Vec<Vec<u8>>,
    /// New messages.
    pub queued: Vec<Publish>,
    /// Messages that need not be sent again.
    pub acknowledged: Vec<u64>,
}

/// What is in a store.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The log.
    pub entries: Vec<Vec<u8>>,
    /// Messages that were not acknowledged, by number.
    pub queue: BTreeMap<u64, Publish>,
    /// The number of the next message: none is used twice.
    pub next: u64,
}

/// A store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The medium: what happened, in its words.
    Failed(String),
    /// The log is from another version, or damaged.
    Unreadable,
    /// The log has as many entries as are allowed.
    Full {
        /// This many.
        limit: u64,
    },
}

/// A store that forgets everything with the process. Copies share what they keep, so that a test can
/// have one outlive a crash.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Saved>>);

impl Change {
    /// Whether there is nothing to commit.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.queued.is_empty() && self.acknowledged.is_empty()
    }
}

impl Store for MemoryStore {
    fn load(&mut self) -> Result<Saved, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn commit(&mut self, change: &Change) -> Result<(), StoreError> {
        let mut saved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
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

impl std::error::Error for StoreError {}

/// A queued message as it is stored.
#[derive(Encode, Decode)]
pub(crate) struct Queued {
    #[n(0)]
    pub(crate) topic: String,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(crate) payload: Vec<u8>,
    #[n(2)]
    pub(crate) retain: bool,
    #[n(3)]
    pub(crate) expiry: Option<u32>,
}
