//! `groupkey reproduce peers`: schemes that do the same job side by side, and one page about them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey::catalogue::Scheme;
use groupkey_lab::bench::BenchOptions;
use groupkey_lab::part::WorkPart;
use groupkey_lab::peers::{
    self, LIBRARIES, LeadCount, PeerExtent, PeerField, PeerLead, PeerOptions, PeerOutcome,
    PeerPlan, contenders, leads, past_effects, sentence, tallies,
};
use groupkey_lab::registry;
use groupkey_lab::report::{PeerPage, render_peers};
use groupkey_lab::results::{self, RunHeader};
use serde_json::json;

use super::printing::quoted;
use crate::campaign::all_cores;
use crate::commands::bench::failure;
use crate::failure::Failure;
use crate::output::remark;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::results_folder::{Earlier, ResultsFiles, ResultsFolder};
use crate::table::{Column, Table};
use crate::{interruption, number, provenance, value_parsers};

/// Arguments of `groupkey reproduce peers`.
#[derive(Args, Debug)]
#[command(after_help = "\
Compared are all schemes whose members join and leave under one key, which who left, or was not
there yet, does not get. Groups are new; populated (each member changed the key once), where members
take turns; and departed (as many left as the group has), where that is felt. Networks: lan (1 ms),
lossy (10 % loss and 100 ms, the worst of S000), nb-iot (60 kbit/s and 800 ms).

Who is ahead has at most 5 % more than the best. Computing is counted primitives at the prices of a
Cortex-M4, for controller and members alike: modelled. The sentences follow from the rows by rules.
Sizes end where a scheme does, or where its groups would take hours.

Writes into the folder: results.jsonl, summary.csv, summary.parquet and report.html (opens from
disk). Without --measure the same seed gives the same bytes, on any number of threads.

Examples:
  groupkey reproduce peers --quick
  groupkey reproduce peers --scheme lkh-group,treekem,sd --most-members 1000
  cargo run --release -p groupkey-cli --features mls -- reproduce peers --quick")]
pub(crate) struct PeersArguments {
    /// Sizes up to 100, and three runs where packets are lost: minutes instead of hours.
    #[arg(long)]
    quick: bool,

    /// Schemes, by their ids [default: all that do the same job]
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = value_parsers::scheme())]
    scheme: Vec<&'static Scheme>,

    /// Leave out groups of more members than this.
    #[arg(
        long,
        value_name = "N",
        default_value = "55000",
        hide_default_value = true,
        allow_negative_numbers = true,
        value_parser = number::whole(2..=55_000),
    )]
    most_members: u32,

    /// Print the I-th of N parts of the rows (JSON Lines), and write no files.
    #[arg(long, value_name = "I/N", value_parser = value_parsers::part(), conflicts_with_all = ["out", "fresh", "measure", "from"])]
    part: Option<WorkPart>,

    /// What parts printed, in place of running it here: once for each file.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// Also measure the processor time of operations in new groups of at most 100 members, on this
    /// machine.
    #[arg(long)]
    measure: bool,

    /// Repetitions of what is measured.
    #[arg(
        long,
        value_name = "R",
        default_value = "10",
        requires = "measure",
        allow_negative_numbers = true,
        value_parser = number::whole(2..=100_000),
    )]
    repetitions: u32,

    /// Seed of the randomness.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    out: PathBuf,

    /// Replace the results that are in the folder.
    #[arg(long)]
    fresh: bool,

    /// Threads to run on; the results do not depend on their number [default: as many as
    /// there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print one JSON object instead of sentences.
    #[arg(long)]
    json: bool,
}

/// Runs the groups, writes the files, and says who is ahead.
pub(super) fn run(arguments: &PeersArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let schemes = arguments.schemes();
    let extent = if arguments.quick { PeerExtent::Quick } else { PeerExtent::Full };
    let plans = peers::plans(&schemes, extent, arguments.most_members, arguments.seed);
    if plans.is_empty() {
        return Err(Failure::input("no group of these schemes is that small")
            .with_help("give a larger --most-members, or other schemes"));
    }
    if let Some(part) = arguments.part {
        return print_part(&simulate(arguments, &plans[part.places(plans.len())])?, out);
    }
    let folder = ResultsFolder::create(&arguments.out)?;
    folder.refuse_to_replace(if arguments.fresh { Earlier::Replace } else { Earlier::Keep })?;
    let mut outcome = match arguments.from.is_empty() {
        true => simulate(arguments, &plans)?,
        false => read_parts(&arguments.from, &plans)?,
    };
    if arguments.measure {
        measure(arguments, &schemes, &mut outcome)?;
    }
    let PeerOutcome { rows, failures } = &outcome;
    for failed in failures {
        remark(&format!("note: {} did not complete: {}", failed.group, failed.problem));
    }

    let leads = leads(rows);
    let machine = provenance::machine();
    let (libraries, command) = (libraries(), arguments.command());
    let page = render_peers(&PeerPage {
        rows,
        leads: &leads,
        failures,
        libraries: &libraries,
        command: &command,
        commit: provenance::COMMIT,
        machine: arguments.measure.then_some(&*machine),
    });
    let (name, seed) = ("peers", arguments.seed);
    let header = RunHeader::new(name, seed, provenance::COMMIT, machine, peers::assumptions());
    let files = folder.finish(&header, rows, &page)?;
    if arguments.json {
        let sentences: Vec<String> = leads.iter().map(sentence).collect();
        let tallies = PeerField::ALL.map(|field| json!([field, tallies(&leads, field)]));
        let failures = failures.iter();
        let failures: Vec<_> = failures.map(|one| json!([one.group, one.problem])).collect();
        let object = json!({
            "rows": rows.len(),
            "leads": leads,
            "sentences": sentences,
            "past_effects": past_effects(rows),
            "tallies": tallies,
            "failures": failures,
            "libraries": libraries,
            "files": files,
        });
        writeln!(out, "{object}")?;
        return Ok(());
    }
    print(&outcome, &leads, &libraries, &files, out).map_err(Failure::from)
}

