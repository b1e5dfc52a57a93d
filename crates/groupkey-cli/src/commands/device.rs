//! `groupkey device`: profiles of devices, what schemes cost on them, and a device as a member.

mod energy;
mod measure_schemes;
#[cfg(feature = "live")]
mod run;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::{Args, Subcommand};
use groupkey::Suite;
use groupkey_choose::input::InputError;
use groupkey_lab::bench::Deviation;
use groupkey_lab::device::measure::Effort;
use groupkey_lab::device::{DeviceProfile, EmulationError, PowerFigure, Radio, Target};
use serde_json::{Value, json};

use self::measure_schemes::MeasureSchemesArguments;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::table::{Column, Table, WIDER};
use crate::{interruption, provenance, value_parsers, whole_file};

/// Arguments of `groupkey device`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device list
  groupkey device show esp32-pbc
  groupkey device show nrf52840 > my-board.toml
  groupkey device show lte-m > my-radio.toml
  groupkey device measure --out my-host.toml
  groupkey device measure --target cortex-m4 --out my-cortex-m4.toml
  groupkey device measure --printed esp32-c3.txt --out esp32-c3.toml
  groupkey device energy --log power.csv
  groupkey device run --target cortex-m4 --name truck-7 --psk truck-7.psk --service-key KEY
  groupkey device show my-host.toml")]
pub(crate) struct DeviceArguments {
    #[command(subcommand)]
    action: DeviceCommand,
}

