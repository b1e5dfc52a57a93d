//! Tries all histories of all subjects on several threads, and concludes on each claim.

use std::sync::atomic::{AtomicU16, Ordering};

use groupkey::catalogue::Adversary;

use super::AuditOptions;
use super::audited_scheme::AuditedScheme;
use super::claims::{Claim, ClaimSet};
use super::examination::{Examination, RunResult};
use super::finding::{Audit, Found};
use super::history::History;
use super::knowledge::KnowledgeReader;
use super::minimise::{BrokenHistory, minimise};
use super::rules::DerivationRules;
use super::sweep::Sweep;

/// Tries these histories of each subject. Returns `None` if the audit was stopped.
pub(super) fn try_all(
    subjects: &[AuditedScheme],
    histories: &[Vec<History>],
    sweep: &Sweep<'_>,
) -> Option<Audit> {
    let units: Vec<HistoryRange> = (0..subjects.len())
        .flat_map(|subject| {
            let count = histories[subject].len();
            (0..count).step_by(UNIT).map(move |from| HistoryRange {
                subject,
                from,
                to: count.min(from + UNIT),
            })
        })
        .collect();
    let broken: Vec<AtomicU16> = units.iter().map(|_| AtomicU16::new(0)).collect();
    let results = sweep.spread(units.len(), |number| {
        let unit = &units[number];
        // Claims that an earlier unit of the same subject has broken are not examined again.
        let first = units.partition_point(|other| other.subject < unit.subject);
        let settled = broken[first..number].iter().map(|broken| broken.load(Ordering::Relaxed));
        let settled = ClaimSet::from_bits(settled.fold(0, |all, broken| all | broken));
        let (subject, histories) = (&subjects[unit.subject], &histories[unit.subject]);
        let result = unit.run(subject, histories, settled, sweep.options);
        broken[number].store(result.broken().bits(), Ordering::Relaxed);
        sweep.advance(unit.to - unit.from, unit.subject);
        result
    })?;
    conclude(subjects, histories, &units, &results, sweep)
}

/// Combines what the units of each subject found, and makes the evidence as short as possible.
fn conclude(
    subjects: &[AuditedScheme],
    histories: &[Vec<History>],
    units: &[HistoryRange],
    results: &[TrialOutcome],
    sweep: &Sweep<'_>,
) -> Option<Audit> {
    let mut audit = Audit::default();
    let mut open = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        let own = units.iter().zip(results).filter(|(unit, _)| unit.subject == number);
        let mut tested = ClaimSet::default();
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
        for claim in Claim::against(Adversary::Passive) {
            let history = first[claim as usize];
            let found = match (history, tested.has(claim)) {
                _ if !subject.is_modelled() => subject.unseen(claim),
                (Some(_), _) => Found::Broken,
                (None, true) => Found::Holds,
                (None, false) => Found::NotApplicable,
            };
            if let Some(history) = history {
                open.push((audit.findings.len(), number, claim, history));
            }
            audit.findings.push(subject.finding(claim, Adversary::Passive, found));
        }
    }
    let evidence = sweep.spread(open.len(), |place| {
        let (_, subject, claim, history) = open[place];
        minimise(&subjects[subject], &histories[subject][history], claim, sweep.options.seed)
    })?;
    for (&(finding, ..), BrokenHistory { history, derivation }) in open.iter().zip(evidence) {
        audit.findings[finding].history = history.described();
        audit.findings[finding].derivation = derivation;
    }
    Some(audit)
}

/// Histories that one thread tries at a time.
#[derive(Clone, Copy, Debug)]
struct HistoryRange {
    subject: usize,
    from: usize,
    to: usize,
}

/// The result of trying the histories of a unit.
#[derive(Clone, Debug, Default)]
struct TrialOutcome {
    ran: usize,
    refused: usize,
    tested: ClaimSet,
    /// The claims that are broken, each with the first history that breaks it.
    broken: Vec<(Claim, usize)>,
}

const UNIT: usize = 32;

impl HistoryRange {
    fn run(
        &self,
        subject: &AuditedScheme,
        histories: &[History],
        settled: ClaimSet,
        options: &AuditOptions<'_>,
    ) -> TrialOutcome {
        let mut outcome = TrialOutcome::default();
        let mut wanted = ClaimSet::ALL;
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

impl TrialOutcome {
    fn broken(&self) -> ClaimSet {
        let mut broken = ClaimSet::default();
        self.broken.iter().for_each(|&(claim, _)| broken.insert(claim));
        broken
    }
}

/// Returns what a run of this history says about these claims. `None` if the scheme refuses the
/// history.
fn verdict(
    subject: &AuditedScheme,
    history: &History,
    wanted: ClaimSet,
    seed: u64,
) -> Option<RunResult> {
    let mut run = history.run(subject, seed)?;
    let trace = std::mem::take(run.rig.trace()?);
    let reader = KnowledgeReader::new(&trace);
    let rules = DerivationRules::of(&reader);
    let verdict = Examination::new(subject.scheme(), &run, &reader, &rules).examine(wanted);
    Some(verdict)
}
