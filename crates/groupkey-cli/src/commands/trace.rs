//! `groupkey trace`: members that join and leave, by chance.

use std::io::Write;

use clap::Args;
use groupkey_lab::bench::trace::{Generator, Kind};

use crate::choice;
use crate::failure::Failure;

/// Arguments of `groupkey trace`.
#[derive(Args, Debug)]
#[command(after_help = "\
Members arrive as a Poisson process and stay for an exponentially distributed time, so that the group
has --members on average. The trace is a CSV file: time_ms,event,member. The same arguments and seed
give the same trace. docs/workloads.md says more.

Examples:
  groupkey trace --kind day --members 100 --stay 60 > day.csv
  groupkey trace --kind flash-crowd --members 20 --duration 120 --seed 7")]
pub(crate) struct TraceArguments {
    /// How arrivals change with time.
    #[arg(long, value_name = "KIND", default_value = "day", value_parser = choice::trace_kind())]
    kind: Kind,

    /// Members at the beginning, and on average.
    #[arg(long, value_name = "N", default_value_t = 100)]
    members: u32,

    /// Mean stay of a member (minutes).
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0)]
    stay: f64,

    /// Length of the trace (minutes).
    #[arg(long, value_name = "MINUTES", default_value_t = 1_440.0)]
    duration: f64,

    /// Everything drawn by chance follows from this.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Prints a trace.
pub(crate) fn run(arguments: &TraceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let TraceArguments { kind, members, stay, duration, seed } = *arguments;
    let generator =
        Generator { kind, members, stay_minutes: stay, duration_minutes: duration, seed };
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
