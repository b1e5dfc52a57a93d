//! `groupkey reproduce benchmark`, `centralized`, `tgdh` and `nishat`: the measurement, its files,
//! and the output at the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use groupkey_choose::number::{duration, figure};
use groupkey_lab::bench::{
    self, BenchHeader, BenchOptions, BenchOutcome, BenchPlan, BenchRow, HostPrices, Unit,
};
use groupkey_lab::device::measure::Effort;
use groupkey_lab::report::Beside;
use groupkey_lab::verdict::Verdict;
use groupkey_reproduce::expectations::ClaimEntry;
use groupkey_reproduce::{Study, StudyExtent, StudyResult};
use serde::Serialize;

use super::printing::{from_before, print_verdicts, quoted};
use super::recorded::{OutcomeComparison, RecordedArguments};
use crate::commands::bench::failure;
use crate::commands::bench::folder::{BenchFolder, ExistingResults};
use crate::failure::Failure;
use crate::progress::ProgressBar;
use crate::results_folder::{EarlierArguments, RESULTS};
use crate::table::{Column, Table, figure_if_any};
use crate::{interruption, number, provenance};

/// Arguments of a study of computations.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Writes into the folder: results.jsonl (every row with every repetition), summary.csv (the
rows without them) and report.html (findings, values, charts, schemes; opens
from disk). Prints an estimate of the time first. Ctrl-C keeps what is done, and --resume continues.
Counts and sizes are the same in every run; times are this machine's. The exit code is 1 if an
outcome is not as recorded.")]
pub(crate) struct StudyArguments {
    /// A few sizes and repetitions, for a first look.
    #[arg(long)]
    pub(super) quick: bool,

    /// Repetitions of each operation [default: the study's, fewer with --quick].
    #[arg(long, value_name = "R", value_parser = number::whole(2..=100_000))]
    pub(super) repetitions: Option<u32>,

    /// Leave out groups of more members than this.
    #[arg(
        long,
        value_name = "N",
        default_value = "1000000",
        hide_default_value = true,
        value_parser = number::whole(2..=1_000_000),
    )]
    pub(super) most_members: u32,

    /// Seed of everything that schemes draw.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    pub(super) seed: u64,

    /// Folder for the results [default: groupkey-results and the study's name].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    #[command(flatten)]
    pub(super) earlier: EarlierArguments,

    #[command(flatten)]
    pub(super) recorded: RecordedArguments,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Serialize)]
pub(super) struct StudyReproduction {
    pub(super) study: &'static str,
    pub(super) published: Vec<Beside>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) rows: usize,
    #[serde(skip)]
    pub(super) measured: Vec<BenchRow>,
    pub(super) earlier_rows: usize,
    pub(super) seconds: f64,
    pub(super) results: PathBuf,
    pub(super) summary: PathBuf,
    pub(super) report: PathBuf,
}

/// Measures a study, and compares our values with the published ones.
pub(super) fn run(
    study: &'static Study,
    arguments: &StudyArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let expected = arguments.recorded.expected(arguments.is_of_record())?;
    let done = reproduce(study, arguments)?;
    let command = arguments.command(study);
    let claims = ClaimEntry::of_study(study.id, &done.verdicts, done.seconds, &command);
    let comparison = OutcomeComparison::of(&claims, expected.as_deref());
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&done).expect("it is plain data"))?;
    } else {
        print(&done, out)?;
        if let Some(comparison) = &comparison {
            comparison.print(out)?;
        }
    }
    comparison.map_or(Ok(()), |comparison| comparison.check())
}

pub(super) fn reproduce(
    study: &'static Study,
    arguments: &StudyArguments,
) -> Result<StudyReproduction, Failure> {
    let started = Instant::now();
    let path = arguments.folder(study);
    let folder = BenchFolder::create(&path)?;
    let plans = arguments.plans(study);
    let units = bench::units(&plans);
    let mut header = BenchHeader::new(
        arguments.seed,
        provenance::COMMIT.to_owned(),
        provenance::machine(),
        study.id.to_owned(),
    );
    header.plans = BenchPlan::digest(&plans);
    header.assumptions = study.assumptions.iter().map(|&words| words.to_owned()).collect();
    let (mut rows, done, mut prices) =
        match folder.earlier(&header, arguments.earlier.choice(), &units)? {
            Some(ExistingResults { header: found, rows, units_done }) => {
                let prices = HostPrices::resume(Effort::QUICK, &found.prices);
                header = found;
                (rows, units_done, prices)
            }
            None => (Vec::new(), 0, HostPrices::new(Effort::QUICK)),
        };
    let earlier_rows = rows.len();
    measure(study, arguments, (&units, done), &folder, &mut header, &mut prices, &mut rows)?;

    // Primitives that first occurred at a large size have their prices by now.
    header.prices = prices.by_name();
    header.rows = Some(rows.len());
    let examination = study.examine(&rows);
    let page = study.report(&header, &rows, &examination, arguments.command(study));
    let report = folder.finish(&header, &rows, &page)?;
    let StudyResult { published, verdicts } = examination;
    Ok(StudyReproduction {
        study: study.id,
        published,
        verdicts,
        rows: rows.len(),
        measured: rows,
        earlier_rows,
        seconds: started.elapsed().as_secs_f64(),
        results: path.join(RESULTS),
        summary: path.join("summary.csv"),
        report,
    })
}

