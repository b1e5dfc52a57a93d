//! Makes the evidence: counts of every variant, and what the audit found of every scheme.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{error, fmt, thread};

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::protection::Guard;
use groupkey_choose::Moment;
use groupkey_choose::evidence::{CountTable, Evidence, Sample, SchemeFacts};
use groupkey_sim::group::GroupError;

use super::counting::{OPERATIONS, count};
use super::variants::{CountedScheme, SUITES, own_subjects, subjects};
use crate::audit::{Claim, Finding, Found, recorded};
use crate::registry;

/// How evidence is made.
#[derive(Clone, Copy)]
pub struct EvidenceOptions<'o> {
    /// Seed of all keys. Counts depend on it only where lengths of numbers do.
    pub seed: u64,
    /// Whether groups are small, for a first look.
    pub is_quick: bool,
    /// Threads. The evidence does not depend on their number.
    pub threads: usize,
    /// When this becomes true, counting stops at the next opportunity.
    pub stop: &'o AtomicBool,
    /// Called with the number of groups that are counted, and with the total.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

#[cfg(test)]
impl<'o> EvidenceOptions<'o> {
    pub(crate) fn quick(threads: usize, stop: &'o AtomicBool) -> Self {
        Self { seed: 1, is_quick: true, threads, stop, on_progress: &|_, _| () }
    }
}

/// Why no evidence was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRunError {
    /// It was stopped.
    Interrupted,
    /// A scheme did not complete an operation.
    Incomplete {
        /// The variant, the operation and the size.
        what: String,
        /// What happened.
        error: GroupError,
    },
}

/// Counts all variants at all sizes.
pub fn make_evidence(options: &EvidenceOptions<'_>) -> Result<Evidence, EvidenceRunError> {
    let subjects = subjects(options.is_quick);
    evidence(&subjects, options)
}

