//! `groupkey device battery`: how many changes of the key a battery lasts for, with every scheme.

use std::io::Write;

use clap::Args;
use clap::builder::TypedValueParser;
use groupkey_lab::capacity::{Battery, Change, Circumstances, Drain, Life, Obstacle, lives};
use groupkey_lab::device::Board;
use groupkey_lab::statistics::Deviation;
use serde_json::{Value, json};

use super::energy::{positive, significant};
use crate::choice;
use crate::failure::Failure;
use crate::number::{self, quality_of_service};
use crate::table::{Column, Table};

/// Arguments of `groupkey device battery`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device battery
  groupkey device battery --device esp32 --battery cr123a --members 550 --suite standard
  groupkey device battery --device my-board.toml --changes-per-day 24 --idle --json

A change is the mean of a join and a leave, for the member that does most. Its energy is a model:
counted primitives at the board's clock and power, and packets at its radio's. docs/energy.md")]
pub(crate) struct BatteryArguments {
    /// A built-in board, or a file: a path that ends in .toml or contains a slash.
    #[arg(
        long = "device",
        value_name = "NAME|FILE",
        default_value = "nrf52840",
        value_parser = choice::board().map(Box::new)
    )]
    board: Box<Board>,

    /// cr123a, cr2032, 2xaa, 18650, or a number of joules.
    #[arg(long, value_name = "NAME|J", default_value = "cr123a", allow_negative_numbers = true)]
    battery: Battery,

    /// Members of the group.
    #[arg(long, default_value_t = 100, value_parser = number::whole(2..=1 << 24))]
    members: u32,

    /// Changes of the key a day.
    #[arg(long, value_name = "NUMBER", default_value_t = 24.0, value_parser = positive)]
    changes_per_day: f64,

    /// Count the board's idle power, too.
    #[arg(long)]
    idle: bool,

    /// Algorithms.
    #[arg(long, default_value = "standard", value_parser = choice::counted_suite())]
    suite: &'static str,

    /// Protection of messages.
    #[arg(long, default_value = "signature", value_parser = choice::counted_guard())]
    protection: &'static str,

    /// Quality of service of MQTT.
    #[arg(long, value_name = "0|1|2", default_value_t = 1, value_parser = quality_of_service)]
    qos: u8,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints how long the battery lasts.
pub(crate) fn run(arguments: &BatteryArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let BatteryArguments { board, battery, members, .. } = arguments;
    let at = Circumstances {
        members: *members,
        suite: arguments.suite.to_owned(),
        guard: arguments.protection.to_owned(),
        qos: arguments.qos,
    };
    let drain = Drain { changes_per_day: arguments.changes_per_day, with_idle: arguments.idle };
    let lives = lives(board, battery, drain, &at);
    if arguments.json {
        let object = object(arguments, &lives);
        writeln!(out, "{object:#}")?;
        return Ok(());
    }
    writeln!(out, "board:   {}, {}", board.name, board.description)?;
    writeln!(out, "counts:  {}; method: model", told_counts(board))?;
    writeln!(out, "battery: {} J ({}); {}", battery.joule, battery.name, battery.source)?;
    writeln!(
        out,
        "group:   {members} members, {}, {}, QoS {}; {} changes a day{}\n",
        at.suite,
        at.guard,
        at.qos,
        drain.changes_per_day,
        if drain.with_idle { ", and idling" } else { "; idling is not counted" },
    )?;
    write!(out, "{}", table(&lives))?;
    writeln!(out)?;
    for life in &lives {
        match &life.change {
            Err(obstacle) => writeln!(out, "{}: {}", life.scheme.id, told_obstacle(obstacle))?,
            Ok(change) if change.operations.len() < 2 => {
                writeln!(
                    out,
                    "{}: a change is one {}",
                    life.scheme.id,
                    change.operations.join("")
                )?;
            }
            Ok(_) => {}
        }
    }
    if lives.iter().flat_map(|life| &life.change).any(|change| change.is_extrapolated) {
        writeln!(out, "*: extrapolated from smaller groups")?;
    }
    Ok(())
}

fn table(lives: &[Life]) -> Table {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::number("instructions").may_go(3),
        Column::number("computing J").may_go(2),
        Column::number("sending J").may_go(1),
        Column::number("receiving J").may_go(1),
        Column::number("change J"),
        Column::number("changes"),
        Column::number("days"),
    ]);
    for life in lives {
        let Ok(change) = &life.change else { continue };
        table.row([
            told_scheme(change),
            whole(change.instructions),
            significant(change.computation.value),
            significant(change.sending.value),
            significant(change.receiving.value),
            with_error(change.joule()),
            life.changes.map_or_else(|| "-".to_owned(), with_error_of_count),
            life.days.map_or_else(|| "-".to_owned(), whole),
        ]);
    }
    table
}

/// Says how closely the counts stand for a board's core.
pub(super) fn told_counts(board: &Board) -> String {
    let counts = &board.counts;
    format!("{} for {}, {}", counts.device, board.core, counts.bearing.meaning())
}

/// Says why there is nothing to say of a scheme.
pub(super) fn told_obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Size { members: (least, u32::MAX) } => format!("has {least} members or more"),
        Obstacle::Size { members: (least, most) } => format!("has {least} to {most} members"),
        Obstacle::NotCounted => "not counted with this suite, protection and size".to_owned(),
    }
}

fn told_scheme(change: &Change) -> String {
    let parameters = &change.variant.parameters;
    let told: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if change.is_extrapolated { " *" } else { "" };
    format!("{} {}", change.variant.scheme, told.join(" ")).trim_end().to_owned() + mark
}

fn with_error(figure: Deviation) -> String {
    format!("{} ± {}", significant(figure.value), short(figure.error))
}

fn with_error_of_count(figure: Deviation) -> String {
    format!("{} ± {}", whole(figure.value), whole(figure.error))
}

/// Formats an error with two significant digits.
fn short(error: f64) -> String {
    format!("{error:.1e}")
}

/// Formats a count: whole if it is large, with three digits if it is small.
fn whole(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { significant(value) }
}

fn object(arguments: &BatteryArguments, lives: &[Life]) -> Value {
    let figure = |Deviation { value, error }: Deviation| json!({ "value": value, "error": error });
    let BatteryArguments { board, battery, .. } = arguments;
    let schemes = lives.iter().map(|life| match &life.change {
        Err(obstacle) => json!({ "scheme": life.scheme.id, "reason": told_obstacle(obstacle) }),
        Ok(change) => json!({
            "scheme": life.scheme.id,
            "provenance": life.scheme.provenance.name(),
            "parameters": change.variant.parameters,
            "operations": change.operations,
            "instructions": change.instructions,
            "computation_joule": figure(change.computation),
            "sending_joule": figure(change.sending),
            "receiving_joule": figure(change.receiving),
            "change_joule": figure(change.joule()),
            "changes": life.changes.map(figure),
            "days": life.days,
            "extrapolated": change.is_extrapolated,
        }),
    });
    json!({
        "method": "model",
        "device": board.name,
        "counts": { "device": board.counts.device, "bearing": board.counts.bearing.name() },
        "battery": { "name": battery.name, "joule": battery.joule, "source": battery.source },
        "members": arguments.members,
        "suite": arguments.suite,
        "protection": arguments.protection,
        "qos": arguments.qos,
        "changes_per_day": arguments.changes_per_day,
        "with_idle": arguments.idle,
        "schemes": schemes.collect::<Vec<_>>(),
    })
}
