//! `groupkey choose --measure`: the finalists, simulated for just these requirements.

use groupkey_choose::candidate::Candidate;
use groupkey_choose::decision::Assessment;
use groupkey_choose::{Decision, Requirements};
use groupkey_lab::choose::{MeasureError, MeasureOptions, Measured, measure};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;
use crate::remark::remark;

/// The most candidates that are simulated: the cheapest of all that meet the requirements.
const FINALISTS: usize = 8;

/// Runs of each change.
const RUNS: u32 = 400;

const SEED: u64 = 1;

/// Simulates the finalists, and keeps only what was simulated. The cheapest candidate that keeps all
/// limits is recommended; one that exceeds a limit is left out, with a remark.
pub(super) fn finalists(
    decision: &mut Decision,
    requirements: &Requirements,
) -> Result<(), Failure> {
    let before = decision.recommended.take().map(|best| best.candidate.variant.scheme);
    let mut all: Vec<Assessment> =
        decision.front.drain(..).chain(decision.beaten.drain(..)).collect();
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut candidates: Vec<Candidate> =
        all.into_iter().take(FINALISTS).map(|one| one.candidate).collect();
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

    for Measured { assessment, exceeded } in measured {
        match exceeded.is_empty() {
            true => decision.front.push(assessment),
            false => remark(&format!(
                "note: {} is left out: in the simulation it exceeds {}",
                assessment.candidate,
                exceeded.join(" and ")
            )),
        }
    }
    decision.front.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    decision.recommended = decision.front.first().cloned();
    // Turns were sought for the modelled recommendation.
    let now = decision.recommended.as_ref().map(|best| &best.candidate.variant.scheme);
    if now != before.as_ref() {
        decision.turns.clear();
    }
    Ok(())
}
