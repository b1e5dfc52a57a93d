//! `groupkey trace --replay`: a trace run through schemes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use groupkey::Suite;
use groupkey::catalogue::Scheme;
use groupkey::protection::Guard;
use groupkey_choose::number::figure_however_small;
use groupkey_lab::bench::Deviation;
use groupkey_lab::bench::trace::{ReplayError, ReplayRow, Trace, check, replay};
use groupkey_lab::device::DeviceProfile;
use groupkey_lab::report::{Report, render};
use groupkey_lab::results::RunHeader;
use groupkey_testkit::rig::Settings;

use crate::commands::scheme_arguments::{FormArguments, SUITE_OF_PROFILE, defaulting};
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::progress::ProgressBar;
use crate::results_folder::{OutArguments, ResultsFiles, ResultsFolder, run_name};
use crate::table::{Column, Table};
use crate::{interruption, provenance, value_parsers};

/// The trace and the schemes to run, and their settings.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Replay",
    mut_arg("profile", |profile| profile.requires("path")),
    mut_arg("suite", |suite| defaulting(suite, SUITE_OF_PROFILE).requires("path")),
    mut_arg("protection", |protection| protection.default_value("mac").requires("path")),
    mut_arg("out", |out| out.requires("path")),
)]
pub(crate) struct ReplayArguments {
    /// Run this trace through schemes instead of making one.
    #[arg(id = "path", long = "replay", value_name = "FILE")]
    pub(super) path: Option<PathBuf>,

    /// The schemes.
    #[arg(
        long,
        value_name = "ID,...",
        value_delimiter = ',',
        default_value = "skdc,lkh-group,tgdh",
        requires = "path",
        value_parser = value_parsers::scheme(),
    )]
    scheme: Vec<&'static Scheme>,

    #[command(flatten)]
    form: FormArguments,

    /// Also report time and energy on this device, built in or from a file (modelled).
    #[arg(long, value_name = "NAME|FILE", requires = "path", value_parser = value_parsers::device())]
    device: Option<DeviceProfile>,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long, requires = "path")]
    json: bool,

    #[command(flatten)]
    keeping: OutArguments,
}

/// Runs the trace in a file through the schemes, one after the other, and prints the costs.
pub(super) fn run(
    path: &Path,
    arguments: &ReplayArguments,
    seed: u64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let ReplayArguments { scheme, form, device, json, keeping, .. } = arguments;
    let suite = form.suite();
    let trace = Trace::load(path).map_err(|error| {
        Failure::input(error.to_string())
            .with_help("docs/workloads.md describes the file; groupkey trace makes one")
    })?;
    if let Some(device) = device.as_ref().filter(|device| device.costs(suite).is_none()) {
        let known: Vec<&str> = device.suites().map(Suite::name).collect();
        let problem = format!("{} has no figures for the suite {}", device.name, suite.name());
        return Err(Failure::input(problem)
            .with_help(format!("it has some for --suite {}", known.join(", "))));
    }
    // A network without latency: nothing is timed, and messages arrive in the order of sending.
    let settings = Settings {
        profile: form.profile,
        suite,
        protection: form.protection_or(|| Guard::Mac),
        seed,
        latency: 0,
        ..Settings::default()
    };
    let schemes = value_parsers::each_once(scheme);
    // Checked before the first scheme runs: an error loses the results of a long run.
    schemes.iter().try_for_each(|scheme| check(scheme, &settings, &trace)).map_err(refused)?;
    let folder = keeping.folder()?;
    let out = &mut BesideFiles::new(out, folder.is_some());
    let stop = interruption::requested();
    let progress = ProgressBar::counting("events");
    let (events, mut rows) = (trace.events().len(), Vec::new());
    let mut interrupted = None;
    for (place, scheme) in schemes.iter().enumerate() {
        let replay = replay(scheme, &settings, &trace, &mut |done| {
            progress.advance(place * events + done, schemes.len() * events);
            !stop.load(Ordering::Relaxed)
        });
        match replay {
            Ok(replay) => rows.extend(replay.rows(device.as_ref())),
            Err(ReplayError::Stopped) => {
                let done = format!("{place} of {} schemes are done and printed", schemes.len());
                interrupted = Some(Failure::interrupted(done));
                break;
            }
            Err(error @ ReplayError::Run { .. }) => {
                return Err(Failure::running(format!("{}: {error}", scheme.id)));
            }
            Err(error) => return Err(refused(error)),
        }
    }
    drop(progress);
    if *json {
        for row in &rows {
            let line = serde_json::to_string(row).expect("a row has text keys only");
            writeln!(out, "{line}")?;
        }
    } else if !rows.is_empty() {
        writeln!(out, "{}.\n", circumstances(&settings))?;
        print(&rows, device.as_ref(), out)?;
    }
    if let (Some(folder), None) = (folder, &interrupted) {
        let files = keep(&folder, &run_name(path), &settings, &rows)?;
        if !*json {
            write!(out, "\n{files}")?;
        }
    }
    interrupted.map_or(Ok(()), Err)
}

