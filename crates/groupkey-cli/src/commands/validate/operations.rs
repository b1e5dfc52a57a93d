//! `groupkey validate`: whole operations of groups.

use std::io::Write;

use groupkey_choose::number::figure;
use groupkey_lab::campaign::CampaignOutcome;
use groupkey_lab::plan::{Plan, PlanStep};
use groupkey_lab::results::{NetworkRow, RowSetting};
use serde::Serialize;

use super::arguments::ValidateArguments;
use super::{difference_percent, judge, signed};
use crate::commands::impaired_broker::{Emulation, refuse_overflow};
use crate::commands::live_plans::{Emulated, LiveBroker, LiveRow};
use crate::failure::Failure;
use crate::number::distinct;
use crate::table::{Column, Table, figure_if_any};
use crate::{campaign, value_parsers};

/// One setting and operation, simulated and measured.
#[derive(Debug, Serialize)]
struct OperationComparison {
    #[serde(flatten)]
    setting: RowSetting,
    simulated: OperationTimes,
    live: OperationTimes,
    /// By how much the simulated mean is longer than the measured mean.
    difference_percent: f64,
    /// Bytes of the messages, mean per live run.
    payload_bytes: f64,
    /// Whether each of the simulator's runs with the same seeds sent as many messages and bytes.
    same_payload: bool,
    congestion: String,
    #[serde(flatten)]
    emulation: Emulation,
}

/// Times of one side until the last party had the key.
#[derive(Debug, Serialize)]
struct OperationTimes {
    runs: u32,
    mean_ms: f64,
    ci95_ms: Option<f64>,
    sd_ms: Option<f64>,
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
    transmission_ms: f64,
    computation_ms: f64,
    retransmissions: f64,
    wire_bytes: f64,
}

/// Compares every setting and prints how far the simulator is from the measurement.
pub(super) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let plans = plans(arguments)?;
    let broker = LiveBroker::mosquitto(arguments.seed, &arguments.congestion)?;

    let mut simulated = Vec::new();
    let runs = arguments.runs.max(SIMULATED_RUNS);
    let many: Vec<_> = plans.iter().map(|plan| Plan { runs, ..plan.clone() }).collect();
    let outcome = campaign::run(&many, None, |row| {
        simulated.push(row.clone());
        Ok(())
    })?;
    refuse_interruption(outcome, 0)?;

    let mut simulated = simulated.into_iter();
    let mut rows = Vec::new();
    let outcome = broker.run(&plans, |live| {
        let simulated = simulated.next().expect("there is one for each of the same plans");
        let row = OperationComparison::new(&simulated, live);
        if arguments.json {
            writeln!(out, "{}", serde_json::to_string(&row).expect("a row is plain data"))?;
        }
        rows.push(row);
        Ok(())
    })?;
    if !arguments.json {
        print(&rows, arguments, &broker.description(), out)?;
    }
    refuse_interruption(outcome, rows.len())?;
    refuse_overflow(rows.iter().map(|row| &row.emulation))?;
    let differences: Vec<_> = rows.iter().map(|row| Some(row.difference_percent)).collect();
    judge(&differences, arguments, out)
}

fn plans(arguments: &ValidateArguments) -> Result<Vec<Plan>, Failure> {
    let mut plans = Vec::new();
    for scheme in value_parsers::each_once(&arguments.history.scheme) {
        for &members in distinct(&arguments.members) {
            for (conditions, qos) in arguments.networks() {
                let mut plan = Plan::new(scheme, members);
                plan.steps = PlanStep::history(scheme, &arguments.history.operation);
                plan.set_conditions(conditions);
                (plan.qos, plan.runs, plan.seed) = (qos, arguments.runs, arguments.seed);
                plan.validate()
                    .map_err(|error| Failure::input(format!("{}: {error}", scheme.id)))?;
                plans.push(plan);
            }
        }
    }
    Ok(plans)
}

/// Returns how many messages and bytes each run sent.
fn payloads(row: &NetworkRow) -> Vec<(u64, u64)> {
    row.samples.iter().map(|sample| (sample.messages, sample.payload_bytes)).collect()
}

impl OperationComparison {
    fn new(simulated: &NetworkRow, live: LiveRow) -> Self {
        let LiveRow { network, emulated, .. } = live;
        let Emulated { congestion, emulation } =
            emulated.expect("its broker is behind the emulator");
        let (sent, expected) = (payloads(&network), payloads(simulated));
        let same_payload = expected.starts_with(&sent);
        Self {
            simulated: OperationTimes::of(simulated),
            live: OperationTimes::of(&network),
            difference_percent: difference_percent(simulated.mean_ms, network.mean_ms),
            setting: network.setting,
            payload_bytes: network.payload_bytes,
            same_payload,
            congestion,
            emulation,
        }
    }

    fn cells(&self) -> [String; 14] {
        let [late, late_p99] = self.emulation.cells();
        [
            self.setting.scheme.clone(),
            self.setting.operation.clone(),
            self.setting.members.to_string(),
            self.setting.loss_percent.to_string(),
            self.setting.delay_ms.to_string(),
            self.setting.qos.to_string(),
            figure(self.simulated.mean_ms),
            figure(self.live.mean_ms),
            figure_if_any(self.live.ci95_ms),
            signed(Some(self.difference_percent)),
            figure(self.simulated.p90_ms),
            figure(self.live.p90_ms),
            late,
            late_p99,
        ]
    }
}

impl OperationTimes {
    fn of(row: &NetworkRow) -> Self {
        Self {
            runs: row.runs,
            mean_ms: row.mean_ms,
            ci95_ms: row.ci95_ms,
            sd_ms: row.sd_ms,
            p50_ms: row.p50_ms,
            p90_ms: row.p90_ms,
            p99_ms: row.p99_ms,
            transmission_ms: row.transmission_ms,
            computation_ms: row.computation_ms,
            retransmissions: row.retransmissions,
            wire_bytes: row.wire_bytes,
        }
    }
}

fn print(
    rows: &[OperationComparison],
    arguments: &ValidateArguments,
    broker: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(
        out,
        "Operations until the last member has the key, {} runs through {broker}, {} simulated; \
         members on host; seed {}.\n",
        arguments.runs,
        arguments.runs.max(SIMULATED_RUNS),
        arguments.seed,
    )?;
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("operation"),
        Column::number("members"),
        Column::number("loss %"),
        Column::number("delay ms"),
        Column::number("QoS"),
        Column::number("simulated ms"),
        Column::number("live ms"),
        Column::number("± 95 %"),
        Column::number("apart %"),
        Column::number("sim. p90"),
        Column::number("live p90"),
        Column::number("late ms"),
        Column::number("late p99"),
    ]);
    for row in rows {
        table.row(row.cells());
    }
    write!(out, "{table}")?;
    let mut unlike: Vec<_> = rows
        .iter()
        .filter(|row| !row.same_payload)
        .map(|row| row.setting.scheme.as_str())
        .collect();
    unlike.dedup();
    if !unlike.is_empty() {
        let unlike = unlike.join(", ");
        writeln!(out, "\nOther messages than in the simulator, of the same seed: {unlike}.")?;
    }
    Ok(())
}

fn refuse_interruption(outcome: CampaignOutcome, rows: usize) -> Result<(), Failure> {
    match outcome {
        CampaignOutcome::Finished => Ok(()),
        CampaignOutcome::Interrupted { .. } => {
            Err(Failure::interrupted(format!("{rows} rows are done")))
        }
    }
}

/// Virtual time is cheap. With this many runs, the error of the comparison is the measurement's.
const SIMULATED_RUNS: u32 = 1_000;
