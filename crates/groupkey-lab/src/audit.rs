//! The audit: what a scheme claims, beside what attacking it found.
//!
//! A history of a group is run with every operation traced; from the trace follows what an adversary
//! can derive, and a claim is broken where a group key that it must not have is among that. Nothing
//! of it knows any scheme: what is known of the schemes comes out. `docs/audit.md` has the model.

pub mod attacks;
mod claims;
mod closure;
mod derivation;
mod examination;
mod finding;
mod history;
mod knowledge;
mod minimise;
pub mod published_features;
mod rules;
mod search;
mod subject;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::{fmt, thread};

use self::claims::Claims;
use self::examination::{Examination, Verdict};
use self::knowledge::Reader;
use self::minimise::{Evidence, minimise};
use self::rules::Rules;

pub use self::claims::Claim;
pub use self::finding::{Finding, Found, Method};
pub use self::history::{Event, History};
pub use self::search::Depth;
pub use self::subject::Subject;
use crate::campaign::Progress;

/// How to audit.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How far to search.
    pub depth: Depth,
    /// Everything drawn by chance follows from this.
    pub seed: u64,
    /// Number of threads; 0 counts as 1. The findings do not depend on it.
    pub threads: usize,
    /// When this becomes true the audit stops at the next opportunity.
    pub stop: &'a AtomicBool,
    /// Is told whenever some histories are done.
    pub on_progress: &'a (dyn Fn(Progress) + Sync),
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

/// What an audit found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// By subject in the order in which they were given, then by claim.
    pub findings: Vec<Finding>,
    /// Histories that were run, for each subject.
    pub histories: Vec<usize>,
    /// Histories that the scheme refused, for each subject: they say nothing.
    pub refused: Vec<usize>,
}

/// Audits these subjects. `None` if it was stopped.
pub fn audit(subjects: &[Subject], options: &Options<'_>) -> Option<Audit> {
    let histories: Vec<Vec<History>> = subjects
        .iter()
        .map(|subject| search::histories(subject, options.depth, options.seed))
        .collect();
    let units: Vec<Unit> = (0..subjects.len())
        .flat_map(|subject| {
            let count = histories[subject].len();
            (0..count).step_by(UNIT).map(move |from| Unit {
                subject,
                from,
                to: count.min(from + UNIT),
            })
        })
        .collect();
    let total = histories.iter().map(Vec::len).sum();
    let done = AtomicUsize::new(0);
    let broken: Vec<AtomicU16> = units.iter().map(|_| AtomicU16::new(0)).collect();
    let results = spread(options, units.len(), |number| {
        let unit = &units[number];
        // What a unit before this one of the same subject has broken is not looked for again.
        let first = units.partition_point(|other| other.subject < unit.subject);
        let settled = broken[first..number].iter().map(|broken| broken.load(Ordering::Relaxed));
        let settled = Claims::from_bits(settled.fold(0, |all, broken| all | broken));
        let result = unit.run(&subjects[unit.subject], &histories[unit.subject], settled, options);
        broken[number].store(result.broken().bits(), Ordering::Relaxed);
        let runs_done = unit.to - unit.from;
        let runs_done = done.fetch_add(runs_done, Ordering::Relaxed) + runs_done;
        let (plans_done, plans_total) = (unit.subject, subjects.len());
        (options.on_progress)(Progress { runs_done, runs_total: total, plans_done, plans_total });
        result
    })?;
    conclude(subjects, &histories, &units, &results, options)
}

/// Puts together what the units of each subject found, and makes the evidence as short as it can be.
fn conclude(
    subjects: &[Subject],
    histories: &[Vec<History>],
    units: &[Unit],
    results: &[Outcome],
    options: &Options<'_>,
) -> Option<Audit> {
    let mut audit = Audit::default();
    let mut open = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        let own = units.iter().zip(results).filter(|(unit, _)| unit.subject == number);
        let mut tested = Claims::default();
        let (mut ran, mut refused) = (0, 0);
        let mut first: [Option<usize>; Claim::ALL.len()] = Default::default();
        for (_, outcome) in own {
            tested = tested.and(outcome.tested);
            ran += outcome.ran;
            refused += outcome.refused;
            for &(claim, history) in &outcome.broken {
                first[claim as usize].get_or_insert(history);
            }
        }
        audit.histories.push(ran);
        audit.refused.push(refused);
        for claim in Claim::ALL {
            let history = first[claim as usize];
            let found = match (history, tested.has(claim)) {
                (Some(_), _) => Found::Broken,
                (None, true) => Found::Holds,
                (None, false) => Found::NotApplicable,
            };
            if let Some(history) = history {
                open.push((audit.findings.len(), number, claim, history));
            }
            audit.findings.push(subject.finding(claim, found));
        }
    }
    let evidence = spread(options, open.len(), |place| {
        let (_, subject, claim, history) = open[place];
        minimise(&subjects[subject], &histories[subject][history], claim, options.seed)
    })?;
    for (&(finding, ..), Evidence { history, derivation }) in open.iter().zip(evidence) {
        audit.findings[finding].history = history.described();
        audit.findings[finding].derivation = derivation;
    }
    Some(audit)
}

