//! `groupkey compare`: which figures of two results moved beyond their intervals.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::audit::Finding;
use groupkey_lab::bench::BenchHeader;
use groupkey_lab::bench::trace::ReplayRow;
use groupkey_lab::choose::ChoiceRow;
use groupkey_lab::results::{
    self, FileHeader, FileRow, ResultsError, ResultsHeader, ResultsKind, RunHeader,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::remark;
use crate::results_folder::results_path;
use crate::table::{Column, Table};

/// Arguments of `groupkey compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
A figure with an interval moved if the intervals of A and B do not overlap and it differs by at
least --threshold. By chance that happens to about 6 of 1,000 mean times (95 % confidence). Counts,
sizes, bytes and words moved if they differ. Means over runs without an interval (messages and bytes
in networks) are compared if both rows have the same seed and number of runs. Spreads and quantiles
are not compared. A mean of a single repetition has no interval and cannot be tested.

Examples:
  groupkey compare before after --fail-on-change --threshold 10
  groupkey compare before after --json | jq .moved")]
pub(crate) struct CompareArguments {
    /// The earlier results: the folder that --out named, or a file of rows that --json printed.
    #[arg(value_name = "A", value_parser = results_path())]
    before: PathBuf,

    /// The later results, of the same kind.
    #[arg(value_name = "B", value_parser = results_path())]
    after: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// By how much a figure with an interval must differ to count as moved (%).
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    threshold: f64,

    /// End with exit code 1 if a figure moved, or a row of A is missing in B. End with 2 if no row
    /// is in both, or no mean has an interval.
    #[arg(long)]
    fail_on_change: bool,
}

/// Columns before the first figure of a row that are figures all the same.
const NO_KEY: [&str; 7] =
    ["seed", "place", "standing", "class", "provenance", "claimed", "inherent"];
/// Columns that differ from run to run, and have no interval.
const VARYING: &str = "seed runs repetitions sd_ns p50_ns p90_ns p99_ns counted_ns sd_ms p50_ms \
    p90_ms p99_ms transmission_ms computation_ms member_mean_ms measured_over_counted history \
    derivation ci95_ns ci95_ms";
/// Columns of means over runs that have no interval.
const DRAWN: &str =
    "messages payload_bytes wire_bytes retransmissions member_joule behind catch_ups";
/// How the column of a figure becomes that of half its interval.
const HALF: [(&str, &str); 2] = [("mean_", "ci95_"), ("_value", "_error")];

/// The columns of a row, as in the CSV.
type Row = BTreeMap<String, String>;
/// Where rows come from, the columns that say what a row is about, and rows by these.
type Results = (Value, Vec<String>, BTreeMap<Vec<String>, Row>);

/// Prints what moved.
pub(crate) fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let CompareArguments { before, after, threshold, .. } = arguments;
    type Reader = fn(&Path, &str) -> Result<Results, Failure>;
    // What a row is about is before its first figure.
    let (first_figure, read): (&str, Reader) = match ResultsKind::of(before).map_err(refused)? {
        ResultsKind::Audit => ("found", read::<RunHeader<Finding>>),
        ResultsKind::Benchmark => ("repetitions", read::<BenchHeader>),
        ResultsKind::Choice => ("cost", read::<RunHeader<ChoiceRow>>),
        ResultsKind::Network => ("runs", read::<ResultsHeader>),
        ResultsKind::Trace => ("parties", read::<RunHeader<ReplayRow>>),
    };
    let ((a, key, a_rows), (b, _, b_rows)) =
        (read(before, first_figure)?, read(after, first_figure)?);
    if a["machine"] != b["machine"] {
        remark("warning: the files are of two machines; times tell of these, not of the program");
    }
    let missing: Vec<_> = a_rows.keys().filter(|name| !b_rows.contains_key(*name)).collect();
    let new: Vec<_> = b_rows.keys().filter(|name| !a_rows.contains_key(*name)).collect();
    let (mut moved, mut tested, mut untested) = (Vec::new(), 0, 0);
    for (name, row) in &b_rows {
        let Some(old) = a_rows.get(name) else { continue };
        let is_alike = |column: &str| old.get(column) == row.get(column);
        let is_drawn_alike = is_alike("seed") && is_alike("runs") || !row.contains_key("runs");
        for figure in
            row.keys().filter(|&name| !key.contains(name) && is_compared(name, is_drawn_alike))
        {
            let has_moved = match (interval(old, figure), interval(row, figure)) {
                (Some(a), Some(b)) if (a[2] - a[0] + b[2] - b[0]).is_finite() => {
                    tested += 1;
                    let is_small = 100.0 * (b[1] - a[1]).abs() < threshold * a[1].abs();
                    (a[2] < b[0] || b[2] < a[0]) && !is_small
                }
                (Some(_), Some(_)) => {
                    untested += 1;
                    false
                }
                _ => !is_alike(figure),
            };
            moved.extend(has_moved.then(|| (name, [&**figure, &old[figure], &row[figure]])));
        }
    }
    let matched = b_rows.len() - new.len();
    if arguments.json {
        let moved = moved.iter().map(|(name, [figure, before, after])| {
            json!({ "row": name, "figure": figure, "before": before, "after": after })
        });
        let object = json!({
            "before": a, "after": b, "key": key, "threshold_percent": threshold,
            "matched": matched, "untested": untested,
            "moved": moved.collect::<Vec<_>>(), "missing": missing, "new": new,
        });
        writeln!(out, "{object:#}")?;
    } else {
        let (gone, come, count) = (missing.len(), new.len(), moved.len());
        writeln!(out, "{matched} rows are in both files, {gone} in A only, {come} in B only.")?;
        writeln!(out, "Figures that moved beyond their intervals: {count}.")?;
        if untested > 0 {
            writeln!(out, "Means of a single repetition, which cannot be tested: {untested}.")?;
        }
        // What is the same in all rows tells none of them.
        let names: Vec<_> = a_rows.keys().chain(b_rows.keys()).collect();
        let is_telling = |&i: &usize| names.iter().any(|name| name[i] != names[0][i]);
        let telling: Vec<usize> = (0..key.len()).filter(is_telling).collect();
        let mut table = Table::new(["row", "figure", "A", "B"].map(Column::text));
        let gone = missing.iter().map(|name| (*name, ["", "the row", "-"]));
        let come = new.iter().map(|name| (*name, ["", "-", "the row"]));
        for (name, told) in moved.iter().copied().chain(gone).chain(come) {
            let name = telling.iter().map(|&i| format!("{} {}", key[i], name[i]));
            let name = name.collect::<Vec<_>>().join(", ");
            table.row([&*name].into_iter().chain(told).map(str::to_owned));
        }
        if count + missing.len() + new.len() > 0 {
            write!(out, "\n{table}")?;
        }
    }
    match arguments.fail_on_change {
        true if matched == 0 => Err(Failure::input("no row is in both files")),
        true if !moved.is_empty() || !missing.is_empty() => {
            Err(Failure::running(format!("{} changed", after.display())))
        }
        true if tested == 0 && untested > 0 => {
            Err(Failure::input("no mean can be tested: rows have a single repetition")
                .with_help("measure again with --repetitions 10 or more, a network with --runs"))
        }
        _ => Ok(()),
    }
}

