//! `groupkey choose --measure`: the finalists, simulated for just these requirements.

use groupkey_choose::decision::{Assessment, Candidate, ExcludedScheme, Reason};
use groupkey_choose::{Decision, Grounds, Requirements, decide_among, number};
use groupkey_lab::choose::{MeasureError, MeasureOptions, RUNS, SEED, SimulatedCandidate, measure};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::interruption;
use crate::output::remark;
use crate::progress::ProgressBar;

/// The most candidates that are simulated: of all that meet the requirements, first the preferred one
/// of each scheme that is equal to the cheapest, then the cheapest.
const FINALISTS: usize = 8;

/// Simulates the finalists, and decides anew among those that keep all limits. One that exceeds a
/// limit is out.
pub(super) fn finalists(
    decision: &mut Decision,
    requirements: &Requirements,
) -> Result<(), Failure> {
    if let Some(field) = requirements.beyond_model() {
        remark(&format!(
            "note: {field} is not in the model, so the {FINALISTS} candidates that cost least without \
             it are simulated with it"
        ));
    }
    let before = decision.recommended.take().map(|best| best.candidate.variant.scheme);
    let mut candidates = candidates(decision);
    let bar = ProgressBar::counting("candidates simulated");
    let options = MeasureOptions {
        seed: SEED,
        runs: RUNS,
        threads: all_cores(),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    };
    let measured = loop {
        match measure(requirements, &candidates, &options) {
            Ok(measured) => break measured,
            Err(MeasureError::Candidate(candidate)) if candidates.contains(&candidate) => {
                remark(&format!("note: {candidate} is left out: it cannot be at just this size"));
                candidates.retain(|other| *other != candidate);
            }
            Err(MeasureError::Interrupted) => {
                return Err(Failure::interrupted("nothing is recommended"));
            }
            Err(error) => return Err(Failure::running(error.to_string())),
        }
    };
    drop(bar);

    let (mut kept, mut late) = (Vec::new(), Vec::new());
    for SimulatedCandidate { assessment, exceeded, of_99_at_most } in measured {
        let limit = requirements.limits.complete.unwrap_or(f64::INFINITY);
        match of_99_at_most.filter(|of_99| *of_99 > limit) {
            Some(of_99) => late.push(out(assessment.candidate, limit, of_99)),
            None if exceeded.is_empty() => kept.push(assessment),
            None => remark(&format!(
                "note: {} is left out: in the simulation it exceeds {}",
                assessment.candidate,
                exceeded.join(" and ")
            )),
        }
    }
    let mut others = std::mem::take(&mut decision.out);
    let turns = std::mem::take(&mut decision.turns);
    *decision = decide_among(requirements, &Grounds::shipped(), kept);
    // What was simulated comes first: the others were judged by the model.
    for one in late.into_iter().rev() {
        let is_known = others.iter().any(|other| other.scheme == one.scheme);
        let is_in = |other: &Assessment| other.candidate.variant.scheme == one.scheme;
        if !is_known && !decision.front.iter().chain(&decision.beaten).any(is_in) {
            others.insert(0, one);
        }
    }
    decision.out = others;
    // Turns were sought for the modelled recommendation.
    let now = decision.recommended.as_ref().map(|best| &best.candidate.variant.scheme);
    if now == before.as_ref() && requirements.beyond_model().is_none() {
        decision.turns = turns;
    }
    Ok(())
}

/// Returns the finalists.
fn candidates(decision: &Decision) -> Vec<Candidate> {
    let mut finalists: Vec<Candidate> = Vec::new();
    for equal in &decision.equals {
        let is_known = |known: &Candidate| known.variant.scheme == equal.variant.scheme;
        if !finalists.iter().any(is_known) {
            finalists.push(equal.clone());
        }
    }
    let mut all: Vec<&Assessment> = decision.front.iter().chain(&decision.beaten).collect();
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    for Assessment { candidate, .. } in all {
        if !finalists.contains(candidate) {
            finalists.push(candidate.clone());
        }
    }
    finalists.truncate(FINALISTS);
    finalists
}

/// Returns a candidate as one whose changes take too long in the simulation.
fn out(candidate: Candidate, limit: f64, of_99: f64) -> ExcludedScheme {
    let reason = Reason {
        requirement: "limits.complete".to_owned(),
        required: format!("at most {} ms", number::rounded(limit)),
        has: format!("up to {} ms in the simulation", number::rounded(of_99)),
        nearest: Some(format!("{}", of_99.ceil())),
    };
    ExcludedScheme {
        scheme: candidate.variant.scheme.clone(),
        candidate: Some(candidate),
        reasons: vec![reason],
    }
}
