//! `groupkey reproduce boards`: what studies measured on microcontrollers, and this library there.

use std::io::Write;

use clap::Args;
use groupkey_choose::number::significant;
use groupkey_lab::bench::Deviation;
use groupkey_reproduce::{EXPLANATIONS, OnBoard, Ours, on_boards};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table};

/// Arguments of `groupkey reproduce boards`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey reproduce boards
  groupkey reproduce boards --json

S004: Prantl et al., MASCOTS 2020 (Nishat, ESP32). S001: Prantl et al., VTC2022-Spring (TGDH,
ESP8266). Ours is a model: counted primitives at the board's clock and power. docs/devices.md")]
pub(crate) struct BoardsArguments {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

/// Prints the studies' operations beside ours.
pub(crate) fn run(arguments: &BoardsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = on_boards();
    if arguments.json {
        let objects: Value = rows.iter().map(object).collect();
        writeln!(out, "{objects:#}")?;
        return Ok(());
    }
    let mut table = Table::new([
        Column::text("study"),
        Column::text("operation"),
        Column::text("board"),
        Column::number("published s"),
        Column::number("published J"),
        Column::number("same: Minstr"),
        Column::number("s"),
        Column::number("J"),
        Column::number("sound: Minstr"),
        Column::number("s"),
        Column::number("J"),
        Column::number("published/same"),
        Column::number("same/sound"),
    ]);
    for row in &rows {
        let ours = |Ours { instructions, seconds, joule }: Ours| {
            [millions(instructions), significant(seconds), significant(joule)]
        };
        let head = [row.study.to_owned(), row.operation.clone(), row.board.to_owned()];
        let published = [with_error(row.published), with_error(row.published_joule)];
        let ratios =
            [row.by_implementation(), row.by_algorithm()].map(|ratio| format!("{ratio:.2}"));
        let cells = head.into_iter().chain(published).chain(ours(row.same)).chain(ours(row.sound));
        table.row(cells.chain(ratios));
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "same: ours with the study's algorithms. sound: ours in the sound profile, suite standard.\n\
         published/same is what library and core explain, same/sound what the algorithms explain.\n"
    )?;
    for (of, words) in EXPLANATIONS {
        let text = format!("{of}: {words}");
        writeln!(out, "{}", Paragraph { indent: 0, text: &text })?;
    }
    Ok(())
}

fn millions(instructions: f64) -> String {
    format!("{:.1}", instructions / 1e6)
}

fn with_error(figure: Deviation) -> String {
    let Deviation { value, error } = figure;
    match error {
        0.0 => significant(value),
        error => format!("{} ± {}", significant(value), significant(error)),
    }
}

fn object(row: &OnBoard) -> Value {
    let figure = |Deviation { value, error }: Deviation| json!({ "value": value, "error": error });
    let ours = |ours: Ours| {
        let Ours { instructions, seconds, joule } = ours;
        json!({ "instructions": instructions, "seconds": seconds, "joule": joule })
    };
    json!({
        "study": row.study,
        "operation": row.operation,
        "device": row.board,
        "published_seconds": figure(row.published),
        "published_joule": figure(row.published_joule),
        "method": "model",
        "same": ours(row.same),
        "sound": ours(row.sound),
        "by_implementation": row.by_implementation(),
        "by_algorithm": row.by_algorithm(),
    })
}
