//! A store in memory, for tests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use zeroize::Zeroize;

use super::{Change, Saved, Store, StoreError};

/// A store in memory. Clones share their content, so that the content outlives a crash in a test.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Saved>>);

impl Store for MemoryStore {
    fn load(&mut self) -> Result<Saved, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn commit(&mut self, change: &Change) -> Result<(), StoreError> {
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

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
