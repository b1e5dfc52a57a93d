//! `groupkey soak --live`: real processes around a real broker.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use groupkey::catalogue::Scheme;
use groupkey_choose::number::figure;
use groupkey_lab::{registry, results};
use groupkey_soak::live::{
    BOUND, LiveError, LiveProgress, LiveReport, LiveSettings, LiveViolation, soak_live,
};
use serde::Serialize;

use super::SoakArguments;
use crate::failure::Failure;
use crate::interruption;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};

/// Soaks processes, and prints what was found.
pub(super) fn run(arguments: &SoakArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let scheme = scheme(arguments)?;
    let command = env::current_exe()
        .map_err(|error| Failure::running(format!("this command does not find itself: {error}")))?;
    let bar = ProgressBar::counting("faults");
    let told = Cell::new(Instant::now());
    let on_progress = |progress: &LiveProgress| {
        bar.advance(progress.faults as usize, arguments.faults as usize);
        if !stderr().is_terminal() && told.get().elapsed() >= A_MINUTE {
            told.set(Instant::now());
            let LiveProgress { faults, time, epoch, returned } = progress;
            eprintln!(
                "{} s: {faults} faults, epoch {epoch}, all back after {} s",
                time.as_secs(),
                figure(returned.as_secs_f64())
            );
        }
    };
    let soaked = soak_live(&LiveSettings {
        command: &command,
        scheme,
        members: arguments.members,
        faults: arguments.faults,
        time: Duration::from_secs(60 * u64::from(arguments.minutes.unwrap_or(0))),
        seed: arguments.seed,
        stop: interruption::requested(),
        on_progress: &on_progress,
    });
    drop(bar);
    let report = soaked.map_err(|error| match error {
        LiveError::Missing(_) => {
            Failure::running(error.to_string()).with_help("apt-get install mosquitto")
        }
        LiveError::NoService(_) => Failure::input(error.to_string()),
        LiveError::Failed(_) => Failure::running(error.to_string()),
    })?;
    let report = report
        .ok_or_else(|| Failure::interrupted("all processes have ended, and nothing is printed"))?;
    if arguments.json {
        results::write_line(&mut &mut *out, &LiveSoakLine::of(arguments, scheme, &report))?;
    } else {
        print(arguments, scheme, &report, out)?;
    }
    match &report.broken {
        None => Ok(()),
        Some(LiveViolation { kind, seen, step, folder, .. }) => Err(Failure::running(format!(
            "seed {}, step {step}: {}: {seen}",
            arguments.seed,
            kind.name()
        ))
        .with_help(format!(
            "{} has the logs; a live run cannot be shrunk",
            folder.join("logs").display()
        ))),
    }
}

fn scheme(arguments: &SoakArguments) -> Result<&'static Scheme, Failure> {
    match arguments.scheme[..] {
        [] => Ok(registry::schemes().find(|scheme| scheme.id == DEFAULT).expect("it is there")),
        [scheme] => Ok(scheme),
        _ => Err(Failure::input("--live takes one scheme").with_help("run it once for each")),
    }
}

fn print(
    arguments: &SoakArguments,
    scheme: &Scheme,
    report: &LiveReport,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let LiveReport { returns, epoch, messages, refused_stores, .. } = report;
    let operations: Vec<_> =
        report.operations.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let text = format!(
        "{}, {} members, seed {}: {} faults in {} s, {messages} messages, epoch {epoch}. \
         Acknowledged: {}. {refused_stores} stores refused. All came back {returns} times, after {} s \
         on average and {} s at most; the bound is {} s.",
        scheme.id,
        arguments.members,
        arguments.seed,
        report.all_faults(),
        report.time.as_secs(),
        if operations.is_empty() { "nothing".to_owned() } else { operations.join(", ") },
        figure(report.all_returns.as_secs_f64() / (*returns).max(1) as f64),
        figure(report.slowest_return.as_secs_f64()),
        BOUND.as_secs(),
    );
    writeln!(out, "{}\n", Paragraph { indent: 0, text: &text })?;
    let mut table = Table::new([Column::text("fault"), Column::number("times")]);
    for (name, count) in &report.faults {
        table.row([(*name).to_owned(), count.to_string()]);
    }
    write!(out, "{table}")?;
    if let Some(broken) = &report.broken {
        writeln!(
            out,
            "\n{} is broken in step {}: {}",
            broken.kind.name(),
            broken.step,
            broken.act
        )?;
        writeln!(out, "  seen: {}", broken.seen)?;
        writeln!(out, "  logs: {}", broken.folder.join("logs").display())?;
    }
    Ok(())
}

/// The report as a line of JSON.
#[derive(Serialize)]
struct LiveSoakLine<'a> {
    kind: &'static str,
    scheme: &'static str,
    seed: u64,
    members: u32,
    faults: u64,
    faults_of: &'a BTreeMap<&'static str, u64>,
    acknowledged: &'a BTreeMap<&'static str, u64>,
    returns: u64,
    mean_return_s: f64,
    slowest_return_s: f64,
    bound_s: u64,
    epoch: u64,
    messages: u64,
    refused_stores: u64,
    time_s: f64,
    invariant: Option<&'static str>,
    seen: Option<&'a str>,
    step: Option<u64>,
    act: Option<&'a str>,
    logs: Option<String>,
}

impl<'a> LiveSoakLine<'a> {
    fn of(arguments: &SoakArguments, scheme: &Scheme, report: &'a LiveReport) -> Self {
        let broken = report.broken.as_ref();
        Self {
            kind: "live",
            scheme: scheme.id,
            seed: arguments.seed,
            members: arguments.members,
            faults: report.all_faults(),
            faults_of: &report.faults,
            acknowledged: &report.operations,
            returns: report.returns,
            mean_return_s: report.all_returns.as_secs_f64() / report.returns.max(1) as f64,
            slowest_return_s: report.slowest_return.as_secs_f64(),
            bound_s: BOUND.as_secs(),
            epoch: report.epoch,
            messages: report.messages,
            refused_stores: report.refused_stores,
            time_s: report.time.as_secs_f64(),
            invariant: broken.map(|broken| broken.kind.name()),
            seen: broken.map(|broken| &*broken.seen),
            step: broken.map(|broken| broken.step),
            act: broken.map(|broken| &*broken.act),
            logs: broken.map(|broken| broken.folder.join("logs").display().to_string()),
        }
    }
}

/// A scheme with a tree.
const DEFAULT: &str = "lkh-group";

const A_MINUTE: Duration = Duration::from_secs(60);
