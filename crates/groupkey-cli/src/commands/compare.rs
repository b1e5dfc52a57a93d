//! `groupkey compare`: what changed between two results files.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::bench::BenchHeader;
use groupkey_lab::bench::compare::{Comparable, Comparison, Key, Match};
use groupkey_lab::results::{self, FileHeader, Header, ResultsError};
use serde_json::json;

use crate::commands::reproduce::folder::results_path;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table, figure};

/// Arguments of `groupkey compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Counts, sizes and bytes are compared exactly. Means of times are compared with Welch's t test, its
p-values corrected by Holm's method for the number of rows; the effect is Hedges' g, the difference
in standard deviations of one repetition (0.2 is small, 0.8 large). A time counts as changed if the
corrected p-value is below 0.05 and the means differ by at least --threshold.

In studies of a network, messages, bytes and retransmissions are means over runs. Where the seed or
the number of runs differs, they count as changed if Welch's test says so of the runs.

Examples:
  groupkey compare before after
  groupkey compare before.jsonl after.jsonl --fail-on-change --threshold 10
  groupkey compare before.jsonl after.jsonl --json | jq .overlapping_intervals")]
pub(crate) struct CompareArguments {
    /// The earlier results, of a benchmark or of a network study: a .jsonl file, or the folder that
    /// --out named.
    #[arg(value_name = "A", value_parser = results_path())]
    before: PathBuf,

    /// The later results, of the same kind.
    #[arg(value_name = "B", value_parser = results_path())]
    after: PathBuf,

    /// Print everything, unchanged rows too, as one JSON object.
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

    /// End with exit code 1 if a count, size or time changed, or a row of A is missing in B.
    #[arg(long)]
    fail_on_change: bool,
}

/// Prints what changed.
pub(crate) fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let [before, after] = [&arguments.before, &arguments.after].map(|path| kind(path));
    let (before, after) = (before?, after?);
    if before.format != after.format {
        let told = |path: &Path, kind: &Kind| format!("{} has {}", path.display(), kind.what);
        let (a, b) = (told(&arguments.before, &before), told(&arguments.after, &after));
        return Err(
            Failure::input(format!("{a}, but {b}")).with_help("compare two files of the same kind")
        );
    }
    match before.format {
        BenchHeader::FORMAT => compare::<BenchHeader>(arguments, out),
        _ => compare::<Header>(arguments, out),
    }
}

/// A kind of results.
struct Kind {
    format: &'static str,
    what: &'static str,
}

fn kind(path: &Path) -> Result<Kind, Failure> {
    match &*results::format_of(path).map_err(unreadable)? {
        BenchHeader::FORMAT => Ok(Kind { format: BenchHeader::FORMAT, what: "a benchmark" }),
        Header::FORMAT => Ok(Kind { format: Header::FORMAT, what: "a study of a network" }),
        other => Err(Failure::input(format!(
            "{}:1: format is {other:?}, neither {:?} nor {:?}",
            path.display(),
            BenchHeader::FORMAT,
            Header::FORMAT
        ))),
    }
}

fn unreadable(error: ResultsError) -> Failure {
    Failure::input(error.to_string())
        .with_help("give the .jsonl files that groupkey wrote, or their folders")
}

fn compare<H: FileHeader>(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure>
where
    H::Row: Comparable,
{
    let (_, before) = results::read_jsonl::<H>(&arguments.before).map_err(unreadable)?;
    let (_, after) = results::read_jsonl::<H>(&arguments.after).map_err(unreadable)?;
    let comparison = Comparison::of(&before, &after).map_err(|ambiguous| {
        let path = if ambiguous.file == 1 { &arguments.before } else { &arguments.after };
        let key = ambiguous.key;
        Failure::input(format!("{} has two rows that measure the same: {key}", path.display()))
    })?;
    let changes = Changes::of(&comparison, arguments.threshold);
    if arguments.json {
        let object = json!({
            "key": H::Row::KEY,
            "time": H::Row::TIME,
            "threshold_percent": arguments.threshold,
            "changed_counts": changes.certain.len(),
            "changed_times": changes.times.len(),
            "overlapping_intervals": comparison.overlapping(),
            "matched": comparison.matched,
            "missing": comparison.missing,
            "new": comparison.new,
        });
        writeln!(out, "{object:#}")?;
    } else {
        print(&comparison, &changes, H::Row::KEY, H::Row::TIME, arguments.threshold, out)?;
    }
    if arguments.fail_on_change && changes.are_there(&comparison) {
        return Err(Failure::running(format!("{} changed", arguments.after.display())));
    }
    Ok(())
}

/// The rows that changed.
struct Changes<'a> {
    /// In what is certain.
    certain: Vec<&'a Match>,
    /// In time.
    times: Vec<&'a Match>,
}

