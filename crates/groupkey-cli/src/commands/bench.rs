//! `groupkey bench`: what each role computes, keeps and sends.

pub(crate) mod folder;
mod growth;
mod plans;
mod tables;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use groupkey_choose::number::duration;
use groupkey_lab::bench::{
    self, BenchError, BenchHeader, BenchOptions, BenchOutcome, BenchPlan, BenchRow, Function,
    HostPrices, Phase, Role, Unit,
};
use groupkey_lab::campaign::Progress;
use groupkey_lab::device::measure::Effort;
use groupkey_lab::report::Report;
use groupkey_reproduce::printed;

use self::folder::BenchFolder;
use self::plans::{LeftOut, PlanArguments};
use self::tables::Refusals;
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::output::remark;
use crate::progress::ProgressBar;
use crate::results_folder::{EarlierArguments, Growing};
use crate::{interruption, provenance, value_parsers};

/// Arguments of `groupkey bench`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey bench
  groupkey bench --scheme skdc,lkh-group --members 100,1000,10000 --operation add,remove
  groupkey bench --class distributed --members 10 --role sponsor,member
  groupkey bench --scheme skdc --operation encrypt,decrypt --bytes 50
  groupkey bench --scheme tgdh --profile published --device esp32-micropython --json
  groupkey bench --scheme skdc,lkh-group,tgdh --growth
  groupkey bench --workload platoon --repetitions 100 --out platoon
  groupkey bench --workload examples/workloads/warehouse.toml --scheme skdc

Reading a row: the mean is processor time, measured on this machine (wall time where the system
counts none). Counted is what the same primitives cost by themselves in the same run, and x the best
measured time over it: what is above 1 is not the scheme's mathematics. A device's time is
modelled from its profile, never measured here.

docs/benchmark.md has more, docs/workloads.md has the built-in workloads and describes a file with
another.

What a whole day of joins and leaves costs each role: groupkey trace --replay.")]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    plans: PlanArguments,

    #[command(flatten)]
    output: BenchOutputArguments,
}

/// The rows to show, and where they go.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct BenchOutputArguments {
    /// Only these roles [default: all].
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_parser = value_parsers::role())]
    role: Vec<Role>,

    /// Only this phase [default: both].
    #[arg(long, value_name = "PHASE", value_parser = value_parsers::phase())]
    phase: Option<Phase>,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    json: bool,

    /// With --json: every repetition's time, too.
    #[arg(long, requires = "json")]
    samples: bool,

    /// Write results.jsonl, with every repetition's time, summary.csv and report.html into this
    /// folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Continue an unfinished run in --out.
    #[arg(long, requires = "out", conflicts_with = "fresh")]
    resume: bool,

    /// Replace the results in --out, finished or not.
    #[arg(long, requires = "out")]
    fresh: bool,
}

/// The checked plans to run.
#[derive(Debug)]
pub(crate) struct BenchWork {
    plans: Vec<BenchPlan>,
    /// Schemes that have no plan.
    without: LeftOut,
}

pub(crate) fn work(arguments: &BenchArguments) -> Result<BenchWork, Failure> {
    let (plans, without) = arguments.plans.plans()?;
    Ok(BenchWork { plans, without })
}

pub(crate) fn run(arguments: &BenchArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let BenchWork { plans, without } = work(arguments)?;
    let units = bench::units(&plans);
    arguments.output.refuse_what_nobody_does(&units)?;
    for note in plans::left_out(&plans, &without) {
        remark(&format!("note: {note}"));
    }

    let mut session = BenchSession::open(arguments, &plans, &units)?;
    session.learn_prices()?;
    let outcome = session.measure(out)?;
    session.keep(outcome)?;
    session.print(out)?;
    session.conclude(outcome)
}

/// A benchmark under way.
struct BenchSession<'a> {
    arguments: &'a BenchArguments,
    plans: &'a [BenchPlan],
    /// The units to measure, and how many of them were done before.
    units: &'a [Unit<'a>],
    done: usize,
    folder: Option<BenchFolder>,
    header: BenchHeader,
    prices: HostPrices,
    /// The rows from before, then the new ones.
    rows: Vec<BenchRow>,
    refusals: Refusals,
}

