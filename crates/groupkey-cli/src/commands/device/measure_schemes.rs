//! `groupkey device measure-schemes`: what each operation of a scheme costs a member.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use groupkey::Suite;
use groupkey::catalogue::Scheme;
use groupkey::protection::Guard;
use groupkey_choose::number::grouped;
use groupkey_lab::device::Target;
use groupkey_lab::device::flash::{MemberFlash, MemberFlashHeader};
use groupkey_lab::device::member_costs::{
    MemberCost, MemberCostError, MemberCostHeader, MemberCostPlan, measure,
};
use groupkey_lab::registry;
use groupkey_lab::results::{FileHeader, write_jsonl, write_line};

use crate::failure::Failure;
use crate::number::distinct;
use crate::output::BesideFiles;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};
use crate::{interruption, provenance, value_parsers};

/// Arguments of `groupkey device measure-schemes`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device measure-schemes --target cortex-m4 --scheme skdc,lkh-group
  groupkey device measure-schemes --target rv32imac --scheme tgdh --members 10,100 --json
  groupkey device measure-schemes --target cortex-m4 --out cortex-m4.jsonl
  groupkey device measure-schemes --target cortex-m4 --flash --scheme skdc
  groupkey device measure-schemes --target rv32imac --suite pq --protection signature --scheme skdc

A row is one operation of one member: the sum of its steps. The group runs on this machine, with
the parties that it needs; the emulator runs the member alone, which must send the same bytes and
get the same keys as the member here. fits says whether stack, heap and static variables take at
most 256 KiB. What was not measured is a row with the reason. docs/device-costs.md has more.

With --flash it builds the program of a member for each scheme, and says what it takes of flash and
of static variables. Nothing runs.")]
pub(crate) struct MeasureSchemesArguments {
    /// The processor to emulate.
    #[arg(long, value_name = "PROCESSOR", value_parser = value_parsers::target())]
    target: Target,

    /// Only these schemes [default: all of the catalogue].
    #[arg(long, value_name = "SCHEME", value_delimiter = ',', value_parser = value_parsers::scheme())]
    scheme: Vec<&'static Scheme>,

    /// Weigh the program of each scheme's member instead: flash and static variables.
    #[arg(long, conflicts_with = "members")]
    flash: bool,

    /// Sizes of the group.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = MemberCostPlan::MEMBERS,
    )]
    members: Vec<u32>,

    /// The suites of algorithms.
    #[arg(
        long,
        value_name = "SUITE",
        value_delimiter = ',',
        default_value = "standard,constrained",
        value_parser = value_parsers::suite(),
    )]
    suite: Vec<Suite>,

    /// How messages are protected.
    #[arg(
        long,
        value_name = "PROTECTION",
        value_delimiter = ',',
        default_value = "mac",
        value_parser = value_parsers::protection(),
    )]
    protection: Vec<Guard>,

    /// Seed of everything that is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The folder of the firmware.
    #[arg(long, value_name = "FOLDER", default_value = "firmware")]
    firmware: PathBuf,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    json: bool,

    /// Write the rows, with a header, into this new file (JSON Lines).
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &MeasureSchemesArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = plan(arguments);
    let out = &mut BesideFiles::new(out, arguments.out.is_some());
    super::check_new(arguments.out.as_deref())?;
    if arguments.flash {
        let machine = plan.target.compiler().map_err(super::emulation_failure)?;
        let rows = weigh(&plan, &arguments.firmware, arguments.json.then_some(&mut *out))?;
        let header = MemberFlashHeader::new(provenance::COMMIT.to_owned(), machine);
        keep(arguments.out.as_deref(), &header, &rows)?;
        return if arguments.json { Ok(()) } else { print_flash(&rows, out) };
    }
    let machine = plan.target.source().map_err(super::emulation_failure)?;
    let rows = rows(&plan, &arguments.firmware, arguments.json.then_some(&mut *out))?;
    let commit = provenance::COMMIT.to_owned();
    let header = MemberCostHeader::new(plan.target.name(), plan.seed, commit, machine);
    keep(arguments.out.as_deref(), &header, &rows)?;
    if arguments.json { Ok(()) } else { print(&rows, out) }
}

fn keep<H: FileHeader>(file: Option<&Path>, header: &H, rows: &[H::Row]) -> Result<(), Failure> {
    let Some(path) = file else { return Ok(()) };
    let mut content = Vec::new();
    write_jsonl(&mut content, header, rows)?;
    super::write_new(path, &content)
}

fn plan(arguments: &MeasureSchemesArguments) -> MemberCostPlan {
    let asked: Vec<_> = distinct_schemes(&arguments.scheme);
    let settings = distinct(&arguments.suite).into_iter().flat_map(|&suite| {
        distinct(&arguments.protection).into_iter().map(move |&guard| (suite, guard))
    });
    let mut members = arguments.members.clone();
    members.sort_unstable();
    members.dedup();
    MemberCostPlan {
        target: arguments.target,
        schemes: if asked.is_empty() { registry::schemes().collect() } else { asked },
        members,
        settings: settings.collect(),
        seed: arguments.seed,
    }
}