#[derive(Debug, Subcommand)]
enum DeviceCommand {
    /// Read a power meter's log: the joules of each marked operation.
    Energy(energy::EnergyArguments),
    /// List the built-in devices and radios: suites, power, and where the figures come from.
    List {
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Measure the primitives on this machine and print a profile of it.
    ///
    /// Takes a few minutes on one core, while nothing else should run; with --quick some seconds.
    /// Only times are measured: the cost of packets is assumed, and power needs a meter.
    ///
    /// With --target it counts instructions instead. It builds the repository's firmware for a
    /// microcontroller and runs it in QEMU, which also takes a few minutes.
    ///
    /// With --printed it measures nothing: it reads the cycles that a board printed (docs/boards.md).
    Measure {
        /// The profile's name [default: this-machine, or the target's or the board's].
        #[arg(long, value_name = "NAME")]
        name: Option<String>,

        /// Measure less, for a first look.
        #[arg(long, conflicts_with = "target")]
        quick: bool,

        /// Count the instructions of this processor in an emulator.
        #[arg(long, value_name = "PROCESSOR", value_parser = value_parsers::target())]
        target: Option<Target>,

        /// The folder of the firmware.
        #[arg(long, value_name = "FOLDER", default_value = "firmware", requires = "target")]
        firmware: PathBuf,

        /// Read the cycles of a board from this file: what its program `cycles` printed.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "quick"])]
        printed: Option<PathBuf>,

        /// Write the profile into this new file.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Count what each operation of a scheme costs a member: instructions, stack and heap.
    ///
    /// It builds the repository's firmware for a microcontroller and runs it in QEMU. A scheme takes
    /// some seconds; all of them take some minutes.
    MeasureSchemes(MeasureSchemesArguments),
    /// Run a member of a live group on an emulated microcontroller.
    ///
    /// Builds the repository's firmware and starts it in QEMU. The device joins the group that
    /// `groupkey serve` serves, with the member that hosts run. Its identity stays in its flash.
    /// Each line of standard input goes to the group, as with `groupkey member`.
    #[cfg(feature = "live")]
    Run(Box<run::DeviceRunArguments>),
    /// Print a device or a radio as TOML, every figure with its source.
    ///
    /// Saved and changed, it is one of your own: --device my-board.toml, --radio my-radio.toml.
    Show {
        /// A built-in device or radio, or a device's file: a path that ends in .toml or has a slash.
        #[arg(value_name = "NAME|FILE", value_parser = value_parsers::device_text())]
        text: String,
    },
}

pub(crate) fn run(arguments: &DeviceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.action {
        DeviceCommand::Energy(arguments) => energy::run(arguments, out),
        DeviceCommand::List { json } => list(*json, out),
        DeviceCommand::Measure { name, quick, target, firmware, printed, out: file } => {
            let name = name.as_deref();
            write_profile(file.as_deref(), out, || match (target, printed) {
                (None, None) => measure(name.unwrap_or("this-machine"), *quick),
                (Some(target), _) => count(*target, firmware, name),
                (None, Some(printed)) => read_board(printed, name),
            })
        }
        DeviceCommand::MeasureSchemes(arguments) => measure_schemes::run(arguments, out),
        #[cfg(feature = "live")]
        DeviceCommand::Run(arguments) => run::run(arguments, out),
        DeviceCommand::Show { text } => {
            write!(out, "{text}")?;
            Ok(())
        }
    }
}

fn list(json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let devices: Vec<DeviceProfile> =
        DeviceProfile::names().filter_map(DeviceProfile::named).collect();
    if json {
        let objects: Value = devices.iter().map(object).collect();
        writeln!(out, "{objects:#}")?;
        return Ok(());
    }
    let mut table = Table::new([
        Column::text("device"),
        Column::number("idle W").may_go(1),
        Column::number("active W").may_go(1),
        Column::number("measured"),
        Column::number("published"),
        Column::number("calibrated"),
        Column::number("counted"),
        Column::number("assumed"),
        Column::text("suites").may_go(3),
        Column::text("description").may_go(2),
    ]);
    for device in &devices {
        let power = |choose: fn(&groupkey_lab::device::DevicePower) -> &PowerFigure| {
            let Some(power) = &device.power else { return "-".to_owned() };
            let PowerFigure { watt, error_watt, .. } = choose(power);
            format!("{watt} ± {error_watt}")
        };
        let sources = device.sources();
        let count = |word| sources.get(word).copied().unwrap_or(0).to_string();
        let suites: Vec<&str> = device.suites().map(Suite::name).collect();
        table.row([
            device.name.clone(),
            power(|power| &power.idle),
            power(|power| &power.active),
            count("measured"),
            count("published"),
            count("calibrated"),
            count("counted"),
            count("assumed"),
            suites.join(" "),
            device.description.clone(),
        ]);
    }
    table.print_fitting(WIDER, out)?;
    let text = "measured, published, calibrated, counted, assumed: how many of the device's figures are \
                so. Counted are instructions, in an emulator: an assumed clock makes times of them.";
    writeln!(out, "\n{}", Paragraph { indent: 0, text })?;
    writeln!(out)?;
    radios().print_fitting(WIDER, out)?;
    let text = "A device is for --device, a radio for --radio, and both for groupkey choose. Each \
                figure with its source: groupkey device show esp32-pbc, groupkey device show lte-m";
    writeln!(out, "\n{}", Paragraph { indent: 0, text })?;
    Ok(())
}

/// Returns the built-in radios, with what a message of 1,000 bytes and a wake-up take.
fn radios() -> Table {
    let mut table = Table::new([
        Column::text("radio"),
        Column::number("wake, tail J"),
        Column::number("1 kB sent J"),
        Column::number("1 kB received J"),
        Column::text("link"),
    ]);
    for radio in Radio::names().filter_map(Radio::named) {
        let joule = |energy: Deviation| format!("{:.1e} ± {:.0e}", energy.value, energy.error);
        let waking = radio.waking();
        table.row([
            radio.name.clone(),
            if waking.value > 0.0 { joule(waking) } else { "-".to_owned() },
            joule(radio.sending(1.0, 1_000.0)),
            joule(radio.receiving(1.0, 1_000.0)),
            radio.link.clone(),
        ]);
    }
    table
}

fn write_profile(
    file: Option<&Path>,
    out: &mut dyn Write,
    make: impl FnOnce() -> Result<DeviceProfile, Failure>,
) -> Result<(), Failure> {
    check_new(file)?;
    let device = make()?;
    let text = device.to_toml();
    match file {
        None => write!(out, "{text}")?,
        Some(path) => {
            write_new(path, text.as_bytes())?;
            let (path, name) = (path.display(), device.name);
            writeln!(out, "{path}: {name}. Look at it: groupkey device show {path}")?;
        }
    }
    Ok(())
}

/// Checks a file to write before the work: a place that cannot be written to should not cost minutes.
fn check_new(file: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = file else { return Ok(()) };
    whole_file::try_new(path).map_err(|error| not_written(path, &error))
}

fn write_new(path: &Path, content: &[u8]) -> Result<(), Failure> {
    whole_file::write_new(path, content).map_err(|error| not_written(path, &error))
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!("cannot write {}: {error}", path.display()))
        .with_help("give a file that does not exist yet, in a folder that does")
}

fn measure(name: &str, quick: bool) -> Result<DeviceProfile, Failure> {
    let effort = if quick { Effort::QUICK } else { Effort::THOROUGH };
    let stop = interruption::requested();
    let progress = ProgressBar::counting("figures");
    DeviceProfile::measured(name, &provenance::machine(), effort, &mut |done, total| {
        progress.advance(done, total);
        !stop.load(Ordering::Relaxed)
    })
    .ok_or_else(incomplete)
}

fn count(target: Target, firmware: &Path, name: Option<&str>) -> Result<DeviceProfile, Failure> {
    // Ctrl-C stops the emulator as well, so there is nothing to ask in between.
    let stop = interruption::requested();
    let progress = ProgressBar::counting("figures");
    let counted = DeviceProfile::emulated(target, firmware, &mut |done, total| {
        progress.advance(done, total);
    });
    drop(progress);
    if stop.load(Ordering::Relaxed) {
        return Err(incomplete());
    }
    match counted {
        Ok(mut device) => {
            device.name = name.map_or(device.name, str::to_owned);
            Ok(device)
        }
        Err(error) => Err(emulation_failure(error)),
    }
}

fn read_board(printed: &Path, name: Option<&str>) -> Result<DeviceProfile, Failure> {
    let at = printed.display();
    let text = InputError::read_long(printed).map_err(|error| Failure::input(error.to_string()))?;
    let mut device = DeviceProfile::printed_by_board(&text)
        .map_err(|error| Failure::input(format!("{at}: {error}")).with_help(error.help()))?;
    device.name = name.map_or(device.name, str::to_owned);
    Ok(device)
}

fn emulation_failure(error: EmulationError) -> Failure {
    let failure = match error {
        EmulationError::NoFirmware(_) => Failure::input(error.to_string()),
        _ => Failure::running(error.to_string()),
    };
    error.help().into_iter().fold(failure, Failure::with_help)
}

fn incomplete() -> Failure {
    Failure::interrupted("the profile is not complete and was dropped")
}

fn object(device: &DeviceProfile) -> Value {
    let figure = |figure: &PowerFigure| {
        let PowerFigure { watt, error_watt, source } = figure;
        json!({ "watt": watt, "error_watt": error_watt, "source": source })
    };
    json!({
        "name": device.name,
        "description": device.description,
        "suites": device.suites().map(Suite::name).collect::<Vec<_>>(),
        "power": device.power.as_ref().map(|power| {
            json!({ "idle": figure(&power.idle), "active": figure(&power.active) })
        }),
        "sources": device.sources(),
    })
}