impl<'a> BenchSession<'a> {
    fn open(
        arguments: &'a BenchArguments,
        plans: &'a [BenchPlan],
        units: &'a [Unit<'a>],
    ) -> Result<Self, Failure> {
        let output = &arguments.output;
        let folder = output.out.as_deref().map(BenchFolder::create).transpose()?;
        let mut header = BenchHeader::new(
            arguments.plans.seed(),
            provenance::COMMIT.to_owned(),
            provenance::machine(),
            arguments.plans.name(),
        );
        header.plans = BenchPlan::digest(plans);
        header.assumptions = ASSUMPTIONS.map(str::to_owned).to_vec();
        let earlier = EarlierArguments { resume: output.resume, fresh: output.fresh }.choice();
        let found = match &folder {
            Some(folder) => folder.earlier(&header, earlier, units)?,
            None => None,
        };
        let (header, rows, done, prices) = match found {
            Some(found) => {
                let prices = HostPrices::resume(Effort::QUICK, &found.header.prices);
                (found.header, found.rows, found.units_done, prices)
            }
            None => (header, Vec::new(), 0, HostPrices::new(Effort::QUICK)),
        };
        let refusals = Refusals::default();
        Ok(Self { arguments, plans, units, done, folder, header, prices, rows, refusals })
    }

    fn learn_prices(&mut self) -> Result<(), Failure> {
        let rest = &self.units[self.done..];
        let expected = bench::pilot(rest, &mut self.prices, interruption::requested());
        announce(expected.map_err(failure)?, rest, &self.arguments.output);
        self.header.prices = self.prices.by_name();
        Ok(())
    }

    fn measure(&mut self, out: &mut dyn Write) -> Result<BenchOutcome, Failure> {
        let Self { rows, header, .. } = &*self;
        let growing = self.folder.as_ref().map(|folder| folder.begin(header, rows)).transpose()?;
        let out = BesideFiles::new(out, growing.is_some());
        let mut readers = Readers { output: &self.arguments.output, growing, out };
        readers.show_earlier(rows)?;

        let bar = ProgressBar::new();
        let refusals = RefCell::new(&mut self.refusals);
        let options = BenchOptions {
            stop: interruption::requested(),
            on_progress: &|done, total| {
                let (done, total) = (done as usize, total as usize);
                bar.update(Progress {
                    runs_done: done,
                    runs_total: total,
                    plans_done: 0,
                    plans_total: 0,
                });
            },
            on_refusal: &|unit, activity, error| {
                refusals.borrow_mut().add(unit, activity, error);
            },
        };
        let (rest, rows) = (&self.units[self.done..], &mut self.rows);
        let outcome = bench::run(rest, &mut self.prices, &options, &mut |new| {
            new.iter().try_for_each(|row| readers.take(row))?;
            rows.extend_from_slice(new);
            Ok(())
        });
        drop(bar);
        let outcome = outcome.map_err(failure)?;
        for note in self.refusals.notes() {
            remark(&format!("note: {note}"));
        }
        Ok(outcome)
    }

    /// Completes the folder.
    fn keep(&mut self, outcome: BenchOutcome) -> Result<(), Failure> {
        let Self { folder: Some(folder), header, prices, rows, .. } = self else { return Ok(()) };
        // Primitives that first occurred at a large size have their prices by now.
        header.prices = prices.by_name();
        header.rows = (outcome == BenchOutcome::Finished).then_some(rows.len());
        let mut report = Report { printed: printed(), ..Report::default() };
        report.add(header, rows.iter().cloned());
        folder.finish(header, rows, &report)?;
        Ok(())
    }

    fn print(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let BenchArguments { plans, output } = self.arguments;
        let shown = self.shown();
        if !output.json && !self.rows.is_empty() {
            tables::print(self.plans, &shown, out)?;
        }
        if plans.growth {
            growth::print(&shown, output.json, out)?;
        }
        tables::print_warnings(&shown, output.json);
        Ok(())
    }

    fn conclude(&self, outcome: BenchOutcome) -> Result<(), Failure> {
        match outcome {
            BenchOutcome::Finished if self.rows.is_empty() => Err(self.refusals.failure()),
            BenchOutcome::Finished if self.shown().is_empty() => {
                Err(Failure::input("nothing that was measured is of this role and phase")
                    .with_help(SHOW_ALL))
            }
            BenchOutcome::Finished => Ok(()),
            BenchOutcome::Interrupted { done, total } => {
                let (done, total) = (self.done + done, self.done + total);
                let failure = Failure::interrupted(format!("{done} of {total} sizes are done"));
                Err(match &self.arguments.output.out {
                    Some(_) => failure.with_help("--resume continues with the rest"),
                    None => failure.with_help("with --out what is done is kept for --resume"),
                })
            }
        }
    }

    fn shown(&self) -> Vec<&BenchRow> {
        self.rows.iter().filter(|row| self.arguments.output.shows(row)).collect()
    }
}