impl<'a> Changes<'a> {
    fn of(comparison: &'a Comparison, threshold: f64) -> Self {
        let matched = &comparison.matched;
        Self {
            certain: matched.iter().filter(|row| !row.changes.is_empty()).collect(),
            times: matched.iter().filter(|row| row.time.is_significant(threshold)).collect(),
        }
    }

    fn are_there(&self, comparison: &Comparison) -> bool {
        !self.certain.is_empty() || !self.times.is_empty() || !comparison.missing.is_empty()
    }
}

fn print(
    comparison: &Comparison,
    changes: &Changes<'_>,
    names: &[&'static str],
    time: &str,
    threshold: f64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Comparison { matched, missing, new } = comparison;
    writeln!(
        out,
        "{} rows are in both files, {} in A only, {} in B only.",
        matched.len(),
        missing.len(),
        new.len()
    )?;
    let keys = matched.iter().map(|row| &row.key).chain(missing).chain(new);
    let label = Label::of(names, keys);
    if !label.common.is_empty() {
        writeln!(out, "{}", Paragraph { indent: 0, text: &format!("All: {}.", label.common) })?;
    }
    let Some(overlapping) = comparison.overlapping() else {
        return only(out, &label, missing, new);
    };
    writeln!(
        out,
        "Counts, sizes and bytes: {} of {} rows changed.\n\
         Times: {} of {} rows changed (Welch's t, Holm's correction, p < {}, at least {threshold} %).\n\
         The 95 % confidence intervals of the means overlap in {:.1} % of the rows.",
        changes.certain.len(),
        matched.len(),
        changes.times.len(),
        matched.len(),
        Comparison::LEVEL,
        100.0 * overlapping
    )?;

    if !changes.certain.is_empty() {
        let what = [Column::text("what"), Column::number("A"), Column::number("B")];
        let mut table = Table::new(label.columns().chain(what));
        for row in &changes.certain {
            for change in &row.changes {
                let cells = [&change.column, &change.before, &change.after].map(String::clone);
                table.row(label.cells(&row.key).chain(cells));
            }
        }
        write!(out, "\n{table}")?;
    }
    if !changes.times.is_empty() {
        let what = ["A", "B", "change %", "p", "effect"].map(Column::number);
        let mut table = Table::new(label.columns().chain(what));
        for row in &changes.times {
            let time = row.time;
            let absent = || "-".to_owned();
            table.row(label.cells(&row.key).chain([
                figure(time.before),
                figure(time.after),
                time.percent.map_or_else(absent, |percent| format!("{percent:+.1}")),
                format!("{:.1e}", time.corrected_p_value),
                time.effect.map_or_else(absent, |effect| format!("{effect:+.1}")),
            ]));
        }
        write!(out, "\n{time}:\n{table}")?;
    }
    only(out, &label, missing, new)
}

/// The rows that one file lacks.
fn only(out: &mut dyn Write, label: &Label, missing: &[Key], new: &[Key]) -> Result<(), Failure> {
    for (file, keys) in [("A", missing), ("B", new)] {
        if keys.is_empty() {
            continue;
        }
        let mut table = Table::new(label.columns());
        keys.iter().for_each(|key| table.row(label.cells(key)));
        write!(out, "\nIn {file} only:\n{table}")?;
    }
    Ok(())
}

/// The parts of keys that tell rows apart, and those that all have in common.
struct Label {
    common: String,
    telling: Vec<(usize, &'static str)>,
}

impl Label {
    fn of<'a>(names: &[&'static str], keys: impl Iterator<Item = &'a Key>) -> Self {
        let mut values = vec![BTreeSet::new(); names.len()];
        for key in keys {
            for (set, value) in values.iter_mut().zip(&key.0) {
                set.insert(value);
            }
        }
        let (mut common, mut telling) = (Vec::new(), Vec::new());
        for (place, (&name, values)) in names.iter().zip(&values).enumerate() {
            match (values.len(), values.first()) {
                // What no row has needs no words.
                (1, Some(value)) if value.is_empty() => {}
                (1, Some(value)) => common.push(format!("{name} {value}")),
                _ => telling.push((place, name)),
            }
        }
        Self { common: common.join(", "), telling }
    }

    fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.telling.iter().map(|&(_, name)| Column::text(name))
    }

    fn cells(&self, key: &Key) -> impl Iterator<Item = String> {
        self.telling.iter().map(|&(place, _)| match &*key.0[place] {
            "" => "-".to_owned(),
            value => value.to_owned(),
        })
    }
}

/// A share in per cent that is not negative.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number + 0.0),
        _ => Err("expected a number of per cent, not negative".to_owned()),
    }
}
