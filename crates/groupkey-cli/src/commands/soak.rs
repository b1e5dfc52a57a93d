//! `groupkey soak`: random histories of live groups, with faults.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Instant;

use clap::Args;
use groupkey::catalogue::Scheme;
use groupkey_choose::number::figure;
use groupkey_lab::{registry, results};
use groupkey_soak::campaign::FailedHistories as Broken;
use groupkey_soak::{Campaign, LiveScheme, SoakHistory, SoakReport, run as run_history};
use serde::Serialize;

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};
use crate::{interruption, number, value_parsers};

/// Arguments of `groupkey soak`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey soak                                      2000 faults, a first look
  groupkey soak --faults 100000 --seed 7
  groupkey soak --scheme lkh-group --members 12
  groupkey soak --scheme tgdh --seed 1 --history 28 --only 3,17,22

Each history has a service with members, or peers. They run as they do live, around a broker in
virtual time. Faults: messages are lost, late, doubled or misrouted; clients are cut off; the
broker restarts with and without its memory; processes die anywhere; the disk is full, or a write
is interrupted; clocks jump; an old copy of the store is put back; all state is lost and the group
founded anew; recordings are played back; evicted devices go on speaking; in one history of four a
member is dishonest.

Then everything works again. Within the bound (300 s of virtual time with a service, an hour among
peers) all honest parties must have one key. At no time may a key serve two sets of members, an
evicted device have a later key or read a later message, or what the service acknowledged be undone.
Nobody may be evicted without a decision, no epoch may go back, and all honest parties must hear
each other.

A history that fails is shrunk, and printed with the command that runs it again. The same seed gives
the same histories and results, on any number of threads. docs/soak.md says what this shows, and
what it does not.

The exit code is 1 if an invariant is broken.")]
pub(crate) struct SoakArguments {
    /// Schemes, by their ids; they take turns [default: skdc,lkh-group,igkmp,tgdh,gdh2].
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = value_parsers::scheme())]
    scheme: Vec<&'static Scheme>,

    /// Members with which each group begins (4 to 32).
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        allow_negative_numbers = true,
        value_parser = number::whole(4..=32),
    )]
    members: u32,

    /// Faults in all histories together, at least.
    #[arg(
        long,
        value_name = "N",
        default_value = "2000",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u64).range(1..=100_000_000),
    )]
    faults: u64,

    /// Seed of all histories.
    #[arg(long, value_name = "SEED", default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Run this history only, of one scheme.
    #[arg(long, value_name = "NUMBER", conflicts_with = "faults", allow_negative_numbers = true)]
    history: Option<u64>,

    /// Keep only these steps of the history.
    #[arg(long, value_name = "STEPS", value_delimiter = ',', requires = "history")]
    only: Vec<usize>,

    /// Print one JSON object for each scheme and each broken invariant (JSON Lines).
    #[arg(long)]
    json: bool,

    /// Threads to run on; the results do not depend on their number [default: as many as
    /// there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &SoakArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let subjects = subjects(arguments)?;
    if let Some(number) = arguments.history {
        return again(arguments, &subjects, number, out);
    }
    let bar = ProgressBar::counting("histories");
    let started = Instant::now();
    let report = groupkey_soak::soak(&Campaign {
        subjects: &subjects,
        faults: arguments.faults,
        seed: arguments.seed,
        draw: SoakHistory::new,
        threads: arguments.threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    });
    drop(bar);
    let report = report.ok_or_else(|| Failure::interrupted("nothing is printed"))?;
    if arguments.json {
        print_lines(arguments, &subjects, &report, out)?;
    } else {
        print(arguments, &subjects, &report, out)?;
        let rate = report.faults as f64 / started.elapsed().as_secs_f64();
        eprintln!("{} faults per second", figure(rate));
    }
    match &report.failures[..] {
        [] => Ok(()),
        [first, ..] => Err(Failure::running(format!(
            "{} invariants are broken, the first is {} of {}",
            report.failures.len(),
            first.violation.kind.name(),
            first.history.subject.scheme()
        ))),
    }
}

fn subjects(arguments: &SoakArguments) -> Result<Vec<LiveScheme>, Failure> {
    let schemes: Vec<_> = if arguments.scheme.is_empty() {
        registry::schemes().filter(|scheme| DEFAULT.contains(&scheme.id)).collect()
    } else {
        arguments.scheme.clone()
    };
    let mut known = BTreeSet::new();
    let schemes = schemes.into_iter().filter(|scheme| known.insert(scheme.id));
    let subjects = schemes.map(|scheme| LiveScheme::new(scheme, arguments.members));
    subjects.collect::<Result<Vec<_>, _>>().map_err(|error| {
        Failure::input(error.to_string())
            .with_help("`groupkey serve --help` and `groupkey member --help` name those that do")
    })
}

/// One flat scheme, one with a tree, a hybrid one, and two without a controller.
const DEFAULT: [&str; 5] = ["skdc", "lkh-group", "igkmp", "tgdh", "gdh2"];

