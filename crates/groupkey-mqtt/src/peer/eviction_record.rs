//! What a peer remembers of its group's decisions, in memory and durably.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use groupkey::{MemberId, event_order};

use super::EVICTED;
use crate::store::{DecisionStore, Decisions, StoreError};

/// The evictions that a peer can prove to others, and what its memory has.
pub(super) struct EvictionRecord {
    /// Operators' words that evicted members, for others that were not there.
    words: BTreeMap<MemberId, Vec<u8>>,
    memory: Option<Box<dyn DecisionStore>>,
    /// What is in the memory.
    kept: Decisions,
}

impl EvictionRecord {
    pub(super) fn new(kept: Decisions, memory: Option<Box<dyn DecisionStore>>) -> Self {
        let of_member = |word: &Vec<u8>| Some((event_order::evicts(word)?, word.clone()));
        Self { words: kept.words.iter().filter_map(of_member).collect(), memory, kept }
    }

    pub(super) fn note(&mut self, word: &[u8]) {
        if let Some(member) = event_order::evicts(word)
            && self.words.len() < EVICTED
            && word.len() <= WORD
        {
            self.words.insert(member, word.to_vec());
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = (MemberId, &Vec<u8>)> {
        self.words.iter().map(|(&member, word)| (member, word))
    }

    /// Makes the group's decisions durable, with the words behind them, if they are new.
    pub(super) fn keep(&mut self, decisions: impl FnOnce() -> Decisions) -> Result<(), StoreError> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let mut decisions = decisions();
        let is_out = |member: &MemberId| {
            decisions.evicted.binary_search_by_key(member, |&(evicted, _)| evicted).is_ok()
        };
        // A word also comes before its member is out.
        let words = self.words.iter().filter(|(member, _)| is_out(member));
        decisions.words = words.map(|(_, word)| word.clone()).collect();
        if decisions != self.kept {
            memory.keep(&decisions)?;
            self.kept = decisions;
        }
        Ok(())
    }
}

/// The longest operator's word to remember, in bytes.
const WORD: usize = 128;

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use std::sync::Mutex;

    use groupkey::Epoch;

    use super::*;

    /// Counts what is kept, and has the last of it.
    #[derive(Clone, Default)]
    struct Counting(Arc<Mutex<(u32, Decisions)>>);

    impl DecisionStore for Counting {
        fn load(&mut self) -> Result<Decisions, StoreError> {
            Ok(self.0.lock().unwrap().1.clone())
        }

        fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError> {
            let mut kept = self.0.lock().unwrap();
            *kept = (kept.0 + 1, decisions.clone());
            Ok(())
        }
    }

    #[test]
    fn only_new_decisions_are_written() {
        let memory = Counting::default();
        let mut record = EvictionRecord::new(Decisions::default(), Some(Box::new(memory.clone())));
        let evicted = vec![(MemberId(3), Epoch(2))];
        let decisions = Decisions { latest: Epoch(2), evicted, words: Vec::new() };
        for _ in 0..3 {
            record.keep(|| decisions.clone()).unwrap();
        }
        assert_eq!(*memory.0.lock().unwrap(), (1, decisions));
    }

    #[test]
    fn what_evicts_nobody_is_no_word() {
        let mut record = EvictionRecord::new(Decisions::default(), None);
        record.note(b"anything");
        assert_eq!(record.words().count(), 0);
    }
}
