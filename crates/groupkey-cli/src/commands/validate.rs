//! `groupkey validate`: the simulator beside the real thing.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use groupkey_lab::campaign::Progress;
use groupkey_lab::conditions::{Conditions, LossDirection};
use groupkey_mqtt::impairment::{
    self, Emulator, Impairment, LatencySettings, Lateness, Link, Measured, Mosquitto,
};
use groupkey_sim::{HandOver, NetworkConfig, ProbeResult, ProbeSettings, Qos, probe};
use serde::Serialize;

use crate::failure::Failure;
use crate::number::distinct;
use crate::progress::ProgressBar;
use crate::table::{Column, Table, figure};
use crate::{choice, number};

/// Arguments of `groupkey validate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo groupkey validate --probe
  sudo groupkey validate --probe --loss 0,5 --delay 0,100 --qos 0,1,2 --messages 2000
  sudo unshare --net groupkey validate --probe --json      in a network namespace of its own

Needs Linux, Mosquitto, the command ip, and the right to make a TUN device (CAP_NET_ADMIN).
Lateness is what the emulator added by itself, once for each packet; a difference of that size,
or within two standard errors, says nothing about the simulator.")]
pub(crate) struct ValidateArguments {
    /// Compare single messages, one at a time, from one publisher to one subscriber.
    #[arg(long, required = true)]
    probe: bool,

    /// Packets lost on each client's link, each way, in per cent (0 to 100).
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = number::loss,
    )]
    loss: Vec<f64>,

    /// One-way delay of each client's link in milliseconds.
    #[arg(
        long,
        value_name = "MS",
        value_delimiter = ',',
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = number::delay,
    )]
    delay: Vec<f64>,

    /// MQTT quality of service: 0, 1 or 2.
    #[arg(
        long,
        value_name = "QOS",
        value_delimiter = ',',
        default_value = "0,1,2",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u8).range(0..=2),
    )]
    qos: Vec<u8>,

    /// At which packet of QoS 2 the subscriber takes a message as delivered.
    #[arg(long, value_name = "PACKET", default_value = "pubrel", value_parser = choice::hand_over())]
    until: HandOver,

    /// Messages to send through the broker for each combination.
    #[arg(
        long,
        value_name = "N",
        default_value = "200",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
    )]
    messages: u32,

    /// Congestion control of the connections' TCP, as the kernel calls it; the simulator's is
    /// Reno, which differs from cubic on long transfers only.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,

    /// Seed of the randomness.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Fail if any mean is further from the measured one than so many per cent.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = share)]
    within: Option<f64>,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    json: bool,
}

/// One combination, simulated and measured.
#[derive(Debug, Serialize)]
struct Row {
    loss_percent: f64,
    delay_ms: f64,
    qos: u8,
    until: &'static str,
    seed: u64,
    simulated: Times,
    live: Times,
    /// How much longer the simulated mean is than the measured one.
    difference_percent: Option<f64>,
    congestion: String,
    packets: u64,
    /// Packets that the emulator dropped by chance.
    dropped: u64,
    /// Packets that it dropped for want of room; any spoil the row.
    overflow: u64,
    lateness_mean_ms: f64,
    lateness_p99_ms: f64,
    lateness_max_ms: f64,
}

/// Latencies of one side; absent when nothing was delivered.
#[derive(Debug, Serialize)]
struct Times {
    messages: u32,
    delivered: usize,
    mean_ms: Option<f64>,
    standard_error_ms: Option<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// Compares every combination and prints how far apart the two are.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let combinations = combinations(arguments);
    let emulator = Emulator::start(PORT, Link::default(), arguments.seed, &arguments.congestion)
        .map_err(|error| refusal(&error))?;
    let addresses = emulator.addresses();
    let _broker =
        Mosquitto::start(addresses.broker, addresses.clients).map_err(|error| refusal(&error))?;

    let runs_total = combinations.len() * arguments.messages as usize;
    let bar = ProgressBar::counting("messages");
    let mut runs_done = 0;
    let mut rows = Vec::new();
    for (conditions, qos) in combinations {
        let link = impairment(&conditions);
        emulator.set_all(Link { up: link, down: link });
        emulator.take_lateness();
        let before = emulator.counts();
        let settings = LatencySettings {
            until: match arguments.until {
                HandOver::PubRel => impairment::HandOver::PubRel,
                HandOver::Publish => impairment::HandOver::Publish,
            },
            ..LatencySettings::new(SocketAddr::V4(addresses.clients), qos, arguments.messages)
        };
        let measured = impairment::measure(&settings, || {
            runs_done += 1;
            bar.update(Progress { runs_done, runs_total, plans_done: 0, plans_total: 0 });
        })
        .map_err(|seen| Failure::running(format!("through the impaired network, {seen}")))?;
        let (after, lateness) = (emulator.counts(), emulator.take_lateness());
        let simulated = simulate(arguments, &conditions, qos);
        let mut row = Row::new(arguments, &conditions, qos, &simulated, &measured, &lateness);
        row.dropped = after.dropped - before.dropped;
        row.overflow = after.overflow - before.overflow;
        if arguments.json {
            writeln!(out, "{}", serde_json::to_string(&row).expect("a row is plain data"))?;
        }
        rows.push(row);
    }
    drop(bar);
    if !arguments.json {
        print(&rows, arguments, out)?;
    }
    judge(&rows, arguments.within)
}