/// Where rows go when they are done: into the folder, and with --json to standard output.
struct Readers<'a> {
    output: &'a BenchOutputArguments,
    growing: Option<Growing>,
    out: BesideFiles<'a>,
}

impl Readers<'_> {
    /// Prints the rows from before with --json. They are already in the folder.
    fn show_earlier(&mut self, rows: &[BenchRow]) -> io::Result<()> {
        if self.output.json {
            rows.iter().try_for_each(|row| self.output.print_json(&mut self.out, row))?;
        }
        Ok(())
    }

    fn take(&mut self, row: &BenchRow) -> io::Result<()> {
        if let Some(growing) = &mut self.growing {
            growing.add(row)?;
        }
        if self.output.json {
            self.output.print_json(&mut self.out, row)?;
        }
        Ok(())
    }
}

impl BenchOutputArguments {
    /// Fails before the measurement if no row can be of the role and the phase.
    fn refuse_what_nobody_does(&self, units: &[Unit<'_>]) -> Result<(), Failure> {
        let shows = |function: &Function| {
            (self.role.is_empty() || self.role.contains(&function.role))
                && self.phase.is_none_or(|phase| phase == function.phase)
        };
        let can_be = units.iter().any(|Unit { plan, .. }| {
            let functions = plan.activities().flat_map(|it| Function::of(plan.scheme, it));
            let asked = |it: &Function| plan.functions.is_empty() || plan.functions.contains(it);
            functions.filter(asked).any(|function| shows(&function))
        });
        match can_be {
            true => Ok(()),
            false => Err(Failure::input("nothing that is asked for is of this role and phase")
                .with_help(SHOW_ALL)),
        }
    }

    fn shows(&self, row: &BenchRow) -> bool {
        let role = self.role.is_empty() || self.role.iter().any(|role| role.name() == row.role);
        role && self.phase.is_none_or(|phase| phase.name() == row.phase)
    }

    fn print_json(&self, out: &mut dyn Write, row: &BenchRow) -> io::Result<()> {
        if !self.shows(row) {
            return Ok(());
        }
        let samples_ns = if self.samples { row.samples_ns.clone() } else { Vec::new() };
        serde_json::to_writer(&mut *out, &BenchRow { samples_ns, ..row.clone() })?;
        writeln!(out)
    }
}

const SHOW_ALL: &str = "leave out --role and --phase to see all";

/// Work that takes longer than this is announced.
const PATIENCE: Duration = Duration::from_secs(10);

const ASSUMPTIONS: [&str; 5] = [
    "Pauses between steps have no length; messages are delivered in the order in which they were sent.",
    "In schemes with a controller, only the measured parties exist. In the others, every member does.",
    "Every repetition has a new group, and draws the same static variables, made ready before it.",
    "Times are processor time of this machine, or wall time where the system counts none (field clock); \
     a device's are modelled from its profile.",
    "Counted costs are those of the primitives by themselves, each the fastest of some batches.",
];

fn announce(expected: Duration, units: &[Unit<'_>], output: &BenchOutputArguments) {
    if expected < PATIENCE {
        return;
    }
    let keeps = if output.out.is_some() {
        "Ctrl-C keeps what is done, --resume continues"
    } else {
        "with --out what is done is kept for --resume"
    };
    let (sizes, expected) = (units.len(), duration(expected.as_secs_f64()));
    remark(&format!("sizes to measure: {sizes}, about {expected}; {keeps}"));
}

pub(crate) fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Plan { .. } => Failure::input(error.to_string()),
        BenchError::Sink(ref problem) if problem.kind() == io::ErrorKind::BrokenPipe => {
            Failure::OutputClosed
        }
        // The sink is standard output or a file. The error names it.
        _ => Failure::running(error.to_string()),
    }
}
