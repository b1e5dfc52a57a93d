//! `groupkey net`: schemes in a simulated network.

mod group;
mod network;
mod outages;
mod probe;
mod rows;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey_lab::plan::Plan;
use groupkey_lab::report::{Report, render};
use groupkey_lab::results::{FileHeader, NetworkRow, ResultsHeader};
use groupkey_lab::scenario::{Scenario, ScenarioError};

use crate::commands::net::rows::Format;
use crate::failure::Failure;
use crate::provenance;
use crate::results_folder::{OutArguments, ResultsFiles, ResultsFolder};

/// Arguments of `groupkey net`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey net
  groupkey net --scheme skdc --operation create,add,remove
  groupkey net --scheme skdc,lkh-group --members 50,100 --loss 0,10 --runs 5
  groupkey net --scheme skdc --loss 5 --burst 40 --jitter 20 --delay 50 --bandwidth 250
  groupkey net --scheme skdc --outages 4 --outage-length 60 --qos 1
  groupkey net --scheme lkh-group --members 1000 --operation batch --joining 20 --leaving 20
  groupkey net --scheme skdc --json
  groupkey net --scheme skdc,lkh-group --loss 0,5 --out measured
  groupkey net --scheme skdc --bandwidth 100,300,inf --device cortex-m4
  groupkey net --probe --loss 0,10 --qos 0,1,2 --payload 20,2000
  groupkey net --scenario examples/scenarios/platoon.toml

Reading a row: the mean is the time from the moment at which the controller, or without one the
group, begins the operation until the last member has the new key (with --request, from the
member's request). It is network + computing along the critical path. The group has settled: hours
lie between two operations, so that a slow creation is not felt in those after it. groupkey choose
means the same time. Messages and bytes are means of one run; resent counts TCP segments. Payload
is whole messages, as MQTT carries them, and wire what MQTT and TCP make of them; in groupkey bench
the two are a scheme's own body and the whole message. Member J is the energy of a member, modelled
as in groupkey choose: computation, its packets on the air, and one wake-up of its radio, at the
prices of its device, without waiting; mean over the members. More than 1000000 runs in all
(combinations x runs) are refused.

With --outages or --restarts, an operation goes on until each member has the new key, or is
connected and cannot know that it lacks it. Behind counts the latter: what QoS 0 lost is missed
until the next change. The times are those of the others. Asked counts requests for what was
missed.

What precedes an operation is done first, in the order create, add, remove, rekey, send, batch, as
far as the scheme has it: remove is from a group that one more member has joined.")]
pub(crate) struct NetArguments {
    #[command(flatten)]
    group: group::GroupArguments,

    #[command(flatten)]
    network: network::NetworkArguments,

    #[command(flatten)]
    outages: outages::OutageArguments,

    #[command(flatten)]
    runs: group::RunArguments,

    #[command(flatten)]
    probe: probe::ProbeArguments,

    /// Take the settings from a file instead; docs/scenarios.md describes it. Only --runs and
    /// --seed can be combined with it.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "GroupArguments", "NetworkArguments", "OutageArguments", "ProbeArguments",
        ],
    )]
    scenario: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArguments,
}

/// How to run and what to print.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Output",
    mut_arg("out", |out| out.conflicts_with("probe")),
)]
pub(crate) struct OutputArguments {
    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    json: bool,

    /// With --json: every run, too.
    #[arg(long, requires = "json", conflicts_with = "probe")]
    samples: bool,

    #[command(flatten)]
    keeping: OutArguments,

    /// Threads to run on; the numbers do not depend on this [default: as many as there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &NetArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let OutputArguments { json, samples, threads, .. } = arguments.output;
    if arguments.probe.is_asked_for() {
        let (probe, network) = (&arguments.probe, &arguments.network);
        return probe::run(probe, network, arguments.runs.seed(), json, out);
    }

    arguments.probe.refuse_without_probe()?;
    let NetWork { title, plans } = work(arguments)?;
    let keeping = Keeping(arguments.output.keeping.folder()?);
    let format = match (json, samples) {
        (false, _) => Format::Table,
        (true, false) => Format::Json,
        (true, true) => Format::JsonWithSamples,
    };
    if let (Some(title), Format::Table) = (title, format) {
        writeln!(out, "{title}")?;
    }
    rows::print(&plans, threads, format, keeping, out)
}

pub(crate) struct Keeping(Option<ResultsFolder>);

impl Keeping {
    /// Writes the rows of these plans, and a page of them.
    pub(crate) fn keep(
        self,
        plans: &[Plan],
        rows: Vec<NetworkRow>,
    ) -> Result<Option<ResultsFiles>, Failure> {
        let (Self(Some(folder)), Some(plan)) = (self, plans.first()) else { return Ok(None) };
        let header = ResultsHeader {
            format: ResultsHeader::FORMAT.to_owned(),
            version: ResultsHeader::VERSION,
            study: "network".to_owned(),
            seed: plan.seed,
            runs: plan.runs,
            commit: provenance::COMMIT.to_owned(),
            machine: provenance::machine(),
            suite: plan.suite.name().to_owned(),
            assumptions: vec![rows::circumstances(plans)],
        };
        let mut report = Report::default();
        report.add_network(header.clone(), rows.clone());
        folder.finish(&header, &rows, &render(&report)).map(Some)
    }
}

/// The checked plans to run.
#[derive(Debug)]
pub(crate) struct NetWork {
    title: Option<String>,
    pub(crate) plans: Vec<Plan>,
}

/// Returns the work that the arguments ask for, unless they ask for a probe.
pub(crate) fn work(arguments: &NetArguments) -> Result<NetWork, Failure> {
    let Some(path) = &arguments.scenario else {
        let plans = arguments.group.plans(&arguments.network, arguments.outages, arguments.runs)?;
        return Ok(NetWork { title: None, plans });
    };
    let Scenario { description, mut plan } = Scenario::load(path).map_err(unreadable)?;
    plan.runs = arguments.runs.runs.unwrap_or(plan.runs);
    plan.seed = arguments.runs.seed.unwrap_or(plan.seed);
    group::refuse_a_slip(1, plan.runs)?;
    let title = format!("{description}. Loss and delay are those at the start.");
    Ok(NetWork { title: Some(title), plans: vec![plan] })
}

fn unreadable(error: ScenarioError) -> Failure {
    Failure::input(error.to_string())
        .with_help("docs/scenarios.md describes the file; examples/scenarios/ has some")
}
