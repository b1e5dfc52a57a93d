//! `groupkey device energy`: joules of marked operations in a power meter's log.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey_lab::bench::Deviation;
use groupkey_lab::bench::energy::{
    Format, Mark, Marked, PowerLog, PowerMeter, Supplement, idle_power, marked,
};
use serde_json::{Value, json};

use crate::choice;
use crate::failure::Failure;
use crate::table::{Column, Table};

/// Arguments of `groupkey device energy`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device energy --log ppk2.csv --volts 3.0
  groupkey device energy --log wt310.csv --markers run.csv --offset -0.25
  groupkey device energy --log ina219.csv --json

A file of markers has the heading time_s,label. A label runs until the next line; idle ends it.
docs/energy.md has the formats and the errors.")]
pub(crate) struct EnergyArguments {
    /// The meter's log: a CSV file. Its heading says which meter wrote it.
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

    /// Read the log as this format, whatever its heading looks like; decides the meter's error.
    #[arg(long, value_parser = choice::power_log_format())]
    format: Option<Format>,

    /// Supply voltage (V), for a log of currents alone.
    #[arg(long, value_name = "V", value_parser = positive)]
    volts: Option<f64>,

    /// Time between readings (s), for a log that only numbers them.
    #[arg(long, value_name = "S", value_parser = positive)]
    interval: Option<f64>,

    /// The digital channel that is high while an operation runs.
    #[arg(
        long,
        value_name = "0-7",
        default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..8)
    )]
    channel: u8,

    /// Idle power (W) [default: the mean outside of the marks].
    #[arg(long, value_name = "W", value_parser = positive)]
    idle: Option<f64>,

    /// Error of a reading, in per cent of it [default: the meter's].
    #[arg(long, value_name = "%", value_parser = not_negative)]
    error_percent: Option<f64>,

    /// Error of a reading due to the range (W) [default: the meter's].
    #[arg(long, value_name = "W", value_parser = not_negative)]
    error_watt: Option<f64>,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// Reads the log and prints what its marked operations took.
pub(crate) fn run(arguments: &EnergyArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let EnergyArguments { format, volts, interval, channel, .. } = *arguments;
    let supplement = Supplement { format, volts, interval, channel };
    let read = PowerLog::load(&arguments.log, &supplement)
        .map_err(|error| Failure::input(error.to_string()).with_help(PAGE))?;
    let marks = match &arguments.markers {
        None => read.marks.clone(),
        Some(path) => {
            let marks = Mark::load(path)
                .map_err(|error| Failure::input(error.to_string()).with_help(PAGE))?;
            marks.into_iter().map(|mark| mark.later_by(arguments.offset)).collect()
        }
    };
    let meter = meter(arguments, read.format);
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

const PAGE: &str = "docs/energy.md describes the files";

fn meter(arguments: &EnergyArguments, format: Format) -> PowerMeter {
    let PowerMeter { of_reading, of_range_watt, is_common } = format.meter();
    PowerMeter {
        is_common,
        of_reading: arguments.error_percent.map_or(of_reading, |percent| percent / 100.0),
        of_range_watt: arguments.error_watt.unwrap_or(of_range_watt),
    }
}

fn print(
    read: &PowerLog,
    meter: PowerMeter,
    idle: Option<Deviation>,
    found: &[Marked],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let power = read.log.mean_power(meter);
    writeln!(
        out,
        "log:     {}, {} readings in {:.3} s, mean {} W",
        read.format.name(),
        read.log.readings().len(),
        read.log.duration(),
        with_error(Some(power)),
    )?;
    writeln!(out, "idle:    {} W", with_error(idle))?;
    writeln!(
        out,
        "reading: ± {} % ± {} W, {}; method: meter\n",
        meter.of_reading * 100.0,
        meter.of_range_watt,
        if meter.is_common { "the same for all" } else { "independent" },
    )?;
    if found.is_empty() {
        writeln!(
            out,
            "Nothing is marked: give a file of markers with --markers, or another --channel."
        )?;
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

fn object(read: &PowerLog, meter: PowerMeter, idle: Option<Deviation>, found: &[Marked]) -> Value {
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
        "format": read.format.name(),
        "readings": read.log.readings().len(),
        "seconds": read.log.duration(),
        "mean_watt": figure(Some(read.log.mean_power(meter))),
        "idle_watt": figure(idle),
        "reading_error": {
            "of_reading": meter.of_reading,
            "of_range_watt": meter.of_range_watt,
            "common": meter.is_common,
        },
        "operations": operations.collect::<Vec<_>>(),
    })
}

/// Formats a figure with its error to two digits of the error.
fn with_error(figure: Option<Deviation>) -> String {
    let Some(Deviation { value, error }) = figure else { return "-".to_owned() };
    format!("{} ± {}", significant(value), significant(error))
}

/// Formats a number with four significant digits, in powers of ten if it is small.
pub(super) fn significant(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = usize::try_from(3 - size.log10().floor() as i32).unwrap_or(0);
    format!("{value:.digits$}")
}

fn finite(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    finite(text)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "expected a number above 0".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|number| *number >= 0.0).ok_or_else(|| "expected 0 or more".to_owned())
}
