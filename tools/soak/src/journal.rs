//! A service's store, whose disk fails and of which old copies can be put back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use groupkey_mqtt::store::{MemoryStore, Store, StoreError, StoredLog, Transaction};

/// A store that keeps each commit. Clones share their content.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<JournalContent>>);

#[derive(Default)]
struct JournalContent {
    commits: Vec<Transaction>,
    is_full: bool,
    /// Whether an interrupted commit is on the disk.
    torn: Option<bool>,
}

impl Journal {
    /// Returns all commits.
    pub(crate) fn copy(&self) -> Vec<Transaction> {
        self.content().commits.clone()
    }

    pub(crate) fn put_back(&self, commits: Vec<Transaction>) {
        self.content().commits = commits;
    }

    pub(crate) fn fill(&self, is_full: bool) {
        self.content().is_full = is_full;
    }

    pub(crate) fn tear(&self, torn: Option<bool>) {
        self.content().torn = torn;
    }

    fn content(&self) -> MutexGuard<'_, JournalContent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Journal {
    fn load(&mut self) -> Result<StoredLog, StoreError> {
        let mut store = MemoryStore::default();
        self.content().commits.iter().try_for_each(|change| store.commit(change))?;
        store.load()
    }

    fn commit(&mut self, change: &Transaction) -> Result<(), StoreError> {
        let mut content = self.content();
        if content.is_full {
            return Err(StoreError::Failed("no space left on device".to_owned()));
        }
        let torn = content.torn.take();
        if torn != Some(false) {
            content.commits.push(change.clone());
        }
        match torn {
            None => Ok(()),
            Some(_) => Err(StoreError::Failed("interrupted".to_owned())),
        }
    }
}