fn print_part(outcome: &PeerOutcome, out: &mut dyn Write) -> Result<(), Failure> {
    let PeerOutcome { rows, failures } = outcome;
    rows.iter().try_for_each(|row| results::write_line(&mut &mut *out, row))?;
    failures.iter().try_for_each(|failed| results::write_line(&mut &mut *out, failed))?;
    Ok(())
}

/// Reads what parts printed: rows, and groups that did not complete.
fn read_parts(files: &[PathBuf], plans: &[PeerPlan]) -> Result<PeerOutcome, Failure> {
    let mut outcome = PeerOutcome::default();
    for path in files {
        let refused = |problem: String| Failure::input(format!("{}: {problem}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        for (index, line) in text.lines().enumerate() {
            let read = match line.starts_with("{\"group\"") {
                true => serde_json::from_str(line).map(|failed| outcome.failures.push(failed)),
                false => serde_json::from_str(line).map(|row| outcome.rows.push(row)),
            };
            read.map_err(|error| refused(format!("line {}: {error}", index + 1)))?;
        }
    }
    outcome.in_order_of(plans).map_err(|missing| {
        Failure::input(format!("the files of --from lack {missing} of {} groups", plans.len()))
            .with_help("give all parts, and the options that they had")
    })
}

fn simulate(arguments: &PeersArguments, plans: &[PeerPlan]) -> Result<PeerOutcome, Failure> {
    let bar = ProgressBar::new();
    let options = PeerOptions {
        threads: arguments.threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    };
    let outcome = peers::run(plans, &options);
    drop(bar);
    outcome.ok_or_else(|| {
        Failure::interrupted("nothing was written")
            .with_help("--quick, --scheme or --most-members make it shorter")
    })
}

fn measure(
    arguments: &PeersArguments,
    schemes: &[&'static Scheme],
    outcome: &mut PeerOutcome,
) -> Result<(), Failure> {
    let bar = ProgressBar::counting("repetitions");
    let options = BenchOptions {
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done as usize, total as usize),
        // Its row has no time then.
        on_refusal: &|_, _, _| (),
    };
    let most = arguments.most_members.min(MOST_MEASURED);
    let whole = peers::measure(&mut outcome.rows, schemes, most, arguments.repetitions, &options);
    match whole.map_err(failure)? {
        true => Ok(()),
        false => Err(Failure::interrupted("nothing was written")),
    }
}

impl PeersArguments {
    fn schemes(&self) -> Vec<&'static Scheme> {
        match self.scheme.is_empty() {
            true => contenders().collect(),
            false => value_parsers::each_once(&self.scheme),
        }
    }

    /// Returns the command that makes the same results.
    fn command(&self) -> String {
        let mut command = format!("groupkey reproduce peers --seed {}", self.seed);
        if self.quick {
            command += " --quick";
        }
        if !self.scheme.is_empty() {
            let ids: Vec<&str> = self.schemes().iter().map(|scheme| scheme.id).collect();
            command += &format!(" --scheme {}", ids.join(","));
        }
        if self.most_members < 55_000 {
            command += &format!(" --most-members {}", self.most_members);
        }
        if self.measure {
            command += &format!(" --measure --repetitions {}", self.repetitions);
        }
        if self.out != Path::new(DEFAULT_FOLDER) {
            command += &format!(" --out {}", quoted(&self.out.display().to_string()));
        }
        command
    }
}

/// Says which libraries of MLS this build has, and how to get the others.
fn libraries() -> String {
    let (here, away): (Vec<&str>, Vec<&str>) =
        LIBRARIES.into_iter().partition(|id| registry::scheme(id).is_some());
    match away.is_empty() {
        true => format!("This build has the MLS libraries {}.", here.join(" and ")),
        false => format!(
            "This build has no MLS library. With {} beside the others: cargo run --release -p groupkey-cli \
             --features mls -- reproduce peers.",
            away.join(" and ")
        ),
    }
}

/// The folder for the results without `--out`.
const DEFAULT_FOLDER: &str = "groupkey-results/peers";

/// Larger groups (members) would be measured for hours.
const MOST_MEASURED: u32 = 100;

fn print(
    outcome: &PeerOutcome,
    leads: &[PeerLead],
    libraries: &str,
    files: &ResultsFiles,
    out: &mut dyn Write,
) -> io::Result<()> {
    for field in PeerField::ALL {
        let found = tallies(leads, field);
        if found.is_empty() {
            continue;
        }
        let mut table = Table::new([
            Column::text(field.words()),
            Column::number("ahead"),
            Column::number("of"),
        ]);
        for LeadCount { scheme, ahead, of } in found {
            table.row([scheme, ahead.to_string(), of.to_string()]);
        }
        writeln!(out, "{table}")?;
    }
    let told = leads.iter().filter(|lead| lead.field == PeerField::All && lead.past == "new");
    for text in told.map(sentence).chain(past_effects(&outcome.rows)) {
        writeln!(out, "{}\n", Paragraph { indent: 0, text: &text })?;
    }
    writeln!(out, "{}\n", Paragraph { indent: 0, text: libraries })?;
    let schemes: std::collections::BTreeSet<&str> =
        outcome.rows.iter().map(|row| &*row.scheme).collect();
    writeln!(out, "{} rows of {} schemes", outcome.rows.len(), schemes.len())?;
    write!(out, "{files}")
}
