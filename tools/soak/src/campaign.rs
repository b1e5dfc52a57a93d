//! Many histories on several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::history::{HistoryAction, SoakHistory};
use crate::ledger::{Invariant, Violation};
use crate::live_scheme::LiveScheme;
use crate::shrink::shrink;
use crate::world::run;

/// What to run, and how.
#[derive(Clone, Copy)]
pub struct Campaign<'a> {
    /// The subjects, which take turns.
    pub subjects: &'a [LiveScheme],
    /// How many faults the histories have together, at least.
    pub faults: u64,
    /// The seed of all histories.
    pub seed: u64,
    /// Draws the history of a subject, a seed and a number: [`SoakHistory::new`] or
    /// [`SoakHistory::of_kills`].
    pub draw: fn(LiveScheme, u64, u64) -> SoakHistory,
    /// The number of threads. The result does not depend on it.
    pub threads: usize,
    /// Ends the campaign early once it is true.
    pub stop: &'a AtomicBool,
    /// Is told how many histories of how many are done.
    pub on_progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// What came of it.
#[derive(Debug, Default)]
pub struct SoakReport {
    /// How many histories ran.
    pub histories: u64,
    /// How many faults had an effect.
    pub faults: u64,
    /// How often a device that ran died.
    pub kills: u64,
    /// How many pairs of key and nonce were recorded.
    pub nonces: u64,
    /// How many messages arrived.
    pub messages: u64,
    /// The virtual time that passed in all histories, ns.
    pub time: u64,
    /// The longest virtual time until all were back, ns, by scheme.
    pub longest: BTreeMap<&'static str, u64>,
    /// The faults that had an effect, by scheme.
    pub faults_of: BTreeMap<&'static str, u64>,
    /// The violations, by invariant and scheme.
    pub failures: Vec<FailedHistories>,
}

/// The histories that broke one invariant with one scheme.
#[derive(Debug)]
pub struct FailedHistories {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub history: SoakHistory,
    /// What was seen in it.
    pub violation: Violation,
    /// The steps (from 1) that are left of it.
    pub only: Vec<usize>,
}

impl FailedHistories {
    /// Returns what happens in the steps that are left.
    pub fn acts(&self) -> impl Iterator<Item = (usize, &HistoryAction)> {
        self.only.iter().map(|&step| (step, &self.history.steps[step - 1].act))
    }
}

/// Runs histories until they have enough faults, and shrinks those that fail. Returns `None` if it
/// was stopped.
pub fn soak(campaign: &Campaign<'_>) -> Option<SoakReport> {
    let histories = histories(campaign);
    let outcomes = on_threads(campaign, &histories, run)?;
    let mut report = SoakReport::default();
    let mut first: BTreeMap<(Invariant, &str), (usize, u64)> = BTreeMap::new();
    for (place, (history, outcome)) in histories.iter().zip(&outcomes).enumerate() {
        let scheme = history.subject.scheme();
        report.histories += 1;
        report.faults += outcome.faults;
        report.kills += outcome.kills;
        report.nonces += outcome.nonces;
        report.messages += outcome.messages;
        report.time += outcome.time;
        *report.faults_of.entry(scheme).or_default() += outcome.faults;
        let longest = report.longest.entry(scheme).or_default();
        *longest = outcome.longest.max(*longest);
        if let Some(violation) = &outcome.violation {
            first.entry((violation.kind, scheme)).or_insert((place, 0)).1 += 1;
        }
    }
    let firsts: Vec<_> = first.into_values().collect();
    let shrunk = on_threads(campaign, &firsts, |&(place, _)| {
        let kind = outcomes[place].violation.as_ref().map(|violation| violation.kind);
        let only = kind.map(|kind| shrink(&histories[place], kind)).unwrap_or_default();
        let violation = run(&histories[place].only(&only)).violation;
        (only, violation)
    })?;
    for (&(place, count), (only, violation)) in firsts.iter().zip(shrunk) {
        if let Some(violation) = violation {
            let history = histories[place].clone();
            report.failures.push(FailedHistories { count, history, violation, only });
        }
    }
    Some(report)
}

fn histories(campaign: &Campaign<'_>) -> Vec<SoakHistory> {
    let mut histories = Vec::new();
    let mut faults = 0;
    for number in 0.. {
        if campaign.subjects.is_empty() || faults >= campaign.faults {
            break;
        }
        let subject = &campaign.subjects[number as usize % campaign.subjects.len()];
        let history = (campaign.draw)(subject.clone(), campaign.seed, number);
        faults += history.faults() as u64;
        histories.push(history);
    }
    histories
}

/// Does the work of each item on one of the threads, and returns the results in order.
fn on_threads<T: Sync, R: Send>(
    campaign: &Campaign<'_>,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Option<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..campaign.threads.max(1) {
            scope.spawn(|| {
                while !campaign.stop.load(Ordering::Relaxed) {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { return };
                    let result = work(item);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((place, result));
                    (campaign.on_progress)(done.len(), items.len());
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if done.len() < items.len() {
        return None;
    }
    done.sort_by_key(|(place, _)| *place);
    Some(done.into_iter().map(|(_, result)| result).collect())
}

impl std::fmt::Debug for Campaign<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Campaign")
            .field("subjects", &self.subjects)
            .field("faults", &self.faults)
            .field("seed", &self.seed)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
