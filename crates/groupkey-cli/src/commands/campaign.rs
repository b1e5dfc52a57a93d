//! `groupkey campaign`: many commands of the laboratory, on one machine or on many.
//!
//! A cell is one command, and its address the hash of all that its output depends on. So finished
//! cells never run twice, and whoever runs which of them makes no difference.

mod cell;
mod folder;
mod merging;
mod spec;

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use clap::{Args, Subcommand};
use serde::Serialize;

use self::cell::{CampaignCell, CellAddress, CellAddresses};
use self::folder::CellFolder;
use self::spec::Spec;
use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::output::{BesideFiles, remark};
use crate::progress::{self, ProgressBar};
use crate::{interruption, value_parsers};

/// Arguments of `groupkey campaign`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey campaign cells examples/campaigns/loss.toml
  groupkey campaign run examples/campaigns/loss.toml --out loss
  groupkey campaign run examples/campaigns/loss.toml --out loss --shard 3/8
  groupkey campaign status examples/campaigns/loss.toml --out loss --json
  groupkey campaign merge examples/campaigns/loss.toml --out loss

The file has commands whose options are lists; each combination is a cell:

  [[cells]]
  command = \"net\"
  scheme = [\"skdc\", \"lkh-group\"]
  loss = [0, 5]
  operation = \"create,add\"
  runs = 10

Studies have --part, and parts = 50 is --part=1/50 to --part=50/50: choose --validate, choose
--evidence-of and reproduce network-impact, each of which takes the merged rows by --from.

A cell's output is kept under a hash of its command, of the files that the command names and of the
version of groupkey. Interrupted or killed, the same command goes on where it was. Machines that
share the folder, or whose folders are put together later, each run a --shard. docs/campaigns.md
has examples for SLURM and for a matrix of CI.")]
pub(crate) struct CampaignArguments {
    #[command(subcommand)]
    action: CampaignAction,
}

/// What to do with a campaign.
#[derive(Debug, Subcommand)]
enum CampaignAction {
    /// Print the command of each cell, in order.
    Cells(CellsArguments),
    /// Run the cells that are not finished.
    ///
    /// A cell that fails is told, and the others go on. It is tried again the next time.
    Run(CampaignRunArguments),
    /// Count the cells that are finished, have failed, or are left.
    Status(StatusArguments),
    /// Write the rows of all cells into one file for each command, in the order of the cells.
    ///
    /// Writes COMMAND.jsonl (what the cells printed), and COMMAND.csv and COMMAND.parquet (the rows
    /// as columns). The same cells give the same bytes, wherever each of them was run.
    Merge(MergeArguments),
}

#[derive(Args, Debug)]
struct CellsArguments {
    /// The campaign's file.
    #[arg(value_name = "SPEC")]
    spec: PathBuf,

    /// Print one JSON object for each cell (JSON Lines), with its address, options and files.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct CampaignRunArguments {
    /// The campaign's file.
    #[arg(value_name = "SPEC")]
    spec: PathBuf,

    /// Keep what the cells print in this folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Only every N-th cell, from the I-th on: 1/4, 2/4, 3/4 and 4/4 make a whole.
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = value_parsers::shard())]
    shard: Shard,

    /// Cells that run at the same time; the rows do not depend on it [default: as many as there are
    /// cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct StatusArguments {
    /// The campaign's file.
    #[arg(value_name = "SPEC")]
    spec: PathBuf,

    /// The folder of the cells.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct MergeArguments {
    /// The campaign's file.
    #[arg(value_name = "SPEC")]
    spec: PathBuf,

    /// The folder of the cells. The merged files come there, too.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Leave out cells that are not finished.
    #[arg(long)]
    partial: bool,
}

/// A part of a campaign's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Which part, from 1.
    pub(crate) part: usize,
    /// How many parts there are.
    pub(crate) parts: usize,
}

/// A cell for other programs, which run it elsewhere.
#[derive(Serialize)]
struct ListedCell<'a> {
    address: CellAddress,
    command: &'a str,
    /// Each with its values; none if it is a flag.
    options: &'a [(String, Vec<String>)],
    /// The files that its options name, and those that these name in turn.
    files: Vec<String>,
    /// The command, for a shell.
    line: String,
}

/// How far a campaign is.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Status {
    /// Cells, each once.
    cells: usize,
    /// Cells that the file names more than once.
    repeated: usize,
    finished: usize,
    failed: Vec<FailedCell>,
    left: usize,
}

/// A cell whose command failed.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct FailedCell {
    command: String,
    problem: String,
}

/// Runs what the arguments ask for.
pub(crate) fn run(arguments: &CampaignArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.action {
        CampaignAction::Cells(CellsArguments { spec, json }) => {
            let spec = Spec::load(spec)?;
            match json {
                true => list_cells(&spec, out),
                false => {
                    (0..spec.len()).try_for_each(|place| writeln!(out, "{}", spec.cell(place)))?;
                    Ok(())
                }
            }
        }
        CampaignAction::Run(arguments) => run_cells(arguments, out),
        CampaignAction::Status(StatusArguments { spec, out: folder, json }) => {
            let status = Status::of(&Spec::load(spec)?, &CellFolder::open(folder)?)?;
            status.print(*json, out)?;
            if !json { status.print_failures(out) } else { Ok(()) }
        }
        CampaignAction::Merge(MergeArguments { spec, out: folder, partial }) => {
            merging::merge(&Spec::load(spec)?, &CellFolder::open(folder)?, *partial, out)
        }
    }
}

