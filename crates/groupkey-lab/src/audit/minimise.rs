//! Shortens a history that breaks a claim, as long as the claim stays broken.

use groupkey_testkit::rig::OperationTrace;

use super::audited_scheme::AuditedScheme;
use super::claims::{Claim, ClaimSet};
use super::derivation::derivation;
use super::examination::{Break, Examination};
use super::history::{ExecutedHistory, GroupEvent, History};
use super::knowledge::KnowledgeReader;
use super::rules::DerivationRules;

/// A history that breaks a claim, and the derivation of the key.
#[derive(Clone, Debug)]
pub(super) struct BrokenHistory {
    pub(super) history: History,
    pub(super) derivation: Vec<String>,
}

/// Drops events and members as long as the claim stays broken, then shows how it is broken.
pub(super) fn minimise(
    subject: &AuditedScheme,
    history: &History,
    claim: Claim,
    seed: u64,
) -> BrokenHistory {
    let mut history = history.clone();
    let is_broken = |candidate: &History| {
        let run = candidate.run(subject, seed);
        run.and_then(|run| attack(subject, run, claim, |_, _, _, _| ())).is_some()
    };
    while let Some(candidate) = smaller(&history).into_iter().find(is_broken) {
        history = candidate;
    }
    let run = history.run(subject, seed);
    let derivation = run.and_then(|run| attack(subject, run, claim, derivation));
    BrokenHistory { history, derivation: derivation.unwrap_or_default() }
}

/// If a run breaks the claim, returns how.
fn attack<T>(
    subject: &AuditedScheme,
    mut run: ExecutedHistory,
    claim: Claim,
    explain: impl FnOnce(&Examination<'_>, &DerivationRules, &OperationTrace, &Break) -> T,
) -> Option<T> {
    let trace = std::mem::take(run.rig.trace()?);
    let reader = KnowledgeReader::new(&trace);
    let rules = DerivationRules::of(&reader);
    let examine = || Examination::new(subject.scheme(), &run, &reader, &rules);
    let verdict = examine().examine(ClaimSet::only(claim));
    let found: Option<&Break> = verdict.breaks.first();
    found.map(|found| explain(&examine(), &rules, &trace, found))
}

/// Returns smaller histories: without one event, without two events, with a founder instead of a
/// joining member, without a founder, or without a promise. Each has fewer events, or as many
/// events and fewer members or promises.
fn smaller(history: &History) -> Vec<History> {
    let mut all = Vec::new();
    let without = |gone: &[usize]| {
        let events = history.events.iter().enumerate();
        let left = events.filter(|(place, _)| !gone.contains(place));
        History { events: left.map(|(_, event)| event.clone()).collect(), ..history.clone() }
    };
    let count = history.events.len();
    all.extend((0..count).map(|event| without(&[event])));
    all.extend(
        (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b])).map(|two| without(&two)),
    );
    // A joining member might have been a founder.
    for (place, event) in history.events.iter().enumerate() {
        if let GroupEvent::Add(member) = *event
            && !history.members.contains(&member)
        {
            let mut candidate = without(&[place]);
            candidate.members.push(member);
            all.push(candidate);
        }
    }
    for &member in history.members.iter().filter(|_| history.members.len() > 2) {
        let mut candidate = history.clone();
        candidate.members.retain(|&other| other != member);
        candidate.events.retain(|event| *event != GroupEvent::Remove(member));
        all.push(candidate);
    }
    for grant in 0..history.grants.len() {
        let mut candidate = history.clone();
        candidate.grants.remove(grant);
        all.push(candidate);
    }
    all
}