/// Does so many things on several threads; `None` if it was stopped.
fn spread<T: Send>(
    options: &Options<'_>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Option<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                while !options.stop.load(Ordering::Relaxed) {
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

/// Histories that one thread tries at a time.
#[derive(Clone, Copy, Debug)]
struct Unit {
    subject: usize,
    from: usize,
    to: usize,
}

/// What trying them brought.
#[derive(Clone, Debug, Default)]
struct Outcome {
    ran: usize,
    refused: usize,
    tested: Claims,
    /// The claims that are broken, each with the first history that breaks it.
    broken: Vec<(Claim, usize)>,
}

const UNIT: usize = 32;

impl Unit {
    fn run(
        &self,
        subject: &Subject,
        histories: &[History],
        settled: Claims,
        options: &Options<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut wanted = Claims::ALL;
        Claim::ALL.into_iter().filter(|&claim| settled.has(claim)).for_each(|c| wanted.remove(c));
        for (number, history) in histories.iter().enumerate().take(self.to).skip(self.from) {
            let Some(verdict) = verdict(subject, history, wanted, options.seed) else {
                outcome.refused += 1;
                continue;
            };
            outcome.ran += 1;
            outcome.tested = outcome.tested.and(verdict.tested);
            for found in verdict.breaks {
                wanted.remove(found.claim);
                outcome.broken.push((found.claim, number));
            }
        }
        outcome
    }
}

impl Outcome {
    fn broken(&self) -> Claims {
        let mut broken = Claims::default();
        self.broken.iter().for_each(|&(claim, _)| broken.insert(claim));
        broken
    }
}

/// What a run of this history says about these claims. `None` if the scheme refuses the history.
fn verdict(subject: &Subject, history: &History, wanted: Claims, seed: u64) -> Option<Verdict> {
    let mut run = history.run(subject, seed)?;
    let trace = std::mem::take(run.rig.trace()?);
    let reader = Reader::new(&trace);
    let rules = Rules::of(&reader);
    let verdict = Examination::new(subject.scheme(), &run, &reader, &rules).examine(wanted);
    Some(verdict)
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{Profile, SCHEMES};
    use groupkey::{MemberId, Operation};

    use super::closure::Closure;
    use super::*;

    /// What a member has of its own, with the rules, gives it all keys that it may have: the rules redo
    /// what honest members compute, so that what is not found is not missing for want of a rule.
    #[test]
    fn from_its_own_secrets_a_member_derives_every_key_that_it_may_have() {
        for scheme in SCHEMES {
            for profile in Profile::ALL {
                let subject = Subject::new(scheme, profile);
                let mut history = History::of(3);
                let events = [Event::Add(3), Event::Remove(1), Event::Rekey, Event::Add(4)];
                history.events = events.to_vec();
                history.events.retain(|event| {
                    scheme.operations.contains(&match event {
                        Event::Remove(_) => Operation::Remove,
                        Event::Rekey => Operation::Rekey,
                        _ => Operation::Add,
                    })
                });
                let mut run = history.run(&subject, 1).expect("the scheme has these operations");
                let trace = std::mem::take(run.rig.trace().expect("it is traced"));
                let reader = Reader::new(&trace);
                let rules = Rules::of(&reader);
                let public = Closure::of_public(&rules);
                for (number, stay) in run.stays.iter().enumerate() {
                    let closure = public.with(reader.own(MemberId(stay.member).into()));
                    for key in run.keys.iter().filter(|key| key.entitled >> number & 1 == 1) {
                        let (id, profile, epoch) = (scheme.id, profile.name(), key.epoch);
                        let knows = closure.knows(key.value);
                        assert!(knows, "{id} {profile}: member {} epoch {epoch}", stay.member);
                        assert!(!public.knows(key.value), "{id} {profile}: all know epoch {epoch}");
                    }
                }
                assert!(!run.keys.is_empty(), "{}", scheme.id);
            }
        }
    }
}
