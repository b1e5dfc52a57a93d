//! `groupkey net --probe`: single messages from one publisher to one subscriber.

use std::io::Write;

use clap::Args;
use groupkey_lab::conditions::{Conditions, LossDirection};
use groupkey_sim::{Duration, HandOver, NetworkConfig, ProbeSettings, Qos, probe};
use serde::Serialize;

use crate::commands::net::network::NetworkArguments;
use crate::commands::net::rows;
use crate::failure::Failure;
use crate::number::distinct;
use crate::table::{Column, Table, figure_if_any};
use crate::{number, value_parsers};

/// The settings of a probe.
#[derive(Args, Debug)]
#[command(next_help_heading = "Probe")]
pub(crate) struct ProbeArguments {
    /// Measure single messages, one at a time, from one publisher to one subscriber.
    #[arg(long, conflicts_with_all = ["GroupArguments", "OutageArguments", "runs"])]
    probe: bool,

    /// Messages to send [default: 2000].
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=1_000_000),
    )]
    messages: Option<u32>,

    /// Bytes of a message's payload [default: 100].
    #[arg(
        long,
        value_name = "BYTES",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::whole(0..=MOST_PAYLOAD),
    )]
    payload: Vec<u32>,

    /// Packet of QoS 2 at which the subscriber takes a message as delivered [default: pubrel].
    #[arg(long, value_name = "PACKET", value_parser = value_parsers::hand_over())]
    until: Option<HandOver>,
}

/// The longest payload that a probe takes (bytes). A larger number counts as a typing error.
const MOST_PAYLOAD: u32 = 10_000_000;

const USUAL_PAYLOAD: u32 = 100;

/// The results of a probe in one network. The times are absent if nothing was delivered.
#[derive(Debug, Serialize)]
struct ProbeRow {
    loss_percent: f64,
    loss_direction: &'static str,
    burst_ms: Option<f64>,
    delay_ms: f64,
    jitter_ms: f64,
    bandwidth_kbit_s: Option<f64>,
    qos: u8,
    /// The packet at which a message counts as delivered, if there are several.
    until: Option<&'static str>,
    payload_bytes: u32,
    messages: u32,
    delivered: usize,
    seed: u64,
    mean_ms: Option<f64>,
    standard_error_ms: Option<f64>,
    sd_ms: Option<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p99_ms: Option<f64>,
    retransmissions: u64,
    wire_bytes: u64,
}

impl ProbeArguments {
    pub(crate) const fn is_asked_for(&self) -> bool {
        self.probe
    }

    /// Refuses options that only a probe uses. (The parser does not, if another option
    /// excludes --probe.)
    pub(crate) fn refuse_without_probe(&self) -> Result<(), Failure> {
        let given = [
            ("--messages", self.messages.is_some()),
            ("--payload", !self.payload.is_empty()),
            ("--until", self.until.is_some()),
        ];
        if self.probe { Ok(()) } else { Failure::refuse_any(&given, "--probe") }
    }

    fn messages(&self) -> u32 {
        self.messages.unwrap_or(2_000)
    }

    /// Returns the payloads, the usual one if none was given (bytes).
    fn payloads(&self) -> Vec<u32> {
        match &self.payload[..] {
            [] => vec![USUAL_PAYLOAD],
            chosen => distinct(chosen).into_iter().copied().collect(),
        }
    }

    fn until(&self) -> HandOver {
        self.until.unwrap_or_default()
    }
}