/// Reads rows, no two of which are about the same.
fn read<H: FileHeader>(path: &Path, first_figure: &str) -> Result<Results, Failure> {
    let (header, rows) = results::read_jsonl::<H>(path).map_err(refused)?;
    if let Some(lacking) = header.lacking(rows.len()) {
        remark(&format!("note: {} is {lacking}", path.display()));
    }
    let columns = H::Row::columns();
    let key = columns.iter().map(|column| column.name().to_owned());
    let key = key.take_while(|column| column != first_figure);
    let key: Vec<_> = key.filter(|column| !NO_KEY.contains(&&**column)).collect();
    let mut found = BTreeMap::new();
    for row in &rows {
        let row: Row = columns.iter().map(|c| (c.name().to_owned(), c.plain(row))).collect();
        let name: Vec<String> = key.iter().map(|column| row[column].clone()).collect();
        let problem = format!("{} has two rows of {}", path.display(), name.join(" "));
        if found.insert(name, row).is_some() {
            return Err(Failure::input(problem));
        }
    }
    Ok((json!(header.origin()), key, found))
}

fn is_compared(column: &str, is_drawn_alike: bool) -> bool {
    let is_among = |columns: &str| columns.split(' ').any(|one| one == column);
    let is_bound = ["_low", "_high", "_error"].iter().any(|end| column.ends_with(end));
    !is_bound && !is_among(VARYING) && (is_drawn_alike || !is_among(DRAWN))
}

/// Returns the lower bound of a figure, itself, and the upper bound. `None` if no row of its kind
/// has bounds for it.
fn interval(row: &Row, figure: &str) -> Option<[f64; 3]> {
    let number = |column: &str| row.get(column)?.parse::<f64>().ok();
    let value = number(figure)?;
    let halves = HALF.map(|(from, to)| figure.replacen(from, to, 1));
    match halves.iter().find(|half| *half != figure && row.contains_key(*half)) {
        Some(half) => {
            let half = number(half).unwrap_or(f64::INFINITY);
            Some([value - half, value, value + half])
        }
        None => {
            let [low, high] = ["_low", "_high"].map(|end| number(&format!("{figure}{end}")));
            Some([low?, value, high?])
        }
    }
}

fn refused(error: ResultsError) -> Failure {
    Failure::input(error.to_string())
}