fn combinations(arguments: &ValidateArguments) -> Vec<(Conditions, u8)> {
    let mut combinations = Vec::new();
    for &loss_percent in distinct(&arguments.loss) {
        for &delay_ms in distinct(&arguments.delay) {
            let conditions = Conditions { loss_percent, delay_ms, ..Conditions::default() };
            combinations.extend(distinct(&arguments.qos).into_iter().map(|&qos| (conditions, qos)));
        }
    }
    combinations
}

fn impairment(conditions: &Conditions) -> Impairment {
    Impairment {
        delay: Duration::from_secs_f64(conditions.delay_ms / 1e3),
        loss: conditions.loss_percent / 100.0,
    }
}

fn simulate(arguments: &ValidateArguments, conditions: &Conditions, qos: u8) -> ProbeResult {
    let level = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce][usize::from(qos)];
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

/// Virtual time is cheap, so that the error of the comparison is the measurement's.
fn simulated_messages(messages: u32) -> u32 {
    messages.max(20_000)
}

impl Row {
    fn new(
        arguments: &ValidateArguments,
        conditions: &Conditions,
        qos: u8,
        simulated: &ProbeResult,
        measured: &Measured,
        lateness: &Lateness,
    ) -> Self {
        let nanoseconds = |latency: &Duration| {
            groupkey_sim::Duration::from_nanos(latency.as_nanos().try_into().unwrap_or(u64::MAX))
        };
        let live = ProbeResult {
            latencies: measured.latencies.iter().map(nanoseconds).collect(),
            ..ProbeResult::default()
        };
        let simulated = Times::new(simulated_messages(arguments.messages), simulated);
        let live = Times::new(arguments.messages, &live);
        let difference = |(simulated, live): (f64, f64)| (simulated / live - 1.0) * 100.0;
        let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
        Self {
            loss_percent: conditions.loss_percent,
            delay_ms: conditions.delay_ms,
            qos,
            until: match arguments.until {
                HandOver::PubRel => "PUBREL",
                HandOver::Publish => "PUBLISH",
            },
            seed: arguments.seed,
            difference_percent: simulated.mean_ms.zip(live.mean_ms).map(difference),
            simulated,
            live,
            congestion: measured.congestion.clone(),
            packets: lateness.packets(),
            dropped: 0,
            overflow: 0,
            lateness_mean_ms: ms(lateness.mean()),
            lateness_p99_ms: ms(lateness.percentile(0.99)),
            lateness_max_ms: ms(lateness.max()),
        }
    }

    fn cells(&self) -> [String; 12] {
        let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), figure);
        [
            self.loss_percent.to_string(),
            self.delay_ms.to_string(),
            self.qos.to_string(),
            time(self.simulated.mean_ms),
            time(self.live.mean_ms),
            time(self.live.standard_error_ms),
            self.difference_percent.map_or_else(|| "-".to_owned(), |d| format!("{d:+.1}")),
            time(self.simulated.p90_ms),
            time(self.live.p90_ms),
            format!("{}/{}", self.live.delivered, self.live.messages),
            figure(self.lateness_mean_ms),
            figure(self.lateness_p99_ms),
        ]
    }
}

impl Times {
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

fn print(rows: &[Row], arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
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
    let apart = |row: &Row| row.difference_percent.map(f64::abs);
    if let Some(furthest) = rows.iter().filter_map(apart).max_by(f64::total_cmp) {
        writeln!(out, "\nFurthest apart: {furthest:.1} %.")?;
    }
    Ok(())
}

/// A row whose packets did not fit is no measurement; beyond that the user says what is too far.
fn judge(rows: &[Row], within: Option<f64>) -> Result<(), Failure> {
    if rows.iter().any(|row| row.overflow > 0) {
        return Err(Failure::running("the emulator had no room for all packets"));
    }
    let Some(within) = within else { return Ok(()) };
    let too_far =
        |row: &&Row| row.difference_percent.is_none_or(|difference| difference.abs() > within);
    match rows.iter().filter(too_far).count() {
        0 => Ok(()),
        rows => Err(Failure::running(format!("{rows} rows are more than {within} % apart"))),
    }
}

fn refusal(error: &impairment::Error) -> Failure {
    let help = match error {
        impairment::Error::NoDevice => {
            "load the kernel's module tun, or give the container the device"
        }
        impairment::Error::NoRights => "run it as root, or in a container with NET_ADMIN",
        impairment::Error::Command("mosquitto", _) => "install it: apt install mosquitto",
        impairment::Error::Command(..) => {
            "it takes ip of iproute2, and a congestion control that the kernel has (--congestion)"
        }
        impairment::Error::Device(_) => "groupkey net --probe simulates without a device",
    };
    Failure::running(format!("no impaired network: {error}")).with_help(help)
}

fn share(text: &str) -> Result<f64, String> {
    let percent: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    match percent {
        0.0..=1e6 => Ok(percent),
        _ => Err("expected a share in per cent".to_owned()),
    }
}

/// Free on an address that is the device's own.
const PORT: u16 = 1883;