fn distinct_schemes(schemes: &[&'static Scheme]) -> Vec<&'static Scheme> {
    let mut distinct: Vec<&'static Scheme> = Vec::new();
    for scheme in schemes {
        if distinct.iter().all(|known| known.id != scheme.id) {
            distinct.push(scheme);
        }
    }
    distinct
}

fn rows(
    plan: &MemberCostPlan,
    firmware: &Path,
    mut json: Option<&mut dyn Write>,
) -> Result<Vec<MemberCost>, Failure> {
    let stop = interruption::requested();
    let progress = ProgressBar::counting("schemes");
    let (mut all, mut done, mut printed) = (Vec::new(), 0, Ok(()));
    progress.advance(done, plan.units());
    let measured = measure(plan, firmware, &mut |rows| {
        done += 1;
        progress.advance(done, plan.units());
        if let Some(out) = &mut json {
            printed = rows.iter().try_for_each(|row| write_line(out, row));
        }
        all.extend(rows);
        printed.is_ok() && !stop.load(Ordering::Relaxed)
    });
    drop(progress);
    printed?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted("the rows are not complete and were not kept"));
    }
    match measured {
        Ok(()) => Ok(all),
        Err(MemberCostError::Emulation(error)) => Err(super::emulation_failure(error)),
        Err(error) => Err(Failure::running(error.to_string())),
    }
}

fn weigh(
    plan: &MemberCostPlan,
    firmware: &Path,
    mut json: Option<&mut dyn Write>,
) -> Result<Vec<MemberFlash>, Failure> {
    for (suite, guard) in &plan.settings {
        let is_built = matches!(suite, Suite::Standard | Suite::Constrained | Suite::Pq);
        if !is_built || *guard == Guard::None {
            let of = format!("{}, {}", suite.name(), guard.name());
            return Err(Failure::input(format!("no program of a member is built for {of}"))
                .with_help("--suite standard, constrained or pq; --protection mac or signature"));
        }
        let unsuited = plan.schemes.iter().find_map(|scheme| {
            let reason = scheme.unsuited_to(*suite)?;
            Some(Failure::input(format!("{}: {reason}", scheme.id)))
        });
        if let Some(failure) = unsuited {
            return Err(
                failure.with_help("name schemes that have a form in the suite, by --scheme")
            );
        }
    }
    let stop = interruption::requested();
    let progress = ProgressBar::counting("programs");
    let mut rows = Vec::new();
    progress.advance(0, plan.units());
    for &(suite, guard) in &plan.settings {
        for &scheme in &plan.schemes {
            let row = MemberFlash::weigh(plan.target, scheme, suite, guard, firmware);
            let row = row.map_err(super::emulation_failure)?;
            if let Some(out) = &mut json {
                write_line(out, &row)?;
            }
            rows.push(row);
            progress.advance(rows.len(), plan.units());
            if stop.load(Ordering::Relaxed) {
                drop(progress);
                return Err(Failure::interrupted("the rows are not complete and were not kept"));
            }
        }
    }
    Ok(rows)
}

fn print_flash(rows: &[MemberFlash], out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("provenance"),
        Column::text("suite"),
        Column::text("protection"),
        Column::number("flash B"),
        Column::number("beside an empty program B"),
        Column::number("static RAM B"),
    ]);
    for row in rows {
        table.row([
            row.scheme.clone(),
            row.provenance.clone(),
            row.suite.clone(),
            row.protection.clone(),
            grouped(row.flash_bytes as f64),
            grouped(row.beside_empty_bytes as f64),
            grouped(row.static_ram_bytes as f64),
        ]);
    }
    write!(out, "{table}")?;
    writeln!(
        out,
        "\nOne member alone, built for size: its scheme, the wire format, an allocator and start-up\n\
         code. Messages to the group, the network and the heap are not in it."
    )?;
    Ok(())
}

fn print(rows: &[MemberCost], out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("suite"),
        Column::text("protection"),
        Column::number("members"),
        Column::text("operation"),
        Column::text("role"),
        Column::number("instructions"),
        Column::number("modelled"),
        Column::number("stack B"),
        Column::number("heap B"),
        Column::number("kept B"),
        Column::number("received B"),
        Column::number("sent B"),
        Column::text("fits 256 KiB"),
    ]);
    for row in rows {
        let number = |number: Option<u64>| {
            number.map_or_else(|| "-".to_owned(), |number| grouped(number as f64))
        };
        let operation = match row.phase.as_str() {
            "deployment" => format!("{}, deployment", row.operation),
            _ => row.operation.clone(),
        };
        let fits = match (row.fits, row.reason.as_str()) {
            (Some(true), _) => "yes".to_owned(),
            (Some(false), reason) => format!("no: {reason}"),
            (None, reason) => format!("not measured: {reason}"),
        };
        table.row([
            row.scheme.clone(),
            row.suite.clone(),
            row.protection.clone(),
            row.members.to_string(),
            operation,
            row.role.clone(),
            number(row.instructions),
            number(row.modelled_instructions),
            number(row.stack_bytes),
            number(row.heap_peak_bytes),
            number(row.heap_kept_bytes),
            number(row.received_bytes),
            number(row.sent_bytes),
            fits,
        ]);
    }
    write!(out, "{table}")?;
    writeln!(
        out,
        "\nInstructions are counted in an emulator; they are not cycles. modelled: the counted\n\
         primitives and messages, priced by the processor's device profile."
    )?;
    Ok(())
}
