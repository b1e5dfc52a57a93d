//! `groupkey trace`: random joins and leaves, and what they cost each scheme.

mod replay;

use std::io::Write;

use clap::Args;
use groupkey_lab::bench::trace::{ArrivalPattern, TraceGenerator};

use crate::failure::Failure;
use crate::value_parsers;

/// Arguments of `groupkey trace`.
#[derive(Args, Debug)]
#[command(after_help = "\
Members arrive as a Poisson process and stay for an exponentially distributed time, so that the
group has --members on average. The trace is a CSV file: time_ms,event,member. The same arguments
and seed give the same trace. docs/workloads.md says more.

With --replay every member of a trace is a party that computes for real, in a network that is fast
and loses nothing: one row for each scheme and role, of everything in the trace together. Times and
energies are modelled from a device's profile. Counts and bytes are the same on every machine.

Examples:
  groupkey trace --kind day --members 100 --stay 60 > day.csv
  groupkey trace --kind flash-crowd --members 20 --duration 120 --seed 7
  groupkey trace --replay day.csv --scheme skdc,lkh-group,tgdh --device host
  groupkey trace --replay day.csv --scheme skdc,lkh-group --device cortex-m4 --out costs")]
pub(crate) struct TraceArguments {
    /// How arrivals change with time.
    #[arg(long, value_name = "KIND", default_value = "day", conflicts_with = "path", value_parser = value_parsers::trace_kind())]
    kind: ArrivalPattern,

    /// Members at the beginning, and on average.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        conflicts_with = "path",
        allow_negative_numbers = true
    )]
    members: u32,

    /// Mean stay of a member (minutes).
    #[arg(
        long,
        value_name = "MINUTES",
        default_value_t = 60.0,
        conflicts_with = "path",
        allow_negative_numbers = true
    )]
    stay: f64,

    /// Length of the trace (minutes).
    #[arg(
        long,
        value_name = "MINUTES",
        default_value_t = 1_440.0,
        conflicts_with = "path",
        allow_negative_numbers = true
    )]
    duration: f64,

    /// Seed of everything that is drawn at random.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,

    #[command(flatten)]
    replay: replay::ReplayArguments,
}

pub(crate) fn run(arguments: &TraceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let TraceArguments { kind, members, stay, duration, seed, ref replay } = *arguments;
    if let Some(path) = &replay.path {
        return replay::run(path, replay, seed, out);
    }
    let generator =
        TraceGenerator { kind, members, stay_minutes: stay, duration_minutes: duration, seed };
    let trace = generator.trace().map_err(|error| {
        Failure::input(format!("there is no such trace: {error}"))
            .with_help("groupkey trace --help explains --members, --stay and --duration")
    })?;
    writeln!(
        out,
        "# groupkey trace --kind {} --members {members} --stay {stay} --duration {duration} --seed {seed}",
        kind.name()
    )?;
    write!(out, "{trace}")?;
    Ok(())
}
