//! `groupkey audit`: the claims of schemes, beside the findings of attacks on them.

mod printing;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use groupkey::Suite;
use groupkey::catalogue::Profile;
use groupkey_lab::audit::{
    self, Audit, AuditOptions, AuditedScheme, Finding, Found, SearchDepth, recorded,
};
use groupkey_lab::report::{Report, render};
use groupkey_lab::results::RunHeader;
use groupkey_lab::{registry, results};

use crate::campaign::all_cores;
use crate::commands::scheme_arguments::SelectionArguments;
use crate::failure::Failure;
use crate::output::{BesideFiles, remark};
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::results_folder::{OutArguments, ResultsFiles, ResultsFolder, results_path};
use crate::{interruption, provenance, value_parsers};

/// Arguments of `groupkey audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey audit --quick
  groupkey audit --scheme oft
  groupkey audit --scheme lkh-group,skdc --profile sound --depth 4
  groupkey audit --class hybrid --quick --json
  groupkey audit --scheme treekem --suite pq --quick
  groupkey audit --out before
  groupkey audit --against before

Each claim is tested against a passive adversary, by everything that it can derive, and against an
active one, by scripted attacks. Each attack also has a row of its own.

The first lines say of each scheme which of its claims hold. What was found: broken, with the
shortest history and how the adversary gets to the key; holds, where nothing was found in all
that was tried, which is no proof; not-applicable, where no history of the scheme could break it;
left-out, where --quick did not take the time. docs/audit.md describes the adversary and what it
cannot find, docs/attacks.md the attacks.

The last column says why a row is not claimed: the attack needs a shared MAC (mac) or members
without an order of events (bare), or no scheme of the class can promise it (inherent).

The exit code is 1 if a claim of a sound profile is broken, against either adversary. What is broken
as published, or not claimed, is reported.")]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    selection: SelectionArguments,

    /// Forms of the schemes [default: both].
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', value_parser = value_parsers::profile())]
    profile: Vec<Profile>,

    /// Which algorithms all groups have [default: standard; of a scripted attack those of the profile,
    /// or its own].
    #[arg(long, value_name = "NAME", value_parser = value_parsers::suite())]
    suite: Option<Suite>,

    /// Try all histories of up to EVENTS events after the creation (1 to 6) [default: 3].
    /// Each further event takes about ten times as long. For schemes with pairings, the
    /// limit is 2 events.
    #[arg(
        long,
        value_name = "EVENTS",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u8).range(1..=6),
    )]
    depth: Option<u8>,

    /// A first look: fewer histories, smaller groups, and no slow attacks on schemes with pairings.
    #[arg(long)]
    quick: bool,

    /// Seed of the longer histories and of all keys.
    #[arg(long, value_name = "SEED", default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Print one JSON object for each claim and attack (JSON Lines).
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    keeping: OutArguments,

    /// Compare with the findings in this folder, which --out named, or in a file that --json
    /// printed; the exit code is 1 if they differ.
    #[arg(long, value_name = "RESULTS", value_parser = results_path())]
    against: Option<PathBuf>,

    /// Threads to run on; the findings do not depend on their number [default: as many as
    /// there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &AuditArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let subjects = subjects(arguments)?;
    let known = arguments.against.as_deref().map(recorded::read).transpose();
    let known = known.map_err(|error| {
        Failure::input(error.to_string())
            .with_help("give the folder of groupkey audit --out, or what --json printed")
    })?;
    let folder = arguments.keeping.folder()?;
    let depth = depth(arguments);
    let bar = ProgressBar::new();
    let options = AuditOptions {
        depth,
        seed: arguments.seed,
        threads: arguments.threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|progress| bar.update(progress),
    };
    let audited = audit::audit(&subjects, &options);
    drop(bar);
    let audited = audited.ok_or_else(|| Failure::interrupted("nothing is printed"))?;
    let files = folder.map(|folder| keep(&folder, arguments, &audited.findings)).transpose()?;
    let out = &mut BesideFiles::new(out, files.is_some());
    if arguments.json {
        for finding in &audited.findings {
            results::write_line(&mut &mut *out, finding)?;
        }
    } else {
        print_histories(&subjects, &audited, depth, &with(arguments), out)?;
        printing::print(&audited, out)?;
        if let Some(files) = &files {
            write!(out, "\n{files}")?;
        }
    }
    check(&audited.findings)?;
    known.map_or(Ok(()), |known| compare(&audited.findings, &known))
}

fn check(findings: &[Finding]) -> Result<(), Failure> {
    let unsound: Vec<_> = findings.iter().filter(|finding| is_unsound(finding)).collect();
    unsound.first().map_or(Ok(()), |first| {
        Err(Failure::running(format!(
            "{} claims of sound profiles are broken, the first is {} of {}",
            unsound.len(),
            first.claim,
            first.scheme
        )))
    })
}

fn keep(
    folder: &ResultsFolder,
    arguments: &AuditArguments,
    findings: &[Finding],
) -> Result<ResultsFiles, Failure> {
    let events = depth(arguments).events;
    let searched =
        format!("Histories of up to {events} events after the creation; {}.", with(arguments));
    let (commit, machine) = (provenance::COMMIT, provenance::machine());
    let header = RunHeader::new("audit", arguments.seed, commit, machine, vec![searched]);
    let mut report = Report::default();
    report.add_audit(&header, findings.to_vec());
    folder.finish(&header, findings, &render(&report))
}

