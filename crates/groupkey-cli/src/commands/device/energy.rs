//! `groupkey device energy`: joules of marked operations in a power meter's log.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey_choose::number::significant;
use groupkey_lab::bench::Deviation;
use groupkey_lab::bench::energy::{
    MarkedOperations, OperationMark, PowerLog, PowerMeter, idle_power, marked,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::table::{Column, Table};

/// Arguments of `groupkey device energy`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device energy --log power.csv
  groupkey device energy --log wt310.csv --markers run.csv --offset -0.25
  groupkey device energy --log power.csv --error-percent 2 --error-watt 0.0033 --json

A file of markers has the heading time_s,label. A label runs until the next line; idle ends it.
docs/devices.md has the formats and the errors.")]
pub(crate) struct EnergyArguments {
    /// The meter's log, a CSV file: time_s,watt,marker, or as a Yokogawa WT310 has it.
    #[arg(long, value_name = "FILE")]
    log: PathBuf,

    /// When which operation ran: time_s,label [default: what the log itself marks].
    #[arg(long, value_name = "FILE")]
    markers: Option<PathBuf>,

    /// Seconds that the log's clock is ahead of the markers'.
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        requires = "markers",
        value_parser = finite
    )]
    offset: f64,

    /// Time between readings (s), for a log that only numbers them.
    #[arg(long, value_name = "S", value_parser = positive)]
    interval: Option<f64>,

    /// Idle power (W) [default: the mean outside of the marks].
    #[arg(long, value_name = "W", value_parser = positive)]
    idle: Option<f64>,

    /// Error of a reading, in per cent of it [default: the WT310's 0.1].
    #[arg(long, value_name = "%", value_parser = not_negative)]
    error_percent: Option<f64>,

    /// Error of a reading due to the range (W) [default: the WT310's 0.0006].
    #[arg(long, value_name = "W", value_parser = not_negative)]
    error_watt: Option<f64>,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// Reads the log and prints what its marked operations took.
pub(crate) fn run(arguments: &EnergyArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let read = PowerLog::load(&arguments.log, arguments.interval)
        .map_err(|error| Failure::input(error.to_string()).with_help(PAGE))?;
    let marks = match &arguments.markers {
        None => read.marks.clone(),
        Some(path) => {
            let marks = OperationMark::load(path)
                .map_err(|error| Failure::input(error.to_string()).with_help(PAGE))?;
            marks.into_iter().map(|mark| mark.later_by(arguments.offset)).collect()
        }
    };
    let meter = meter(arguments);
    let idle = match arguments.idle {
        Some(value) => Some(Deviation { value, error: 0.0 }),
        None => idle_power(&read.log, &marks, meter),
    };
    let found = marked(&read.log, &marks, meter, idle);
    if arguments.json {
        writeln!(out, "{:#}", object(&read, meter, idle, &found))?;
        return Ok(());
    }
    print(&read, meter, idle, &found, out)
}

const PAGE: &str = "docs/devices.md describes the files";

fn meter(arguments: &EnergyArguments) -> PowerMeter {
    let PowerMeter { of_reading, of_range_watt } = PowerMeter::WT310;
    PowerMeter {
        of_reading: arguments.error_percent.map_or(of_reading, |percent| percent / 100.0),
        of_range_watt: arguments.error_watt.unwrap_or(of_range_watt),
    }
}

fn print(
    read: &PowerLog,
    meter: PowerMeter,
    idle: Option<Deviation>,
    found: &[MarkedOperations],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let power = read.log.mean_power(meter);
    writeln!(
        out,
        "log:     {} readings in {:.3} s, mean {} W",
        read.log.readings().len(),
        read.log.duration(),
        with_error(Some(power)),
    )?;
    writeln!(out, "idle:    {} W", with_error(idle))?;
    writeln!(
        out,
        "reading: ± {} % ± {} W, independent; method: meter\n",
        meter.of_reading * 100.0,
        meter.of_range_watt,
    )?;
    if found.is_empty() {
        writeln!(out, "Nothing is marked: give a file of markers with --markers.")?;
        return Ok(());
    }
    let mut table = Table::new([
        Column::text("operation"),
        Column::number("measured"),
        Column::number("not"),
        Column::number("s"),
        Column::number("gross J"),
        Column::number("net J"),
        Column::number("± spread J"),
    ]);
    for one in found {
        table.row([
            one.label.clone(),
            one.measured.to_string(),
            one.unresolved.to_string(),
            with_error(one.seconds),
            with_error(one.gross),
            with_error(one.net),
            one.spread.map_or_else(|| "-".to_owned(), significant),
        ]);
    }
    write!(out, "{table}")?;
    if found.iter().any(|one| one.unresolved > 0) {
        writeln!(
            out,
            "\nnot: fewer than two readings lie within the operation, or the log does not reach its \
             ends."
        )?;
    }
    Ok(())
}

fn object(
    read: &PowerLog,
    meter: PowerMeter,
    idle: Option<Deviation>,
    found: &[MarkedOperations],
) -> Value {
    let figure = |figure: Option<Deviation>| {
        figure.map(|Deviation { value, error }| json!({ "value": value, "error": error }))
    };
    let operations = found.iter().map(|one| {
        json!({
            "operation": one.label,
            "measured": one.measured,
            "unresolved": one.unresolved,
            "seconds": figure(one.seconds),
            "gross_joule": figure(one.gross),
            "net_joule": figure(one.net),
            "spread_joule": one.spread,
        })
    });
    json!({
        "method": "meter",
        "readings": read.log.readings().len(),
        "seconds": read.log.duration(),
        "mean_watt": figure(Some(read.log.mean_power(meter))),
        "idle_watt": figure(idle),
        "reading_error": {
            "of_reading": meter.of_reading,
            "of_range_watt": meter.of_range_watt,
        },
        "operations": operations.collect::<Vec<_>>(),
    })
}

/// Formats a figure with its error to two digits of the error.
fn with_error(figure: Option<Deviation>) -> String {
    let Some(Deviation { value, error }) = figure else { return "-".to_owned() };
    format!("{} ± {}", significant(value), significant(error))
}

fn finite(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    finite(text)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "expected a number above 0".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|number| *number >= 0.0).ok_or_else(|| "expected 0 or more".to_owned())
}
