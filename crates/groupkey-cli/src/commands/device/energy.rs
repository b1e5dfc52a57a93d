//! `groupkey device energy`: joules of marked operations in a power meter's log.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey_choose::number::significant;
use groupkey_lab::bench::Deviation;
use groupkey_lab::bench::energy::{MarkedOperations, PowerLog, PowerMeter};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::table::{Column, Table};

/// Arguments of `groupkey device energy`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device energy --log power.csv
  groupkey device energy --log power.csv --error-percent 2 --error-watt 0.0033 --json

The log has the heading seconds,watts,marker. The marker is the operation that runs, or empty.
docs/devices.md has the errors.")]
pub(crate) struct EnergyArguments {
    /// The meter's log, a CSV file: seconds,watts,marker.
    #[arg(long, value_name = "FILE")]
    log: PathBuf,

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
    let read = PowerLog::load(&arguments.log).map_err(|error| {
        Failure::input(error.to_string()).with_help("docs/devices.md describes the file")
    })?;
    let meter = meter(arguments);
    let idle = match arguments.idle {
        Some(value) => Some(Deviation { value, error: 0.0 }),
        None => read.idle_power(meter),
    };
    let found = read.marked(meter, idle);
    if arguments.json {
        writeln!(out, "{:#}", object(&read, meter, idle, &found))?;
        return Ok(());
    }
    print(&read, meter, idle, &found, out)
}

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
        writeln!(out, "Nothing is marked: name what runs in the column marker.")?;
        return Ok(());
    }
    let mut table = Table::new([
        Column::text("operation"),
        Column::number("measured"),
        Column::number("s"),
        Column::number("gross J"),
        Column::number("net J"),
        Column::number("± spread J"),
    ]);
    for one in found {
        table.row([
            one.label.clone(),
            one.count.to_string(),
            with_error(Some(one.seconds)),
            with_error(Some(one.gross)),
            with_error(one.net),
            one.spread.map_or_else(|| "-".to_owned(), significant),
        ]);
    }
    write!(out, "{table}")?;
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
            "measured": one.count,
            "seconds": figure(Some(one.seconds)),
            "gross_joule": figure(Some(one.gross)),
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