pub(crate) fn run(
    arguments: &ProbeArguments,
    network: &NetworkArguments,
    seed: u64,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if arguments.until.is_some() && !network.has_qos_2() {
        return Err(
            Failure::input("--until is about QoS 2").with_help("add --qos 2, or leave it out")
        );
    }
    let cases = cases(arguments, network, seed)?;
    if json {
        for case in &cases {
            let line = serde_json::to_string(&case.probe()).expect("a row is plain data");
            writeln!(out, "{line}")?;
        }
        return Ok(());
    }

    let has_bandwidths = rows::bandwidths_differ(cases.iter().map(|case| &case.conditions));
    let payloads = arguments.payloads();
    let told = [(has_bandwidths, "kbit/s"), (payloads.len() > 1, "payload B")];
    let told = told.into_iter().filter(|(is_told, _)| *is_told);
    let mut table = Table::new(
        [
            Column::number("loss %"),
            Column::number("delay ms"),
            Column::number("QoS"),
            Column::number("mean ms"),
            Column::number("std. error"),
            Column::number("sd"),
            Column::number("p50"),
            Column::number("p90"),
            Column::number("p99"),
            Column::number("delivered"),
            Column::number("resent"),
            Column::number("wire B"),
        ]
        .into_iter()
        .chain(told.map(|(_, name)| Column::number(name))),
    );
    for case in &cases {
        let row = case.probe();
        let rate = row.bandwidth_kbit_s.map_or_else(|| "inf".to_owned(), |rate| rate.to_string());
        let further = [(has_bandwidths, rate), (payloads.len() > 1, row.payload_bytes.to_string())];
        let further = further.into_iter().filter_map(|(is_told, cell)| is_told.then_some(cell));
        table.row(row.cells().into_iter().chain(further));
    }
    let until = match network.has_qos_2() {
        true => format!(" delivered at {};", packet(arguments.until())),
        false => String::new(),
    };
    let bytes = match payloads[..] {
        [bytes] => format!(" of {bytes} bytes"),
        _ => String::new(),
    };
    writeln!(
        out,
        "One publisher, one subscriber, {} messages{bytes}, one at a time;{until} seed {seed}.",
        arguments.messages(),
    )?;
    let unusual = rows::unusual(cases.iter().map(|case| &case.conditions));
    if !unusual.is_empty() {
        writeln!(out, "All rows: {}.", unusual.join(", "))?;
    }
    writeln!(out)?;
    write!(out, "{table}")?;
    Ok(())
}

/// One probe to make.
#[derive(Debug)]
struct Case {
    conditions: Conditions,
    qos: u8,
    settings: ProbeSettings,
}

fn cases(
    arguments: &ProbeArguments,
    network: &NetworkArguments,
    seed: u64,
) -> Result<Vec<Case>, Failure> {
    let case = |(conditions, qos): (Conditions, u8), payload_bytes: u32| {
        let level = Qos::from_number(qos).expect("--qos takes 0 to 2");
        let defaults = ProbeSettings::new(0.0, Duration::ZERO, level);
        let settings = ProbeSettings {
            up: conditions.settings(LossDirection::Up),
            down: conditions.settings(LossDirection::Down),
            until: arguments.until(),
            messages: arguments.messages(),
            payload_bytes,
            network: NetworkConfig { seed, ..defaults.network },
            ..defaults
        };
        Case { conditions, qos, settings }
    };
    let payloads = arguments.payloads();
    let of_network = |network| payloads.iter().map(move |&payload| case(network, payload));
    Ok(network.combinations()?.into_iter().flat_map(of_network).collect())
}

impl Case {
    fn probe(&self) -> ProbeRow {
        let result = probe(&self.settings);
        let delivered = result.latencies.len();
        // Rounded to the nanosecond, as the simulator counts.
        let ms = |nanoseconds: f64| (delivered > 0).then_some(nanoseconds.round() / 1e6);
        let percentile = |share| ms(result.percentile(share).as_nanos() as f64);
        let Conditions {
            loss_percent,
            loss_direction,
            burst_ms,
            delay_ms,
            jitter_ms,
            bandwidth_kbit_s,
            outages: _,
        } = self.conditions;
        ProbeRow {
            loss_percent,
            loss_direction: loss_direction.name(),
            burst_ms,
            delay_ms,
            jitter_ms,
            bandwidth_kbit_s,
            qos: self.qos,
            until: (self.qos == 2).then(|| packet(self.settings.until)),
            payload_bytes: self.settings.payload_bytes,
            messages: self.settings.messages,
            delivered,
            seed: self.settings.network.seed,
            mean_ms: ms(result.mean()),
            standard_error_ms: ms(result.standard_error()),
            sd_ms: ms(result.standard_deviation()),
            p50_ms: percentile(0.50),
            p90_ms: percentile(0.90),
            p99_ms: percentile(0.99),
            retransmissions: result.traffic.retransmissions,
            wire_bytes: result.traffic.wire_bytes,
        }
    }
}

impl ProbeRow {
    fn cells(&self) -> [String; 12] {
        [
            self.loss_percent.to_string(),
            self.delay_ms.to_string(),
            self.qos.to_string(),
            figure_if_any(self.mean_ms),
            figure_if_any(self.standard_error_ms),
            figure_if_any(self.sd_ms),
            figure_if_any(self.p50_ms),
            figure_if_any(self.p90_ms),
            figure_if_any(self.p99_ms),
            self.delivered.to_string(),
            self.retransmissions.to_string(),
            self.wire_bytes.to_string(),
        ]
    }
}

const fn packet(hand_over: HandOver) -> &'static str {
    match hand_over {
        HandOver::PubRel => "PUBREL",
        HandOver::Publish => "PUBLISH",
    }
}
