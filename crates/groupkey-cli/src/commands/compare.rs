//! `groupkey compare`: what changed between two results files.

mod tables;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::audit::Finding;
use groupkey_lab::bench::BenchHeader;
use groupkey_lab::bench::compare::{Comparable, Comparison, Match};
use groupkey_lab::bench::trace::ReplayRow;
use groupkey_lab::choose::ChoiceRow;
use groupkey_lab::results::{
    self, FileHeader, ResultsError, ResultsHeader, ResultsKind, RunHeader,
};
use serde_json::json;

use crate::failure::Failure;
use crate::output::remark;
use crate::results_folder::results_path;

/// Arguments of `groupkey compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Counts, sizes and bytes are compared exactly. Means of times are compared with Welch's t test, its
p-values corrected by Holm's method for the number of rows; the effect is Hedges' g, the difference
in standard deviations of one repetition (0.2 is small, 0.8 large). A time counts as changed if the
corrected p-value is below 0.05 and the means differ by at least --threshold. What a single
repetition took cannot be tested; what is modelled is compared where both files have one device.

Audits, choices and replayed traces have no times that vary: all that differs is printed.
In studies of a network, messages, bytes, energy and retransmissions are means over runs. Where
the seed or the number of runs differs, they count as changed if Welch's test says so of the runs.

Examples:
  groupkey compare before after
  groupkey compare before.jsonl after.jsonl --fail-on-change --threshold 10
  groupkey compare before.jsonl after.jsonl --json | jq .overlapping_intervals")]
pub(crate) struct CompareArguments {
    /// The earlier results, of any command with --out: the folder that --out named, its
    /// results.jsonl, or a file of rows that --json printed.
    #[arg(value_name = "A", value_parser = results_path())]
    before: PathBuf,

    /// The later results, of the same kind.
    #[arg(value_name = "B", value_parser = results_path())]
    after: PathBuf,

    /// Print everything, including unchanged rows, as one JSON object.
    #[arg(long)]
    json: bool,

    /// By how much a mean time must differ to count as changed (%).
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "5",
        value_parser = percent,
        allow_negative_numbers = true,
    )]
    threshold: f64,

    /// End with exit code 1 if a count, size or time changed, or a row of A is missing in B. End
    /// with 2 if no row is in both, or no time can be tested.
    #[arg(long)]
    fail_on_change: bool,
}

/// Prints what changed.
pub(crate) fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let [before, after] =
        [&arguments.before, &arguments.after].map(|path| ResultsKind::of(path).map_err(unreadable));
    let (before, after) = (before?, after?);
    if before != after {
        let told =
            |path: &Path, kind: ResultsKind| format!("{} has {}", path.display(), kind.what());
        let (a, b) = (told(&arguments.before, before), told(&arguments.after, after));
        return Err(
            Failure::input(format!("{a}, but {b}")).with_help("compare two files of the same kind")
        );
    }
    match before {
        ResultsKind::Audit => compare::<RunHeader<Finding>>(arguments, out),
        ResultsKind::Benchmark => compare::<BenchHeader>(arguments, out),
        ResultsKind::Choice => compare::<RunHeader<ChoiceRow>>(arguments, out),
        ResultsKind::Network => compare::<ResultsHeader>(arguments, out),
        ResultsKind::Trace => compare::<RunHeader<ReplayRow>>(arguments, out),
    }
}

fn unreadable(error: ResultsError) -> Failure {
    Failure::input(error.to_string())
        .with_help("give folders that --out named, or files of rows that --json printed")
}

fn compare<H: FileHeader>(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure>
where
    H::Row: Comparable,
{
    let read = |path: &Path| {
        let (header, rows) = results::read_jsonl::<H>(path).map_err(unreadable)?;
        if let Some(lacking) = header.lacking(rows.len()) {
            remark(&format!("note: {} is {lacking}", path.display()));
        }
        Ok::<_, Failure>((header, rows))
    };
    let (first, before) = read(&arguments.before)?;
    let (second, after) = read(&arguments.after)?;
    if before.is_empty() && after.is_empty() {
        return Err(Failure::input("there is nothing to show: no file has a row"));
    }
    let origins = [first.origin(), second.origin()];
    if origins[0].machine != origins[1].machine {
        remark("warning: the files are of two machines; times tell of these, not of the program");
    }
    let comparison = Comparison::of(&before, &after).map_err(|ambiguous| {
        let path = if ambiguous.file == 1 { &arguments.before } else { &arguments.after };
        let key = ambiguous.key;
        Failure::input(format!("{} has two rows that measure the same: {key}", path.display()))
    })?;
    let changes = Changes::of(&comparison, arguments.threshold);
    if arguments.json {
        let object = json!({
            "before": origins[0],
            "after": origins[1],
            "key": H::Row::KEY,
            "time": H::Row::TIME,
            "threshold_percent": arguments.threshold,
            "changed_counts": changes.certain.len(),
            "changed_times": changes.times.len(),
            "untested_times": comparison.matched.len() - comparison.tested(),
            "overlapping_intervals": comparison.overlapping(),
            "other_devices": comparison.other_devices,
            "matched": comparison.matched,
            "missing": comparison.missing,
            "new": comparison.new,
        });
        writeln!(out, "{object:#}")?;
    } else {
        tables::print_origins(&origins, out)?;
        tables::print::<H::Row>(&comparison, &changes, arguments.threshold, out)?;
    }
    match arguments.fail_on_change {
        true => changes.verdict(&comparison, H::Row::TIME.is_some(), &arguments.after),
        false => Ok(()),
    }
}

/// Parses a share in per cent that is not negative.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number + 0.0),
        _ => Err("expected a number of per cent, not negative".to_owned()),
    }
}

/// The rows that changed.
pub(super) struct Changes<'a> {
    /// Rows with a change in counts, sizes or bytes.
    pub(super) certain: Vec<&'a Match>,
    /// Rows with a change in time.
    pub(super) times: Vec<&'a Match>,
}

impl<'a> Changes<'a> {
    pub(super) fn of(comparison: &'a Comparison, threshold: f64) -> Self {
        let matched = &comparison.matched;
        Self {
            certain: matched.iter().filter(|row| !row.changes.is_empty()).collect(),
            times: matched.iter().filter(|row| row.time.is_significant(threshold)).collect(),
        }
    }

    /// Fails if a row changed in `after`, and if the files could not have shown a change.
    pub(super) fn verdict(
        &self,
        comparison: &Comparison,
        has_times: bool,
        after: &Path,
    ) -> Result<(), Failure> {
        if comparison.matched.is_empty() {
            return Err(Failure::input("no row is in both files: nothing was compared")
                .with_help("compare two runs of the same command"));
        }
        if !self.certain.is_empty() || !self.times.is_empty() || !comparison.missing.is_empty() {
            return Err(Failure::running(format!("{} changed", after.display())));
        }
        if has_times && comparison.tested() == 0 {
            return Err(Failure::input("no time can be tested: rows have a single repetition")
                .with_help("measure again with --repetitions 10 or more, a network with --runs"));
        }
        Ok(())
    }
}
