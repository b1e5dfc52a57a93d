//! `groupkey choose --validate`: what the fast answers cost beside the best that simulations find.

use std::io::Write;
use std::sync::atomic::Ordering;

use groupkey_choose::number::figure;
use groupkey_lab::choose::{
    MeasureError, Regret, RequirementsSource, ValidateOptions, regret, validate,
};

use super::ChooseArguments;
use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};

/// Answers random requirements, simulates what could be better, and prints a line for each kind of
/// requirements.
pub(super) fn run(arguments: &ChooseArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let ChooseArguments { quick, json, .. } = arguments;
    let (even, typical, members, runs) = if *quick { QUICK } else { FULL };
    let stop = interruption::requested();
    let bar = ProgressBar::counting("requirements");
    let options = ValidateOptions {
        seed: SEED,
        even,
        typical,
        members,
        runs,
        threads: arguments.threads(),
        stop,
        on_progress: &|done, total| bar.advance(done, total),
    };
    let trials = validate(&options).map_err(|error| match error {
        MeasureError::Interrupted => Failure::interrupted("nothing is printed"),
        error => Failure::running(error.to_string()),
    });
    drop(bar);
    let trials = trials?;
    if *json {
        for trial in &trials {
            writeln!(out, "{}", serde_json::to_string(trial).expect("it is a tree"))?;
        }
    } else {
        let mut table = Table::new([
            Column::text("requirements"),
            Column::text("answers"),
            Column::number("answered"),
            Column::number("none meets"),
            Column::number("missed"),
            Column::number("median %"),
            Column::number("95th %"),
            Column::number("worst %"),
            Column::number("over a limit"),
        ]);
        for (generator, name) in
            [(RequirementsSource::Even, "even"), (RequirementsSource::Typical, "typical")]
        {
            let own = trials.iter().filter(|trial| trial.generator == generator);
            let Regret { answered, missed, impossible, median, p95, worst, raced, violations } =
                regret(own);
            let told = [(raced, String::new()), ((median, p95, worst), violations.to_string())];
            for (answers, ((median, p95, worst), violations)) in
                ["default", "--fitted"].iter().zip(told)
            {
                table.row([
                    name.to_owned(),
                    (*answers).to_owned(),
                    answered.to_string(),
                    impossible.to_string(),
                    missed.to_string(),
                    figure(100.0 * median),
                    figure(100.0 * p95),
                    figure(100.0 * worst),
                    violations,
                ]);
            }
        }
        write!(out, "{table}")?;
        writeln!(
            out,
            "\nHow much more the answer costs than the best candidate that simulations find, for \
             random requirements\nof 2 to {members} members, seed {SEED}. even: each value is drawn \
             by itself. typical: places and habits; the model was\nnot fitted with such. none meets: \
             the answer and the simulation agree on that. missed: the fitted answer is none,\nand \
             the simulation finds one. over a limit: the fitted answer exceeds a limit in the \
             simulation, at the\n95 % level. Among equals, 5 % more may be taken."
        )?;
    }
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::interrupted("what is printed is of the requirements that were done")),
        false => Ok(()),
    }
}

const SEED: u64 = 1;

/// Requirements of either kind, most members, and runs of each change.
const FULL: (usize, usize, u32, u32) = (300, 50, 5_000, 400);
const QUICK: (usize, usize, u32, u32) = (20, 6, 60, 60);
