//! `groupkey net --live`: the same groups through a real broker.

use std::io::Write;

use clap::Args;
use groupkey_lab::campaign::CampaignOutcome;
use groupkey_lab::plan::Plan;

use crate::address::HostAndPort;
use crate::commands::impaired_broker::{Emulation, refuse_overflow};
use crate::commands::live_plans::{LiveBroker, LiveRow, MOST_LIVE_MEMBERS};
use crate::commands::net::Keeping;
use crate::commands::net::rows::{self, Format};
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, WIDER};

/// Whether to run live, and through which broker.
#[derive(Args, Debug)]
#[command(next_help_heading = "Live")]
pub(crate) struct LiveArguments {
    /// Run the groups live, each party on a connection of its own to a real broker. Without
    /// --broker it is a Mosquitto behind a network device that delays and drops packets, which
    /// needs the right to create one.
    #[arg(
        long,
        conflicts_with_all = [
            "ProbeArguments", "OutageArguments", "scenario", "threads", "jitter", "bandwidth",
            "burst", "max_in_flight",
        ],
    )]
    live: bool,

    /// An existing broker, without TLS and password. With loss or delay, a relay behind the device
    /// forwards to it. Without either, nothing is in between and no rights are needed.
    #[arg(long, value_name = "HOST:PORT")]
    broker: Option<HostAndPort>,

    /// Drop packets in a packet filter (nft) of each client, on their way out and in, as S000 did:
    /// with loss and without delay. Needs nft, and the right to use it.
    #[arg(long, conflicts_with_all = ["broker", "congestion"])]
    firewall: bool,

    /// Congestion control of the emulated links' TCP, as the kernel calls it [default: cubic].
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
}

impl LiveArguments {
    /// Returns whether `--live` was given.
    pub(crate) const fn is_asked_for(&self) -> bool {
        self.live
    }

    /// Refuses options that only a live run uses. (The parser does not, if another option
    /// excludes --live.)
    pub(crate) fn refuse_without_live(&self) -> Result<(), Failure> {
        let given = [
            ("--broker", self.broker.is_some()),
            ("--congestion", self.congestion.is_some()),
            ("--firewall", self.firewall),
        ];
        if self.live { Ok(()) } else { Failure::refuse_any(&given, "--live") }
    }
}

/// Runs the plans and prints a row for each setting. JSON Lines are printed as they are done.
pub(super) fn run(
    arguments: &LiveArguments,
    plans: &[Plan],
    seed: u64,
    format: Format,
    keeping: Keeping,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(plan) = plans.iter().find(|plan| plan.members > MOST_LIVE_MEMBERS) {
        return Err(Failure::input(format!("{} live members are too many", plan.members))
            .with_help(format!("up to {MOST_LIVE_MEMBERS} share one machine; simulate more")));
    }
    let congestion = arguments.congestion.as_deref().unwrap_or("cubic");
    if arguments.firewall && plans.iter().any(|plan| plan.link.initial.delay_ms > 0.0) {
        return Err(Failure::input("--firewall drops packets, and delays none")
            .with_help("leave --delay out, or leave --firewall out: the emulator does both"));
    }
    let broker = match &arguments.broker {
        _ if arguments.firewall => LiveBroker::firewalled()?,
        Some(broker) => LiveBroker::elsewhere(broker, plans, seed, congestion)?,
        None => LiveBroker::mosquitto(seed, congestion)?,
    };
    let mut rows = Vec::new();
    let outcome = broker.run(plans, |row| {
        if format != Format::Table {
            writeln!(out, "{}", row.object(format == Format::JsonWithSamples))?;
        }
        rows.push(row);
        Ok(())
    })?;
    if format == Format::Table {
        let text = &format!("Live: {}. {}", broker.description(), rows::circumstances(plans));
        writeln!(out, "{}\n", Paragraph { indent: 0, text })?;
        let late = [Column::number("late").may_go(3), Column::number("late p99").may_go(4)];
        let mut table = rows::table(late);
        for row in &rows {
            let late = row.emulation().map(Emulation::cells);
            let late = late.unwrap_or_else(|| ["-", "-"].map(str::to_owned));
            table.row(rows::cells(&row.network).into_iter().chain(late));
        }
        table.print_fitting(WIDER, out)?;
    }
    refuse_overflow(rows.iter().filter_map(LiveRow::emulation))?;
    match outcome {
        CampaignOutcome::Finished => {}
        interrupted => return Err(rows::interruption(interrupted, rows.len())),
    }
    let rows = rows.into_iter().map(|row| row.network).collect();
    if let Some(files) = keeping.keep("network, live", plans, rows)? {
        rows::tell(&files, format, out)?;
    }
    Ok(())
}
