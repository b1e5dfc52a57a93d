//! `groupkey reproduce network-impact --infer`: which test bed explains the study.

use std::io::{self, Write};

use groupkey_lab::reproduce::network_impact::inference::{
    CellPrediction, Inference, InferenceOptions, infer,
};

use super::NetworkImpactArguments;
use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;
use crate::table::{Column, Table, figure};

/// Searches the test beds and prints what was found.
pub(super) fn run(arguments: &NetworkImpactArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let bar = ProgressBar::new();
    let options = InferenceOptions {
        seed: arguments.seed,
        threads: arguments.threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|done, planned| bar.advance(done, planned),
        runs: arguments.runs,
    };
    let Some(inference) = infer(&options)? else {
        return Err(Failure::interrupted("the search was not finished".to_owned()));
    };
    drop(bar);
    if arguments.json {
        let object = serde_json::to_string(&inference).expect("it is plain data");
        writeln!(out, "{object}")?;
        return Ok(());
    }
    print(&inference, out)?;
    Ok(())
}

fn print(inference: &Inference, out: &mut dyn Write) -> io::Result<()> {
    let Inference { searched, ruled_out_by_delay, ranking, .. } = inference;
    writeln!(
        out,
        "{searched} test beds, of which delay alone rules out {ruled_out_by_delay}. The most likely:\n"
    )?;
    let mut table = Table::new([
        Column::number(""),
        Column::number("log-likelihood"),
        Column::number("share"),
        Column::number("worst"),
        Column::number("runs"),
        Column::text("test bed"),
    ]);
    for (rank, one) in (1..).zip(ranking) {
        table.row([
            format!("{rank}"),
            format!("{:.1}", one.log_likelihood),
            percent(one.share),
            percent(one.largest_error),
            one.runs.to_string(),
            one.words.clone(),
        ]);
    }
    writeln!(out, "{table}")?;
    print_predictions(inference, out)?;
    print_cells(&inference.cells, out)
}

fn print_predictions(inference: &Inference, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "The most likely test bed beside the published values, ms:\n")?;
    let mut table = Table::new([
        Column::text("value"),
        Column::number("published"),
        Column::number("predicted"),
        Column::number("95 % of means"),
        Column::number("error"),
        Column::text(""),
    ]);
    for one in &inference.predictions {
        table.row([
            one.key.clone(),
            figure(one.published_ms),
            figure(one.predicted_ms),
            format!("{:.0} to {:.0}", one.interval_ms[0], one.interval_ms[1]),
            percent(one.error),
            if one.calibrated { "by construction" } else { "" }.to_owned(),
        ]);
    }
    writeln!(out, "{table}")?;
    for one in &inference.left_out {
        writeln!(
            out,
            "Without {}: {} ms predicted, {} published, by {}.",
            one.key,
            figure(one.predicted_ms),
            figure(one.published_ms),
            one.words
        )?;
    }
    let largest = inference.largest_error.abs();
    let verdict = match largest <= WITHIN {
        true => "It predicts every value within 25 %.".to_owned(),
        false => format!(
            "It does NOT predict every value within 25 %: {} is {} off. The smallest such error of \
             any test bed in the ranking is {}, by number {}.",
            inference.resists,
            percent(largest),
            percent(inference.smallest_largest_error),
            inference.rank_of_smallest,
        ),
    };
    writeln!(out, "\n{verdict}\n")
}

fn print_cells(cells: &[CellPrediction], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Its prediction of each cell, ms (loss % / one-way delay ms):\n")?;
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("operation"),
        Column::number("members"),
        Column::number("0 / 0"),
        Column::number("5 / 0"),
        Column::number("10 / 0"),
        Column::number("0 / 100"),
        Column::number("5 / 100"),
        Column::number("10 / 100"),
    ]);
    let key = |cell: &CellPrediction| (cell.scheme, cell.members, cell.operation);
    let mut rows: Vec<(&str, u32, &str)> = Vec::new();
    for cell in cells {
        if !rows.contains(&key(cell)) {
            rows.push(key(cell));
        }
    }
    for row in rows {
        let means = cells.iter().filter(|cell| key(cell) == row).map(|cell| figure(cell.mean_ms));
        let (scheme, members, operation) = row;
        let first = [scheme.to_owned(), operation.to_owned(), members.to_string()];
        table.row(first.into_iter().chain(means));
    }
    write!(out, "{table}")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// How far a prediction may be off.
const WITHIN: f64 = 0.25;