fn compare(findings: &[Finding], known: &[Finding]) -> Result<(), Failure> {
    let differences = recorded::differences(findings, known);
    if differences.is_empty() {
        return Ok(());
    }
    let (count, told) = (differences.len(), differences.join("\n  "));
    Err(Failure::running(format!("{count} findings differ from those recorded:\n  {told}"))
        .with_help("if that is intended, write it again: groupkey audit --out DIR --fresh"))
}

/// Returns the chosen schemes and profiles, in the order of the registry.
fn subjects(arguments: &AuditArguments) -> Result<Vec<AuditedScheme>, Failure> {
    let AuditArguments { selection, profile: profiles, suite, .. } = arguments;
    let SelectionArguments { scheme: schemes, class: classes } = selection;
    let chosen = registry::schemes().filter(|scheme| {
        (schemes.is_empty() || schemes.iter().any(|chosen| chosen.id == scheme.id))
            && (classes.is_empty() || classes.contains(&scheme.class()))
    });
    let chosen = match *suite {
        Some(suite) => {
            let (suited, notes) = selection.suited(chosen.collect(), suite)?;
            notes.iter().for_each(|note| remark(&format!("note: {note}")));
            suited
        }
        None => chosen.collect(),
    };
    let subjects: Vec<_> = chosen
        .into_iter()
        .flat_map(|scheme| {
            let wanted = |profile: &Profile| profiles.is_empty() || profiles.contains(profile);
            Profile::ALL.into_iter().filter(wanted).map(move |profile| {
                let mut subject = AuditedScheme::new(scheme, profile);
                subject.suite = *suite;
                subject
            })
        })
        .collect();
    if subjects.is_empty() {
        return Err(Failure::input("none of these schemes is of that class")
            .with_help("groupkey schemes lists the schemes with their classes"));
    }
    Ok(subjects)
}

fn depth(arguments: &AuditArguments) -> SearchDepth {
    let depth = if arguments.quick { SearchDepth::QUICK } else { SearchDepth::FULL };
    SearchDepth { events: arguments.depth.map_or(depth.events, usize::from), ..depth }
}

/// Describes the other settings of the search, so that it can be run again.
fn with(arguments: &AuditArguments) -> String {
    let quick = if arguments.quick { ", with --quick" } else { "" };
    let suite = arguments.suite.map(|suite| format!(", in suite {}", suite.name()));
    format!("seed {}{quick}{}", arguments.seed, suite.unwrap_or_default())
}

/// Returns whether a claim that people rely on does not hold, which is an error.
fn is_unsound(finding: &Finding) -> bool {
    finding.profile == Profile::Sound.name()
        && finding.claimed == Some(true)
        && finding.found == Found::Broken
}

/// Prints how far the search went: in one line, or in one line per depth if schemes have their own.
fn print_histories(
    subjects: &[AuditedScheme],
    audited: &Audit,
    depth: SearchDepth,
    with: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut reached: Vec<SearchReach> = Vec::new();
    for (subject, &ran) in subjects.iter().zip(&audited.histories) {
        let (depth, is_slow) = (depth.of(subject), subject.is_slow());
        let place = reached.iter().position(|found| found.depth == depth);
        let place = place.unwrap_or_else(|| {
            reached.push(SearchReach { depth, is_slow, schemes: Vec::new(), ran: 0 });
            reached.len() - 1
        });
        let found = &mut reached[place];
        found.ran += ran;
        if found.schemes.last() != Some(&subject.scheme().id) {
            found.schemes.push(subject.scheme().id);
        }
    }
    let told: Vec<_> = reached.iter().map(SearchReach::sentence).collect();
    if let [told] = &told[..] {
        let text = format!("Histories: {told}; {with}.");
        return writeln!(out, "{}", Paragraph { indent: 0, text: &text });
    }
    writeln!(out, "Histories, {with}:")?;
    let most = reached.iter().map(|found| found.schemes.len()).max();
    for (found, told) in reached.iter().zip(told) {
        let schemes = match Some(found.schemes.len()) == most && found.schemes.len() > MOST_NAMED {
            true => "all others".to_owned(),
            false => found.schemes.join(", "),
        };
        writeln!(out, "{}", Paragraph { indent: 2, text: &format!("{schemes}: {told}.") })?;
    }
    Ok(())
}

/// More schemes of one depth than this are named together.
const MOST_NAMED: usize = 5;

/// Schemes for which the same was tried.
struct SearchReach {
    depth: SearchDepth,
    is_slow: bool,
    schemes: Vec<&'static str>,
    ran: usize,
}

impl SearchReach {
    fn sentence(&self) -> String {
        let SearchDepth { events, members, sampled, .. } = self.depth;
        let sampled = match sampled {
            0 => "none longer at random".to_owned(),
            _ => format!("{sampled} longer ones of each form at random"),
        };
        let shorter = if self.is_slow { " (schemes with pairings get shorter ones)" } else { "" };
        format!(
            "{}, of up to {members} members at creation and {events} events after it, {sampled}{shorter}",
            self.ran
        )
    }
}