/// Prints a line of JSON for each cell, in order, also for those that are repeated.
fn list_cells(spec: &Spec, out: &mut dyn Write) -> Result<(), Failure> {
    let mut addresses = CellAddresses::default();
    for place in 0..spec.len() {
        let cell = spec.cell(place);
        let listed = ListedCell {
            address: addresses.of(&cell)?,
            command: &cell.command,
            options: &cell.options,
            files: addresses.files(&cell)?,
            line: cell.to_string(),
        };
        writeln!(out, "{}", serde_json::to_string(&listed).expect("it is a tree"))?;
    }
    Ok(())
}

/// Runs the cells of a shard that are not finished.
fn run_cells(arguments: &CampaignRunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let spec = Spec::load(&arguments.spec)?;
    let folder = CellFolder::create(&arguments.out)?;
    let todo = unfinished(&spec, &folder, arguments.shard)?;
    let threads = arguments.threads.map_or_else(all_cores, usize::from).clamp(1, todo.len().max(1));
    let stop = interruption::requested();
    let bar = ProgressBar::counting("cells");
    bar.advance(0, todo.len());
    progress::hide_others();

    let next = AtomicUsize::new(0);
    let (sender, outcomes) = channel();
    let (done, failed) = thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, todo, spec, folder) = (sender.clone(), &next, &todo, &spec, &folder);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((place, address)) = todo.get(place) else { break };
                    let outcome = run_cell(&spec.cell(*place), address, folder);
                    if sender.send(outcome).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        gather(&outcomes, todo.len(), &bar)
    })?;
    drop(bar);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted(format!("{done} of {} cells are finished", todo.len()))
            .with_help("the same command goes on where it was"));
    }
    let status = Status::of(&spec, &folder)?;
    status.print(arguments.json, &mut BesideFiles::new(out, true))?;
    match failed {
        0 => Ok(()),
        failed => Err(Failure::running(format!("{failed} of {} cells failed", todo.len()))
            .with_help("groupkey campaign status lists them; the same command tries them again")),
    }
}

/// Returns the cells of a shard that are not finished, each once.
fn unfinished(
    spec: &Spec,
    folder: &CellFolder,
    shard: Shard,
) -> Result<Vec<(usize, CellAddress)>, Failure> {
    let mut todo = each_once(spec, (shard.part - 1..spec.len()).step_by(shard.parts))?;
    todo.retain(|(_, address)| !folder.has(address));
    Ok(todo)
}

/// Returns the cells at these places, each once, with their addresses.
fn each_once(
    spec: &Spec,
    places: impl Iterator<Item = usize>,
) -> Result<Vec<(usize, CellAddress)>, Failure> {
    let mut addresses = CellAddresses::default();
    let mut seen = HashSet::new();
    let mut cells = Vec::new();
    for place in places {
        let address = addresses.of(&spec.cell(place))?;
        if seen.insert(address.clone()) {
            cells.push((place, address));
        }
    }
    Ok(cells)
}

/// Runs a cell and keeps what it printed. Returns what is wrong with the cell, if something is.
fn run_cell(
    cell: &CampaignCell,
    address: &CellAddress,
    folder: &CellFolder,
) -> Result<Option<String>, Failure> {
    match cell.run() {
        Ok(printed) => folder.keep(address, &printed).map(|()| None),
        Err(interrupted @ (Failure::Interrupted(_) | Failure::OutputClosed)) => Err(interrupted),
        Err(failure) => {
            let problem = failure.to_string();
            folder.keep_failure(address, &problem)?;
            Ok(Some(format!("{cell}\n{problem}")))
        }
    }
}

/// Counts the cells that end, and tells of those that fail.
fn gather(
    outcomes: &Receiver<Result<Option<String>, Failure>>,
    total: usize,
    bar: &ProgressBar,
) -> Result<(usize, usize), Failure> {
    let (mut done, mut failed) = (0, 0);
    for outcome in outcomes {
        match outcome {
            Ok(None) => done += 1,
            Ok(Some(problem)) => {
                failed += 1;
                if failed <= MOST_TOLD {
                    remark(problem.trim_end());
                }
            }
            Err(Failure::Interrupted(_)) => {}
            Err(failure) => return Err(failure),
        }
        bar.advance(done + failed, total);
    }
    Ok((done, failed))
}

/// Further failures are counted only; `status` has all.
const MOST_TOLD: usize = 5;

impl Status {
    fn of(spec: &Spec, folder: &CellFolder) -> Result<Self, Failure> {
        let cells = each_once(spec, 0..spec.len())?;
        let repeated = spec.len() - cells.len();
        let mut status = Self { cells: cells.len(), repeated, ..Self::default() };
        for (place, address) in cells {
            if folder.has(&address) {
                status.finished += 1;
            } else if let Some(problem) = folder.failure(&address) {
                status.failed.push(FailedCell { command: spec.cell(place).to_string(), problem });
            } else {
                status.left += 1;
            }
        }
        Ok(status)
    }

    fn print(&self, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
        let Self { cells, repeated, finished, failed, left } = self;
        if json {
            writeln!(out, "{}", serde_json::to_string(self).expect("it is a tree"))?;
            return Ok(());
        }
        write!(out, "{cells} cells: {finished} finished, {} failed, {left} left", failed.len())?;
        match repeated {
            0 => writeln!(out)?,
            repeated => writeln!(out, "; {repeated} more are repetitions")?,
        }
        Ok(())
    }

    fn print_failures(&self, out: &mut dyn Write) -> Result<(), Failure> {
        for FailedCell { command, problem } in &self.failed {
            writeln!(out, "\n{command}\n{}", problem.trim_end())?;
        }
        Ok(())
    }
}