/// Counts all variants of these schemes at all sizes. What is known of the others is what ships.
pub fn make_evidence_of(
    schemes: &[&'static Scheme],
    options: &EvidenceOptions<'_>,
) -> Result<Evidence, EvidenceRunError> {
    let is_counted = |id: &str| schemes.iter().any(|scheme| scheme.id == id);
    let mut subjects = subjects(options.is_quick);
    subjects.retain(|subject| is_counted(subject.scheme.id));
    let (shipped, counted) = (Evidence::shipped(), evidence(&subjects, options)?);
    let facts = shipped.facts().filter(|facts| !is_counted(&facts.scheme)).chain(counted.facts());
    let tables = shipped.tables().filter(|table| !is_counted(&table.variant.scheme));
    let tables = tables.chain(counted.tables()).cloned().collect();
    Ok(Evidence::new(facts.cloned().collect(), tables))
}

/// Counts the schemes that the program registered, in seconds, for choices that they take part in.
/// Their claims are those that these findings confirm.
pub fn make_own_evidence(
    findings: &[Finding],
    options: &EvidenceOptions<'_>,
) -> Result<Evidence, EvidenceRunError> {
    evidence_by(findings, &own_subjects(), options)
}

pub(super) fn evidence(
    subjects: &[CountedScheme],
    options: &EvidenceOptions<'_>,
) -> Result<Evidence, EvidenceRunError> {
    evidence_by(recorded::findings(), subjects, options)
}

fn evidence_by(
    findings: &[Finding],
    subjects: &[CountedScheme],
    options: &EvidenceOptions<'_>,
) -> Result<Evidence, EvidenceRunError> {
    // Large groups come first, so that no thread is left alone with one.
    let mut groups: Vec<(Moment, u32, usize)> = (subjects.iter().enumerate())
        .flat_map(|(index, subject)| {
            let moments = subject.moments().into_iter();
            moments.map(move |(moment, turnover)| (moment, turnover, index))
        })
        .collect();
    groups.sort_by_key(|&(moment, _, index)| (std::cmp::Reverse(moment), index));
    let next = AtomicUsize::new(0);
    type Counted = BTreeMap<(usize, String, u32), Vec<Sample>>;
    let counted: Mutex<Result<Counted, EvidenceRunError>> = Mutex::new(Ok(Counted::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(moment, turnover, index)) = groups.get(place) else { return };
            let outcome = match options.stop.load(Ordering::Relaxed) {
                true => Err(EvidenceRunError::Interrupted),
                false => operations(&subjects[index], moment, options.seed),
            };
            let mut counted = counted.lock().expect("no thread panics while it has it");
            match (&mut *counted, outcome) {
                (Ok(counted), Ok(samples)) => {
                    for sample in samples {
                        let key = (index, sample.operation.clone(), turnover);
                        counted.entry(key).or_default().push(sample);
                    }
                }
                (Ok(_), Err(error)) => *counted = Err(error),
                (Err(_), _) => {}
            }
            if counted.is_err() {
                return;
            }
            drop(counted);
            (options.on_progress)(place + 1, groups.len());
        }
    };
    thread::scope(|scope| {
        (1..options.threads.max(1)).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let counted = counted.into_inner().expect("no thread panics while it has it")?;
    let mut symmetric: BTreeMap<&str, bool> = BTreeMap::new();
    let mut tables = Vec::new();
    for ((index, operation, turnover), samples) in &counted {
        let subject = &subjects[*index];
        *symmetric.entry(subject.scheme.id).or_insert(true) &= samples.iter().all(is_symmetric);
        let table = CountTable::of(subject.variant("none"), operation.clone(), samples);
        tables.extend(table.map(|table| table.after(*turnover)));
    }
    let facts = registry::schemes()
        .filter_map(|scheme| Some(facts(findings, scheme, *symmetric.get(scheme.id)?)));
    Ok(Evidence::new(facts.collect(), tables))
}

pub(super) fn operations(
    subject: &CountedScheme,
    moment: Moment,
    seed: u64,
) -> Result<Vec<Sample>, EvidenceRunError> {
    let mut samples = Vec::new();
    for operation in OPERATIONS {
        let with_creation = operation == OPERATIONS[0] && moment.departed == 0;
        match count(subject, operation, with_creation, moment, Guard::None, seed) {
            Ok(counted) => samples.extend(counted),
            // A group of this size is too large for the scheme.
            Err(GroupError::Refused(_, groupkey::Error::Unsupported(_))) => {}
            Err(error) => {
                let Moment { members, departed } = moment;
                let what = format!(
                    "{}, {}, {members} members after {departed} departures",
                    subject.variant("none"),
                    operation.name()
                );
                return Err(EvidenceRunError::Incomplete { what, error });
            }
        }
    }
    Ok(samples)
}

fn facts(findings: &[Finding], scheme: &'static Scheme, symmetric: bool) -> SchemeFacts {
    let found = |adversary: Adversary| {
        Claim::ALL.into_iter().filter_map(move |claim| {
            let found = recorded::found_in(findings, scheme, Profile::Sound, claim, adversary)?;
            let name = format!("{}/{}", adversary.name(), claim.name());
            (found == Found::Holds).then_some(name)
        })
    };
    let bits = SUITES.iter().map(|suite| suite.security_bits()).min().unwrap_or_default();
    SchemeFacts {
        scheme: scheme.id.to_owned(),
        bits,
        symmetric,
        confirmed: [Adversary::Passive, Adversary::Active].into_iter().flat_map(found).collect(),
    }
}

fn is_symmetric(sample: &Sample) -> bool {
    let asymmetric = |name: &String| {
        Primitive::ALL.into_iter().any(|primitive| {
            // Remainders and shares of a secret take inverses as well, and no hard problem.
            let is_of_pairing = primitive.is_of_pairing() && primitive != Primitive::InvertScalar;
            primitive.name() == name && (primitive.is_of_group() || is_of_pairing)
        })
    };
    let loads = [&sample.member, &sample.busiest, &sample.controller, &sample.gateway];
    !loads.into_iter().flat_map(|load| load.uses.0.keys()).any(asymmetric)
}

impl fmt::Debug for EvidenceOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, is_quick, threads, .. } = self;
        let mut told = f.debug_struct("EvidenceOptions");
        told.field("seed", seed).field("is_quick", is_quick).field("threads", threads);
        told.finish_non_exhaustive()
    }
}

impl fmt::Display for EvidenceRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("stopped before all groups were counted"),
            Self::Incomplete { what, error } => write!(f, "{error} ({what})"),
        }
    }
}

impl error::Error for EvidenceRunError {}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::Assumption;

    use super::*;

    /// What the counts say of a scheme's primitives is what the catalogue says that it rests on.
    #[test]
    fn what_rests_on_no_hard_problem_counts_as_symmetric() {
        let mut subjects = subjects(true);
        subjects.dedup_by_key(|subject| subject.scheme.id);
        for subject in subjects {
            let (moment, _) = subject.moments()[0];
            let samples = operations(&subject, moment, 1).expect("it completes");
            let counted = samples.iter().all(is_symmetric);
            let stated = subject.scheme.assumption == Assumption::Symmetric;
            assert_eq!(counted, stated, "{}", subject.scheme.id);
        }
    }
}
