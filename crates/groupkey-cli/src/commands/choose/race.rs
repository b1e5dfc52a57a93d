//! The finalists of `groupkey choose`, simulated for just these requirements.

use groupkey_choose::decision::RaceEnd;
use groupkey_choose::{Decision, Requirements};
use groupkey_lab::choose::{RaceOptions, RacedDecision, SEED, race};

use crate::failure::Failure;
use crate::interruption;
use crate::output::remark;
use crate::progress::ProgressBar;

/// Races the finalists, and returns the decision that this makes of the model's. When it is
/// interrupted, that is what is known then.
pub(super) fn finalists(
    modelled: &Decision,
    requirements: &Requirements,
    threads: usize,
) -> Result<Decision, Failure> {
    if let Some(field) = requirements.beyond_model() {
        remark(&format!(
            "note: {field} is not in the model, so the candidates that cost least without it are \
             simulated with it"
        ));
    }
    let bar = ProgressBar::counting("messages of at most as many");
    let raced = race(
        modelled,
        requirements,
        &RaceOptions {
            seed: SEED,
            threads,
            stop: interruption::requested(),
            on_progress: &|done, total| bar.advance(done, total),
        },
    );
    drop(bar);
    let RacedDecision { decision, notes } =
        raced.map_err(|error| Failure::running(error.to_string()))?;
    notes.iter().for_each(|note| remark(&format!("note: {note}")));
    Ok(decision)
}

/// Makes it a failure if the race was interrupted, after what is known was printed.
pub(super) fn is_whole(decision: &Decision) -> Result<(), Failure> {
    match decision.race.as_ref().map(|race| race.end) {
        Some(RaceEnd::Interrupted) => {
            Err(Failure::interrupted("the answer is what was known then"))
        }
        _ => Ok(()),
    }
}
