//! `groupkey net --scenario` with `scheme = "auto"`: a policy on months of a trace.

use std::io::Write;
use std::sync::atomic::Ordering;

use groupkey_choose::number::figure;
use groupkey_lab::choose::PolicyRow;
use groupkey_lab::choose::{MeasureError, PolicyTrial, observations, try_policy};
use groupkey_lab::report::{Report, render};
use groupkey_lab::results::RunHeader;
use groupkey_lab::scenario::AdaptiveScenario;

use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;
use crate::provenance;
use crate::results_folder::ResultsFolder;
use crate::table::{Column, Table};

/// Runs the scenario's policy and prints the phases with their schemes, and what they cost.
pub(super) fn run(
    scenario: &AdaptiveScenario,
    name: &str,
    folder: Option<ResultsFolder>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let stop = interruption::requested();
    let total = observations(&scenario.trace, scenario.observe).len();
    let bar = ProgressBar::counting("looks at the group");
    let tried = try_policy(scenario, &|| stop.load(Ordering::Relaxed), &|done| {
        bar.advance(done, total);
    });
    drop(bar);
    let tried = tried.map_err(|error| match error {
        MeasureError::Interrupted => Failure::interrupted("nothing is printed"),
        error => Failure::running(error.to_string()),
    })?;
    let Some(trial) = tried else {
        return Err(Failure::running("no scheme meets the requirements at the beginning")
            .with_help(
                "groupkey choose --requirements FILE says which requirement rules out what",
            ));
    };
    if json {
        writeln!(out, "{}", serde_json::to_string(&trial).expect("it is a tree"))?;
    } else {
        writeln!(out, "{}\n", scenario.description)?;
        print(&trial, out)?;
    }
    let Some(folder) = folder else { return Ok(()) };
    let rows = PolicyRow::of(&trial);
    let assumptions = vec![format!("{}. {GROUNDS}", scenario.description)];
    let header =
        RunHeader::new(name, scenario.seed, provenance::COMMIT, provenance::machine(), assumptions);
    let mut report = Report::default();
    report.add_policy(&header, rows.clone());
    let files = folder.finish(&header, &rows, &render(&report))?;
    if !json {
        write!(out, "\n{files}")?;
    }
    Ok(())
}

const GROUNDS: &str = "Times until changes are complete are simulated, all else is counted; what a \
                       change of scheme costs is modelled; the policy decided by the model.";

/// The most phases that are told one by one.
const PHASES: usize = 40;

fn print(trial: &PolicyTrial, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::number("from day"),
        Column::number("to day"),
        Column::number("members"),
        Column::number("joined"),
        Column::number("left"),
        Column::text("in force"),
    ]);
    let day = |seconds: f64| format!("{:.2}", seconds / 86_400.0);
    for phase in trial.phases.iter().take(PHASES) {
        let (least, most) = phase.members;
        table.row([
            day(phase.from),
            day(phase.until),
            if least == most { least.to_string() } else { format!("{least} to {most}") },
            phase.churn.0.to_string(),
            phase.churn.1.to_string(),
            phase.candidate.to_string(),
        ]);
    }
    write!(out, "{table}")?;
    if let Some(more) = trial.phases.len().checked_sub(PHASES).filter(|more| *more > 0) {
        writeln!(out, "and {more} more; --json has all")?;
    }
    let replay = &trial.replay;
    let mut table = Table::new([
        Column::text("kept or changed"),
        Column::number("changes"),
        Column::number("cost"),
        Column::number("to adaptive %"),
    ]);
    let share = |cost: f64| match replay.adaptive > 0.0 && cost.is_finite() {
        true => figure(100.0 * cost / replay.adaptive),
        false => "-".to_owned(),
    };
    let told = |cost: f64| match cost.is_finite() {
        true => figure(cost),
        false => "over a limit".to_owned(),
    };
    let mut row = |name: String, changes: usize, cost: f64| {
        table.row([name, changes.to_string(), told(cost), share(cost)]);
    };
    row("adaptive".to_owned(), replay.changes.len(), replay.adaptive);
    row("best in hindsight".to_owned(), replay.best_changes.len(), replay.hindsight);
    for (candidate, cost) in replay.kept.iter().take(KEPT) {
        row(format!("{candidate}, kept"), 0, *cost);
    }
    write!(out, "\n{table}")?;
    writeln!(
        out,
        "\nCosts by the weights of the requirements, changes of scheme included. Times until changes \
         are complete\nare simulated, all else is counted. What a change of scheme costs is \
         modelled. The policy decided by the model.\nIn {} of the looks at the group the scheme in \
         force exceeded a limit.",
        replay.exceeded
    )?;
    Ok(())
}

/// The most candidates that are told as kept throughout.
const KEPT: usize = 5;
