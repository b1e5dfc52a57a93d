//! `groupkey choose --measure`: the finalists, simulated for just these requirements.

use groupkey_choose::candidate::Candidate;
use groupkey_choose::decision::Assessment;
use groupkey_choose::{Decision, Grounds, Requirements, decide_among};
use groupkey_lab::choose::{MeasureError, MeasureOptions, Measured, measure};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;
use crate::remark::remark;

/// The most candidates that are simulated: of all that meet the requirements, first the preferred one
/// of each scheme that is equal to the cheapest, then the cheapest.
const FINALISTS: usize = 8;

/// Runs of each change.
const RUNS: u32 = 400;

const SEED: u64 = 1;

/// Simulates the finalists, and decides anew among those that keep all limits. One that exceeds a
/// limit is left out, with a remark.
pub(super) fn finalists(
    decision: &mut Decision,
    requirements: &Requirements,
) -> Result<(), Failure> {
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

    let mut kept = Vec::new();
    for Measured { assessment, exceeded } in measured {
        match exceeded.is_empty() {
            true => kept.push(assessment),
            false => remark(&format!(
                "note: {} is left out: in the simulation it exceeds {}",
                assessment.candidate,
                exceeded.join(" and ")
            )),
        }
    }
    let out = std::mem::take(&mut decision.out);
    let turns = std::mem::take(&mut decision.turns);
    *decision = decide_among(requirements, &Grounds::shipped(), kept);
    // Turns were sought for the modelled recommendation.
    let now = decision.recommended.as_ref().map(|best| &best.candidate.variant.scheme);
    let turns = if now == before.as_ref() { turns } else { Vec::new() };
    (decision.out, decision.turns) = (out, turns);
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
