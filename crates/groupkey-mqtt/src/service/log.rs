//! The log of a service. What one input changes is one transaction.
//!
//! Entries are collected while an input is handled. [`Log::commit`] makes them durable, together with
//! the messages of the same input.

use alloc::boxed::Box;
use alloc::vec::Vec;

use minicbor::bytes::ByteArray;
use zeroize::Zeroize;

use super::log_chain::{LogChain, LogState};
use super::log_entry::LogEntry;
use crate::codec::encoded;
use crate::policy::ServiceLimits;
use crate::store::{Publish, Store, StoreError, Transaction};

pub(super) struct Log {
    store: Box<dyn Store>,
    /// The number of entries in the store.
    length: u64,
    /// The hash of the log, with the entries of the current change.
    chain: LogChain,
    /// The entries of the current change.
    added: Vec<Vec<u8>>,
    /// Whether a checkpoint replaces the log with the current change, however short the log is.
    is_cut: bool,
    /// Whether the current change must be in the notice although the epoch is the same.
    is_news: bool,
}

/// What completes the entries of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogCompletion {
    /// A hash of the state.
    Check,
    Checkpoint,
    Nothing,
}

impl Log {
    pub(super) fn new(store: Box<dyn Store>) -> Self {
        let (chain, added) = (LogChain::default(), Vec::new());
        Self { store, length: 0, chain, added, is_cut: false, is_news: false }
    }

    pub(super) fn replay(&mut self, entry: &[u8]) {
        self.chain.extend(entry);
        self.length += 1;
    }

    /// Continues the hash where a checkpoint was made.
    pub(super) fn restore(&mut self, entries: u64, recent: &[ByteArray<32>]) {
        self.chain = LogChain::restored(entries, recent);
    }

    /// Returns the number of entries in the store.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Returns the state of the log, as a notice has it. Includes the current change.
    pub(super) fn state(&self) -> LogState {
        self.chain.state()
    }

    /// Returns whether the log was once in this state, if that is known.
    pub(super) fn has_had(&self, state: &LogState) -> Option<bool> {
        self.chain.has_had(state)
    }

    /// Returns the number of entries and the hashes after the last of them, for a checkpoint.
    pub(super) fn last_states(&self) -> (u64, Vec<ByteArray<32>>) {
        self.chain.last_states()
    }

    pub(super) const fn has_room_for(&self, entries: u64, limit: u64) -> Result<(), StoreError> {
        let has_room = self.length.saturating_add(entries) <= limit;
        if has_room { Ok(()) } else { Err(StoreError::Full { limit }) }
    }

    pub(super) fn add(&mut self, entry: &LogEntry) {
        // A new notice for each message of a member would tell nobody anything.
        self.is_news |=
            !matches!(entry, LogEntry::Operated(..) | LogEntry::Received(..) | LogEntry::Stopped);
        self.append(entry);
    }

    /// Replaces the log by a checkpoint with the current change.
    pub(super) const fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Returns whether the notice must tell of the current change. Asks once.
    pub(super) const fn is_news(&mut self) -> bool {
        core::mem::replace(&mut self.is_news, false)
    }

    /// Returns what completes the current change. Asks once.
    pub(super) fn completion(&mut self, limits: &ServiceLimits) -> LogCompletion {
        let is_cut = core::mem::take(&mut self.is_cut);
        let length = self.length + self.added.len() as u64;
        let has_grown = length / CHECKED_AFTER > self.length / CHECKED_AFTER;
        match (is_cut || length >= limits.checkpoint.max(2), has_grown) {
            _ if self.added.is_empty() => LogCompletion::Nothing,
            (true, _) => LogCompletion::Checkpoint,
            (false, true) => LogCompletion::Check,
            (false, false) => LogCompletion::Nothing,
        }
    }

    /// Completes the current change with the messages of the same input. `complete` is the check or
    /// the checkpoint, if one is due.
    pub(super) fn finish(
        &mut self,
        complete: Option<&LogEntry>,
        queued: Vec<Publish>,
        acknowledged: Vec<u64>,
    ) -> Transaction {
        let replaces = matches!(complete, Some(LogEntry::Checkpoint(_)));
        if replaces {
            self.added.iter_mut().for_each(Zeroize::zeroize);
            self.added.clear();
        }
        let first = self.chain.entries() - self.added.len() as u64;
        complete.into_iter().for_each(|entry| self.append(entry));
        let entries = core::mem::take(&mut self.added);
        Transaction { first, entries, replaces, queued, acknowledged }
    }

    /// Makes a change durable. Returns its messages, which may leave now.
    pub(super) fn commit(&mut self, mut change: Transaction) -> Result<Vec<Publish>, StoreError> {
        let committed = if change.is_empty() { Ok(()) } else { self.store.commit(&change) };
        change.entries.iter_mut().for_each(Zeroize::zeroize);
        committed?;
        let before = if change.replaces { 0 } else { self.length };
        self.length = before + change.entries.len() as u64;
        Ok(change.queued)
    }

    fn append(&mut self, entry: &LogEntry) {
        let entry = encoded(entry);
        self.chain.extend(&entry);
        self.added.push(entry);
    }
}

/// The log has a hash of the whole state once in this many entries.
const CHECKED_AFTER: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn commit(log: &mut Log, entries: u64, limits: &ServiceLimits) -> Vec<LogCompletion> {
        let entry = || LogEntry::Barred(1, true);
        let mut completions = Vec::new();
        for _ in 0..entries {
            log.add(&entry());
            let completion = log.completion(limits);
            let check = LogEntry::Checked([0; 32].into());
            let check = (completion == LogCompletion::Check).then_some(&check);
            let change = log.finish(check, Vec::new(), Vec::new());
            log.commit(change).unwrap();
            completions.push(completion);
        }
        completions
    }

    #[test]
    fn the_state_is_checked_once_in_a_hundred_entries_and_replaces_the_log_in_time() {
        let mut log = Log::new(Box::new(MemoryStore::default()));
        let limits = ServiceLimits { checkpoint: 203, ..ServiceLimits::default() };
        let completions = commit(&mut log, 201, &limits);
        let checked = |index| completions[index] == LogCompletion::Check;
        assert!(checked(99) && checked(198));
        assert_eq!(completions.iter().filter(|it| **it == LogCompletion::Check).count(), 2);
        assert_eq!(completions[200], LogCompletion::Checkpoint);
        assert_eq!(log.length(), 203);
        assert_eq!(log.state().entries, 203);
    }

    #[test]
    fn a_change_without_entries_is_not_completed() {
        let mut log = Log::new(Box::new(MemoryStore::default()));
        log.cut();
        assert_eq!(log.completion(&ServiceLimits::default()), LogCompletion::Nothing);
        log.add(&LogEntry::Stopped);
        assert!(!log.is_news());
        assert_eq!(log.completion(&ServiceLimits::default()), LogCompletion::Nothing);
        log.add(&LogEntry::Barred(1, true));
        log.cut();
        assert_eq!(log.completion(&ServiceLimits::default()), LogCompletion::Checkpoint);
        assert!(log.is_news() && !log.is_news());
    }

    #[test]
    fn room_ends_at_the_limit() {
        let mut log = Log::new(Box::new(MemoryStore::default()));
        commit(&mut log, 5, &ServiceLimits::default());
        assert_eq!(log.has_room_for(5, 10), Ok(()));
        assert_eq!(log.has_room_for(6, 10), Err(StoreError::Full { limit: 10 }));
    }
}
