//! Options of an audit.

use std::fmt;
use std::sync::atomic::AtomicBool;

use super::finding::Searched;
use super::search::Depth;
use super::subject::Subject;
use crate::campaign::Progress;

/// Options of an audit.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How far to search.
    pub depth: Depth,
    /// Seed of everything that is drawn at random.
    pub seed: u64,
    /// Number of threads; 0 counts as 1. The findings do not depend on it.
    pub threads: usize,
    /// When this becomes true, the audit stops at the next opportunity.
    pub stop: &'a AtomicBool,
    /// Called whenever some histories or an attack are done.
    pub on_progress: &'a (dyn Fn(Progress) + Sync),
}

impl Options<'_> {
    /// Returns what the audit searches for a subject.
    pub(super) fn searched(&self, subject: &Subject) -> Searched {
        let Depth { events, members, sampled, slow_attacks } = self.depth.of(subject);
        let (seed, depth, quick) = (self.seed, self.depth.events, !slow_attacks);
        Searched { seed, depth, quick, members, events, sampled }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("depth", &self.depth)
            .field("seed", &self.seed)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
