//! An audit under way: its threads and its progress.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::AuditOptions;
use crate::campaign::Progress;

/// An audit under way.
pub(super) struct Sweep<'a> {
    pub(super) options: &'a AuditOptions<'a>,
    done: AtomicUsize,
    total: usize,
    subjects: usize,
}

impl<'a> Sweep<'a> {
    /// Starts with nothing done of this many histories and attacks, on this many subjects.
    pub(super) const fn new(options: &'a AuditOptions<'a>, total: usize, subjects: usize) -> Self {
        Self { options, done: AtomicUsize::new(0), total, subjects }
    }

    /// Does this many pieces of work on several threads. Returns `None` if the audit was stopped.
    pub(super) fn spread<T: Send>(
        &self,
        count: usize,
        work: impl Fn(usize) -> T + Sync,
    ) -> Option<Vec<T>> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
        thread::scope(|scope| {
            for _ in 0..self.options.threads.clamp(1, count.max(1)) {
                scope.spawn(|| {
                    while !self.options.stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        let result = work(number);
                        // A thread that panicked ends the scope with its panic.
                        if let Ok(mut results) = results.lock() {
                            results[number] = Some(result);
                        }
                    }
                });
            }
        });
        results.into_inner().ok()?.into_iter().collect()
    }

    /// Reports that this many more histories or attacks are done, of the subject with this number.
    pub(super) fn advance(&self, count: usize, subject: usize) {
        let runs_done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        (self.options.on_progress)(Progress {
            runs_done,
            runs_total: self.total,
            plans_done: subject,
            plans_total: self.subjects,
        });
    }
}
