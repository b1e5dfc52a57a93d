//! `groupkey validate --probe`: single messages from one publisher to one subscriber.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use groupkey_lab::campaign::Progress;
use groupkey_lab::conditions::{Conditions, LossDirection};
use groupkey_sim::{HandOver, NetworkConfig, ProbeResult, ProbeSettings, Qos, probe};
use groupkey_testbed::impairment::{self, LatencySettings, MeasuredLatencies};
use serde::Serialize;

use super::arguments::ValidateArguments;
use super::{difference_percent, judge, signed};
use crate::commands::impaired_broker::{Emulation, ImpairedBroker, link, refuse_overflow};
use crate::failure::Failure;
use crate::progress::ProgressBar;
use crate::table::{Column, Table, figure_if_any};

/// One combination, simulated and measured.
#[derive(Debug, Serialize)]
struct ProbeComparison {
    loss_percent: f64,
    delay_ms: f64,
    qos: u8,
    until: &'static str,
    seed: u64,
    simulated: ProbeTimes,
    live: ProbeTimes,
    /// By how much the simulated mean is longer than the measured mean.
    difference_percent: Option<f64>,
    congestion: String,
    #[serde(flatten)]
    emulation: Emulation,
}

/// Latencies of one side; absent if nothing was delivered.
#[derive(Debug, Serialize)]
struct ProbeTimes {
    messages: u32,
    delivered: usize,
    mean_ms: Option<f64>,
    standard_error_ms: Option<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// Compares every combination and prints how far the simulator is from the measurement.
pub(super) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let networks = arguments.networks();
    let broker = ImpairedBroker::mosquitto(arguments.seed, &arguments.congestion)?;

    let runs_total = networks.len() * arguments.messages as usize;
    let bar = ProgressBar::counting("messages");
    let mut runs_done = 0;
    let mut rows = Vec::new();
    for (conditions, qos) in networks {
        broker.emulator().set_all(link(&conditions));
        let watch = broker.watch();
        let settings = LatencySettings {
            until: arguments.until,
            ..LatencySettings::new(SocketAddr::V4(broker.address()), qos, arguments.messages)
        };
        let measured = impairment::measure(&settings, || {
            runs_done += 1;
            bar.update(Progress { runs_done, runs_total, plans_done: 0, plans_total: 0 });
        })
        .map_err(|seen| Failure::running(format!("through the impaired network, {seen}")))?;
        let emulation = watch.end();
        let simulated = simulate(arguments, &conditions, qos);
        let row =
            ProbeComparison::new(arguments, &conditions, qos, &simulated, &measured, emulation);
        if arguments.json {
            writeln!(out, "{}", serde_json::to_string(&row).expect("a row is plain data"))?;
        }
        rows.push(row);
    }
    drop(bar);
    if !arguments.json {
        print(&rows, arguments, out)?;
    }
    refuse_overflow(rows.iter().map(|row| &row.emulation))?;
    let differences: Vec<_> = rows.iter().map(|row| row.difference_percent).collect();
    judge(&differences, arguments, out)
}

fn simulate(arguments: &ValidateArguments, conditions: &Conditions, qos: u8) -> ProbeResult {
    let level = Qos::from_number(qos).expect("--qos takes 0 to 2");
    let defaults = ProbeSettings::new(0.0, groupkey_sim::Duration::ZERO, level);
    probe(&ProbeSettings {
        up: conditions.settings(LossDirection::Up),
        down: conditions.settings(LossDirection::Down),
        until: arguments.until,
        messages: simulated_messages(arguments.messages),
        network: NetworkConfig { seed: arguments.seed, ..defaults.network },
        ..defaults
    })
}

/// Virtual time is cheap. With this many messages, the error of the comparison is the
/// measurement's.
fn simulated_messages(messages: u32) -> u32 {
    messages.max(20_000)
}

impl ProbeComparison {
    fn new(
        arguments: &ValidateArguments,
        conditions: &Conditions,
        qos: u8,
        simulated: &ProbeResult,
        measured: &MeasuredLatencies,
        emulation: Emulation,
    ) -> Self {
        let nanoseconds = |latency: &Duration| {
            groupkey_sim::Duration::from_nanos(latency.as_nanos().try_into().unwrap_or(u64::MAX))
        };
        let live = ProbeResult {
            latencies: measured.latencies.iter().map(nanoseconds).collect(),
            ..ProbeResult::default()
        };
        let simulated = ProbeTimes::new(simulated_messages(arguments.messages), simulated);
        let live = ProbeTimes::new(arguments.messages, &live);
        let means = simulated.mean_ms.zip(live.mean_ms);
        Self {
            loss_percent: conditions.loss_percent,
            delay_ms: conditions.delay_ms,
            qos,
            until: match arguments.until {
                HandOver::PubRel => "PUBREL",
                HandOver::Publish => "PUBLISH",
            },
            seed: arguments.seed,
            difference_percent: means.map(|(simulated, live)| difference_percent(simulated, live)),
            simulated,
            live,
            congestion: measured.congestion.clone(),
            emulation,
        }
    }

    fn cells(&self) -> [String; 12] {
        let [late, late_p99] = self.emulation.cells();
        [
            self.loss_percent.to_string(),
            self.delay_ms.to_string(),
            self.qos.to_string(),
            figure_if_any(self.simulated.mean_ms),
            figure_if_any(self.live.mean_ms),
            figure_if_any(self.live.standard_error_ms),
            signed(self.difference_percent),
            figure_if_any(self.simulated.p90_ms),
            figure_if_any(self.live.p90_ms),
            format!("{}/{}", self.live.delivered, self.live.messages),
            late,
            late_p99,
        ]
    }
}

impl ProbeTimes {
    fn new(messages: u32, result: &ProbeResult) -> Self {
        let delivered = result.latencies.len();
        let ms = |nanoseconds: f64| (delivered > 0).then_some(nanoseconds.round() / 1e6);
        let percentile = |share| ms(result.percentile(share).as_nanos() as f64);
        Self {
            messages,
            delivered,
            mean_ms: ms(result.mean()),
            standard_error_ms: ms(result.standard_error()),
            p50_ms: percentile(0.50),
            p90_ms: percentile(0.90),
            p99_ms: percentile(0.99),
        }
    }
}

fn print(
    rows: &[ProbeComparison],
    arguments: &ValidateArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let congestion = rows.first().map_or("", |row| &row.congestion);
    writeln!(
        out,
        "Single messages of 100 bytes, {} through Mosquitto, {} simulated; TCP with {congestion}; \
         seed {}.\n",
        arguments.messages,
        simulated_messages(arguments.messages),
        arguments.seed,
    )?;
    let mut table = Table::new([
        Column::number("loss %"),
        Column::number("delay ms"),
        Column::number("QoS"),
        Column::number("simulated ms"),
        Column::number("live ms"),
        Column::number("std. error"),
        Column::number("apart %"),
        Column::number("sim. p90"),
        Column::number("live p90"),
        Column::number("delivered"),
        Column::number("late ms"),
        Column::number("late p99"),
    ]);
    for row in rows {
        table.row(row.cells());
    }
    write!(out, "{table}")?;
    Ok(())
}
