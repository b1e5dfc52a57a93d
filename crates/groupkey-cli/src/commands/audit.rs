//! `groupkey audit`: what schemes claim, beside what attacking them finds.

use std::io::{self, Write};

use clap::Args;
use groupkey::catalogue::{Class, Profile, SCHEMES, Scheme};
use groupkey_lab::audit::{self, Audit, Claim, Depth, Finding, Found, Options, Subject};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};
use crate::{choice, interruption};

/// Arguments of `groupkey audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey audit --quick
  groupkey audit --scheme oft
  groupkey audit --scheme lkh-group,skdc --profile sound --depth 4
  groupkey audit --class hybrid --quick --json

What was found: broken, with the shortest history and how the adversary gets to the key; holds,
where nothing was found in all that was tried, which is no proof; not-applicable, where no history
of the scheme could break it. docs/audit.md says what adversary it is and what it cannot find.

The exit code is 1 if a claim of a sound profile is broken. What is broken as published is reported.")]
pub(crate) struct AuditArguments {
    /// Schemes, by their ids [default: all].
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = choice::scheme())]
    scheme: Vec<&'static Scheme>,

    /// Schemes of these classes only.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = choice::class())]
    class: Vec<Class>,

    /// Forms of the schemes [default: both].
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', value_parser = choice::profile())]
    profile: Vec<Profile>,

    /// Try all histories of so many events after the creation (1 to 6) [default: 3; 2 with --quick].
    /// Each more takes about ten times as long.
    #[arg(
        long,
        value_name = "EVENTS",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u8).range(1..=6),
    )]
    depth: Option<u8>,

    /// A first look: shorter histories, smaller groups.
    #[arg(long)]
    quick: bool,

    /// Longer histories and all keys follow from this number.
    #[arg(long, value_name = "SEED", default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Print one JSON object for each claim (JSON Lines).
    #[arg(long)]
    json: bool,

    /// Threads to run on; the findings do not depend on it [default: as many as there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Audits what the arguments say, and prints what was found.
pub(crate) fn run(arguments: &AuditArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let subjects = subjects(arguments)?;
    let depth = depth(arguments);
    let bar = ProgressBar::new();
    let options = Options {
        depth,
        seed: arguments.seed,
        threads: arguments.threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|progress| bar.update(progress),
    };
    let audited = audit::audit(&subjects, &options);
    drop(bar);
    let audited = audited.ok_or_else(|| Failure::interrupted("nothing is printed"))?;
    if arguments.json {
        for finding in &audited.findings {
            serde_json::to_writer(&mut *out, finding).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    } else {
        print(&audited, arguments, depth, out)?;
    }
    let unsound: Vec<_> = audited.findings.iter().filter(|f| is_unsound(f)).collect();
    match unsound.first() {
        None => Ok(()),
        Some(first) => Err(Failure::running(format!(
            "{} claims of sound profiles are broken, the first is {} of {}",
            unsound.len(),
            first.claim,
            first.scheme
        ))),
    }
}

/// The schemes and profiles that are asked for, in the order of the catalogue.
fn subjects(arguments: &AuditArguments) -> Result<Vec<Subject>, Failure> {
    let AuditArguments { scheme: schemes, class: classes, profile: profiles, .. } = arguments;
    let chosen = SCHEMES.iter().filter(|scheme| {
        (schemes.is_empty() || schemes.iter().any(|chosen| chosen.id == scheme.id))
            && (classes.is_empty() || classes.contains(&scheme.class))
    });
    let subjects: Vec<_> = chosen
        .flat_map(|scheme| {
            let wanted = |profile: &Profile| profiles.is_empty() || profiles.contains(profile);
            Profile::ALL.into_iter().filter(wanted).map(|profile| Subject::new(scheme, profile))
        })
        .collect();
    if subjects.is_empty() {
        return Err(Failure::input("none of these schemes is of such a class")
            .with_help("groupkey schemes lists the schemes with their classes"));
    }
    Ok(subjects)
}

fn depth(arguments: &AuditArguments) -> Depth {
    let depth = if arguments.quick { Depth::QUICK } else { Depth::FULL };
    Depth { events: arguments.depth.map_or(depth.events, usize::from), ..depth }
}

/// What must not be: a claim that people rely on does not hold.
fn is_unsound(finding: &Finding) -> bool {
    finding.profile == Profile::Sound.name()
        && finding.claimed == Some(true)
        && finding.found == Found::Broken
}

fn print(
    audited: &Audit,
    arguments: &AuditArguments,
    depth: Depth,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let ran: usize = audited.histories.iter().sum();
    writeln!(
        out,
        "Histories: {ran}, of up to {} members at creation and {} events after it, and longer ones \
         by chance; seed {}.\n",
        depth.members, depth.events, arguments.seed
    )?;
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("profile"),
        Column::text("claim"),
        Column::text("claimed"),
        Column::text("found"),
        Column::text("provenance"),
    ]);
    for finding in &audited.findings {
        table.row([
            finding.scheme.clone(),
            finding.profile.clone(),
            finding.claim.clone(),
            finding.claimed.map_or("-", |claimed| if claimed { "yes" } else { "no" }).to_owned(),
            found(finding.found).to_owned(),
            finding.provenance.clone(),
        ]);
    }
    write!(out, "{table}")?;
    for finding in audited.findings.iter().filter(|finding| is_worth_telling(finding)) {
        let Finding { scheme, profile, claim, history, derivation, .. } = finding;
        writeln!(out, "\n{scheme}, {profile} profile: {claim} is broken")?;
        history.iter().try_for_each(|event| writeln!(out, "  event {event}"))?;
        derivation.iter().try_for_each(|step| writeln!(out, "    {step}"))?;
    }
    Ok(())
}

/// That a controller knows the key it hands out needs no proof.
fn is_worth_telling(finding: &Finding) -> bool {
    let trusted = [Claim::ControllerSecrecy, Claim::SubgroupSecrecy].map(Claim::name);
    finding.found == Found::Broken && !trusted.contains(&&*finding.claim)
}

const fn found(found: Found) -> &'static str {
    match found {
        Found::Broken => "broken",
        Found::Holds => "holds",
        Found::NotApplicable => "not-applicable",
    }
}