fn circumstances(settings: &Settings) -> String {
    let Settings { profile, suite, protection, seed, .. } = settings;
    let (profile, suite, protection) = (profile.name(), suite.name(), protection.name());
    format!("{profile} profile, {suite} suite, protection {protection}, seed {seed}")
}

fn keep(
    folder: &ResultsFolder,
    name: &str,
    settings: &Settings,
    rows: &[ReplayRow],
) -> Result<ResultsFiles, Failure> {
    let assumptions = vec![
        format!("{}.", circumstances(settings)),
        "The network is fast and loses nothing; nothing is timed.".to_owned(),
    ];
    let (commit, machine) = (provenance::COMMIT, provenance::machine());
    let header = RunHeader::new(name, settings.seed, commit, machine, assumptions);
    let mut report = Report::default();
    report.add_trace(&header, rows.to_vec());
    folder.finish(&header, rows, &render(&report))
}

fn refused(error: ReplayError) -> Failure {
    Failure::input(error.to_string()).with_help("leave the scheme out")
}

fn print(
    rows: &[ReplayRow],
    device: Option<&DeviceProfile>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut columns = vec![
        Column::text("scheme"),
        Column::text("provenance"),
        Column::text("role"),
        Column::number("parties"),
        Column::number("unicast"),
        Column::number("multicast"),
        Column::number("broadcast"),
        Column::number("payload B"),
        Column::number("wire B"),
    ];
    if device.is_some() {
        columns.extend([
            Column::number("all s"),
            Column::number("busiest s"),
            Column::number("busiest J"),
        ]);
    }
    let mut table = Table::new(columns);
    let or_none = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure_however_small);
    for row in rows {
        let mut cells = vec![
            row.scheme.clone(),
            row.provenance.clone(),
            row.role.clone(),
            row.parties.to_string(),
            row.unicast.messages.to_string(),
            row.multicast.messages.to_string(),
            row.broadcast.messages.to_string(),
            row.payload_bytes.to_string(),
            row.wire_bytes.to_string(),
        ];
        if device.is_some() {
            let joule = row.busiest_joule.map(|Deviation { value, error }| {
                format!("{} ± {}", figure_however_small(value), figure_however_small(error))
            });
            cells.extend([
                or_none(row.device_seconds),
                or_none(row.busiest_seconds),
                joule.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        table.row(cells);
    }
    write!(out, "{table}")?;
    if let Some(device) = device {
        writeln!(
            out,
            "\nSeconds and joules are modelled: counted primitives, priced by the profile {}. all: of all \
             parties in\nthe role together; busiest: of the one that computes longest, idling included.",
            device.label()
        )?;
    }
    if let Some(row) = rows.first() {
        writeln!(
            out,
            "\nOne creation; joins: {}, leaves: {}. Messages are operational ones that the role sent.",
            row.joins, row.leaves
        )?;
    }
    Ok(())
}