/// Measures the units. The first `done_before` of them are done.
fn measure(
    study: &Study,
    arguments: &StudyArguments,
    (units, done_before): (&[Unit<'_>], usize),
    folder: &BenchFolder,
    header: &mut BenchHeader,
    prices: &mut HostPrices,
    rows: &mut Vec<BenchRow>,
) -> Result<(), Failure> {
    let rest = &units[done_before..];
    let stop = interruption::requested();
    let pilots = pilots(rest);
    let expected = bench::pilot(&bench::units(&pilots), prices, stop).map_err(failure)?;
    if expected > PATIENCE {
        let (sizes, expected) = (rest.len(), duration(expected.as_secs_f64()));
        // If standard error is closed, the remark is dropped.
        let _ = writeln!(
            io::stderr(),
            "{}, sizes to measure: {sizes}, about {expected}; Ctrl-C keeps what is done, --resume continues",
            study.id
        );
    }
    header.prices = prices.by_name();
    let mut growing = folder.begin(header, rows)?;
    let bar = ProgressBar::new();
    let options = BenchOptions {
        stop,
        on_progress: &|done, total| bar.advance(done as usize, total as usize),
        // The findings say what was not run.
        on_refusal: &|_, _, _| (),
    };
    let outcome = bench::run(rest, prices, &options, &mut |new| {
        new.iter().try_for_each(|row| growing.add(row))?;
        rows.extend_from_slice(new);
        Ok(())
    });
    drop(bar);
    match outcome.map_err(failure)? {
        BenchOutcome::Finished => Ok(()),
        BenchOutcome::Interrupted { done, .. } => Err(Failure::interrupted(format!(
            "{} of {} sizes are done and kept in {}",
            done_before + done,
            units.len(),
            arguments.folder(study).join(RESULTS).display()
        ))
        .with_help(format!("continue with: {} --resume", arguments.command(study)))),
    }
}

/// Returns the same work with sizes that show how its time grows. Small groups take as long as one
/// call, so they say nothing about thousands of members. The sizes that are left out and put in for
/// that take next to no time.
fn pilots(rest: &[Unit<'_>]) -> Vec<BenchPlan> {
    let of_plan = rest.chunk_by(|a, b| std::ptr::eq(a.plan, b.plan));
    of_plan
        .map(|units| {
            let mut members: Vec<u32> = units.iter().map(|unit| unit.members).collect();
            if members.iter().any(|&size| size > FEW[1]) && units[0].plan.scheme.members.1 > LARGE {
                members.retain(|&size| size > FEW[1]);
                members.splice(0..0, FEW);
            }
            BenchPlan { members, ..units[0].plan.clone() }
        })
        .collect()
}

impl StudyArguments {
    pub(super) fn folder(&self, study: &Study) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("groupkey-results").join(study.id))
    }

    fn is_of_record(&self) -> bool {
        self.quick && self.repetitions.is_none() && self.most_members == 1_000_000 && self.seed == 1
    }

    fn plans(&self, study: &Study) -> Vec<BenchPlan> {
        let extent = if self.quick { StudyExtent::Quick } else { StudyExtent::Full };
        study.plans(extent, self.repetitions, self.most_members, self.seed)
    }

    fn command(&self, study: &Study) -> String {
        let mut command = format!("groupkey reproduce {} --seed {}", study.id, self.seed);
        if self.quick {
            command += " --quick";
        }
        if let Some(repetitions) = self.repetitions {
            command += &format!(" --repetitions {repetitions}");
        }
        if self.most_members < 1_000_000 {
            command += &format!(" --most-members {}", self.most_members);
        }
        if let Some(out) = &self.out {
            command += &format!(" --out {}", quoted(&out.display().to_string()));
        }
        command
    }
}

/// Sizes from which the time of large groups is estimated.
const FEW: [u32; 2] = [100, 400];

/// A scheme that takes more members than this is tried with [`FEW`] of them.
const LARGE: u32 = 1_000;

/// Work that takes longer than this is announced.
const PATIENCE: Duration = Duration::from_secs(10);

fn print(done: &StudyReproduction, out: &mut dyn Write) -> io::Result<()> {
    if !done.published.is_empty() {
        let mut table = Table::new([
            Column::text("published value"),
            Column::number("published"),
            Column::number("measured here"),
            Column::number("modelled"),
            Column::text("unit"),
        ]);
        for value in &done.published {
            table.row([
                value.what.clone(),
                figure(value.published),
                figure_if_any(value.measured),
                figure_if_any(value.modelled),
                value.unit.to_owned(),
            ]);
        }
        writeln!(out, "{table}")?;
    }
    print_verdicts(&done.verdicts, out)?;
    writeln!(
        out,
        "{} rows{} in {:.1} s\nreport:  {}\nresults: {}\nsummary: {}",
        done.rows,
        from_before(done.earlier_rows, done.rows),
        done.seconds,
        done.report.display(),
        done.results.display(),
        done.summary.display(),
    )
}