fn again(
    arguments: &SoakArguments,
    subjects: &[LiveScheme],
    number: u64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let [subject] = subjects else {
        return Err(Failure::input("--history is one of one scheme").with_help("add --scheme ID"));
    };
    let whole = SoakHistory::new(subject.clone(), arguments.seed, number);
    let most = whole.steps.len();
    if let Some(step) = arguments.only.iter().find(|step| !(1..=most).contains(*step)) {
        return Err(Failure::input(format!("history {number} has no step {step}"))
            .with_help(format!("its steps are 1 to {most}")));
    }
    let mut steps: Vec<_> =
        if arguments.only.is_empty() { (1..=most).collect() } else { arguments.only.clone() };
    steps.sort_unstable();
    steps.dedup();
    let outcome = run_history(&whole.only(&steps));
    let scheme = subject.scheme();
    let again = command(arguments, scheme, number, &arguments.only);
    if arguments.json {
        let violation = outcome.violation.as_ref();
        let line = SoakLine::History {
            scheme,
            history: number,
            faults: outcome.faults,
            messages: outcome.messages,
            invariant: violation.map(|violation| violation.kind.name()),
            seen: violation.map(|violation| violation.seen.as_str()),
            steps: steps.iter().map(|&step| whole.steps[step - 1].act.to_string()).collect(),
            command: &again,
        };
        results::write_line(&mut &mut *out, &line)?;
    } else {
        print_steps(&whole, &steps, out)?;
        writeln!(
            out,
            "{} faults, {} messages, {} s of virtual time.",
            outcome.faults,
            outcome.messages,
            outcome.time / SECOND
        )?;
    }
    match outcome.violation {
        None => Ok(()),
        Some(violation) => {
            let step = steps.get(outcome.step.saturating_sub(1)).copied().unwrap_or(most);
            Err(Failure::running(format!("after step {step}: {violation}")))
        }
    }
}

fn command(arguments: &SoakArguments, scheme: &str, number: u64, only: &[usize]) -> String {
    let SoakArguments { members, seed, .. } = arguments;
    let mut command = format!(
        "groupkey soak --scheme {scheme} --members {members} --seed {seed} --history {number}"
    );
    if !only.is_empty() {
        let only: Vec<_> = only.iter().map(ToString::to_string).collect();
        command += &format!(" --only {}", only.join(","));
    }
    command
}

fn print(
    arguments: &SoakArguments,
    subjects: &[LiveScheme],
    report: &SoakReport,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let SoakReport { histories, faults, messages, time, .. } = report;
    let hours = figure(*time as f64 / SECOND as f64 / 3_600.0);
    let text = format!(
        "{histories} histories, seed {}: {faults} faults, {messages} messages, {hours} h of virtual time.",
        arguments.seed
    );
    writeln!(out, "{}\n", Paragraph { indent: 0, text: &text })?;
    let mut table = Table::new([
        Column::text("scheme"),
        Column::number("faults"),
        Column::number("slowest return s"),
        Column::number("bound s"),
        Column::text("broken invariants"),
    ]);
    for subject in subjects {
        let scheme = subject.scheme();
        let broken =
            report.failures.iter().filter(|broken| scheme == broken.history.subject.scheme());
        let broken: Vec<_> = broken.map(|broken| broken.violation.kind.name()).collect();
        table.row([
            scheme.to_owned(),
            report.faults_of.get(scheme).copied().unwrap_or(0).to_string(),
            (report.longest.get(scheme).copied().unwrap_or(0) / SECOND).to_string(),
            (subject.bound() / SECOND).to_string(),
            if broken.is_empty() { "-".to_owned() } else { broken.join(", ") },
        ]);
    }
    write!(out, "{table}")?;
    for broken in &report.failures {
        let Broken { count, history, violation, only } = broken;
        let scheme = history.subject.scheme();
        writeln!(
            out,
            "\n{scheme}: {} is broken in {count} histories. The first, {}, comes down to:",
            violation.kind.name(),
            history.number
        )?;
        print_steps(history, only, out)?;
        writeln!(out, "  seen: {}", violation.seen)?;
        writeln!(out, "  again: {}", command(arguments, scheme, history.number, only))?;
    }
    Ok(())
}

fn print_steps(history: &SoakHistory, steps: &[usize], out: &mut dyn Write) -> std::io::Result<()> {
    for &step in steps {
        let kept = &history.steps[step - 1];
        let pause = kept.pause / 1_000_000;
        writeln!(out, "{step:5}  {}; {pause} ms pass", kept.act)?;
    }
    Ok(())
}

fn print_lines(
    arguments: &SoakArguments,
    subjects: &[LiveScheme],
    report: &SoakReport,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for subject in subjects {
        let scheme = subject.scheme();
        let line = SoakLine::Scheme {
            scheme,
            seed: arguments.seed,
            members: arguments.members,
            faults: report.faults_of.get(scheme).copied().unwrap_or(0),
            slowest_return_ns: report.longest.get(scheme).copied().unwrap_or(0),
            bound_ns: subject.bound(),
        };
        results::write_line(&mut &mut *out, &line)?;
    }
    for Broken { count, history, violation, only } in &report.failures {
        let line = SoakLine::Broken {
            scheme: history.subject.scheme(),
            invariant: violation.kind.name(),
            seen: &violation.seen,
            histories: *count,
            history: history.number,
            steps: only.iter().map(|&step| history.steps[step - 1].act.to_string()).collect(),
            command: &command(arguments, history.subject.scheme(), history.number, only),
        };
        results::write_line(&mut &mut *out, &line)?;
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum SoakLine<'a> {
    Scheme {
        scheme: &'a str,
        seed: u64,
        members: u32,
        faults: u64,
        slowest_return_ns: u64,
        bound_ns: u64,
    },
    /// An invariant that was broken with a scheme.
    Broken {
        scheme: &'a str,
        invariant: &'a str,
        seen: &'a str,
        histories: u64,
        history: u64,
        steps: Vec<String>,
        command: &'a str,
    },
    History {
        scheme: &'a str,
        history: u64,
        faults: u64,
        messages: u64,
        invariant: Option<&'a str>,
        seen: Option<&'a str>,
        steps: Vec<String>,
        command: &'a str,
    },
}

/// A second in ns.
const SECOND: u64 = 1_000_000_000;
