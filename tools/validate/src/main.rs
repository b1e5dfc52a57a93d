//! Measures groups through a real Mosquitto and the kernel's TCP, and compares the simulator with it.
//!
//! Standard output has two rows for each setting, as `groupkey net --json` writes them: the simulated
//! one, then the measured one, which says `"live": true`. Standard error compares their means.

#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("only Linux has the TUN device");

mod client;
mod device;
mod network;
mod queue;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use clap::Parser;
use groupkey::Operation;
use groupkey::catalogue::{self, Scheme};
use groupkey_lab::campaign::{self, CampaignOptions};
use groupkey_lab::conditions::Conditions;
use groupkey_lab::plan::{Plan, PlanStep};
use groupkey_lab::results::NetworkRow;
use groupkey_testbed::mosquitto::Mosquitto;
use serde_json::{Value, json};

use crate::device::Emulator;
use crate::network::LiveNetwork;
use crate::queue::Impairment;

/// Measure groups through a real Mosquitto and the kernel's TCP, and compare the simulator with it.
///
/// Each combination of the lists is a setting. Both sides run the same groups: the same keys, messages
/// and bytes, and parties that pause for as long as a host computes. A step that takes this machine longer
/// counts only on the live side. Needs Mosquitto, ip, and the right to make a TUN device.
#[derive(Debug, Parser)]
struct Arguments {
    /// Schemes, by their ids in the catalogue.
    #[arg(long, value_delimiter = ',', default_value = "skdc,lkh-group,gdh2-relay", value_parser = scheme)]
    scheme: Vec<&'static Scheme>,
    /// Operations to measure: create, add, remove, rekey, batch or send.
    #[arg(long, value_delimiter = ',', default_value = "create", value_parser = operation)]
    operation: Vec<Operation>,
    /// Members with which the group is created. All share this machine.
    #[arg(long, value_delimiter = ',', default_value = "6", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    members: Vec<u32>,
    /// Packets lost on each client's link, each way, in per cent.
    #[arg(long, value_delimiter = ',', default_value = "0,5")]
    loss: Vec<f64>,
    /// One-way delay of each client's link in milliseconds.
    #[arg(long, value_delimiter = ',', default_value = "50")]
    delay: Vec<f64>,
    /// MQTT quality of service: 0, 1 or 2.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    qos: Vec<u8>,
    /// Live runs of each setting. The simulator runs 1,000 or more, the first of them with the same seeds.
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seed of the randomness.
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Fail if any simulated mean is more than this many per cent from the measured one.
    #[arg(long, value_name = "PERCENT")]
    within: Option<f64>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let plans = plans(arguments)?;
    let device = Emulator::start(arguments.seed)?;
    let _mosquitto = Mosquitto::start(device.broker, device.clients)?;
    let mut too_far = 0;
    for (number, plan) in (0..).zip(&plans) {
        let simulated = simulate(plan)?;
        let (live, told) = measure(plan, &device, number * arguments.runs)?;
        for (simulated, live) in simulated.iter().zip(&live) {
            let apart = (simulated.mean_ms / live.mean_ms - 1.0) * 100.0;
            too_far += u32::from(arguments.within.is_some_and(|within| apart.abs() > within));
            for row in [object(simulated, &json!({})), object(live, &told)] {
                writeln!(io::stdout(), "{row}").map_err(|error| error.to_string())?;
            }
            let setting = &live.setting;
            eprintln!(
                "{} {}, {} members, {} % lost, {} ms, QoS {}: simulated {:.1} ms, live {:.1} ± {:.1} ms, \
                 {apart:+.1} %",
                setting.scheme,
                setting.operation,
                setting.members,
                setting.loss_percent,
                setting.delay_ms,
                setting.qos,
                simulated.mean_ms,
                live.mean_ms,
                live.ci95_ms.unwrap_or(f64::NAN),
            );
        }
    }
    match too_far {
        0 => Ok(()),
        rows => Err(format!("{rows} simulated means are further apart than --within allows")),
    }
}

fn plans(arguments: &Arguments) -> Result<Vec<Plan>, String> {
    let Arguments { scheme, operation, members, loss, delay, qos, runs, seed, .. } = arguments;
    let mut plans = Vec::new();
    for (scheme, members) in product(scheme, members) {
        for ((loss, delay), qos) in product(&product(loss, delay), qos) {
            let mut plan = Plan::new(scheme, members);
            plan.steps = PlanStep::history(scheme, operation);
            plan.set_conditions(Conditions::of(loss, delay));
            (plan.qos, plan.runs, plan.seed) = (qos, *runs, *seed);
            plan.validate().map_err(|error| format!("{}: {error}", scheme.id))?;
            plans.push(plan);
        }
    }
    Ok(plans)
}

fn product<A: Copy, B: Copy>(left: &[A], right: &[B]) -> Vec<(A, B)> {
    left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b))).collect()
}

/// Virtual time is cheap: with many runs, the error of the comparison is the measurement's.
fn simulate(plan: &Plan) -> Result<Vec<NetworkRow>, String> {
    let plan = Plan { runs: plan.runs.max(1_000), ..plan.clone() };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let options = CampaignOptions { threads, stop: &AtomicBool::new(false), on_progress: &|_| () };
    let mut rows = Vec::new();
    let outcome = campaign::run(&[plan], &options, &mut |row| {
        rows.push(row.clone());
        Ok(())
    });
    outcome.map(|_| rows).map_err(|error| error.to_string())
}

/// Returns the measured rows of a plan, and the fields that they have beyond the simulator's. The numbers
/// of the runs count from `first`.
fn measure(plan: &Plan, device: &Emulator, first: u32) -> Result<(Vec<NetworkRow>, Value), String> {
    let link = &plan.link.initial;
    let delay = Duration::from_secs_f64(link.delay_ms / 1e3);
    let impairment = Impairment { delay, loss: link.loss_percent / 100.0 };
    device.take_lateness();
    let dropped = device.counts().dropped;
    let mut runs = Vec::new();
    for run in 0..plan.runs {
        let network = LiveNetwork::new(
            device.clients.into(),
            plan.qos,
            Some(device),
            impairment,
            first + run,
        )?;
        runs.push(campaign::run_on(plan, run, network).map_err(|error| {
            format!("{error}; each party needs a connection: is ulimit -n high enough?")
        })?);
    }
    let late_us = device.take_lateness();
    let mut rows = campaign::rows(plan, &runs);
    rows.iter_mut().for_each(|row| row.retransmissions = f64::NAN);
    let sum: u64 = late_us.iter().copied().map(u64::from).sum();
    let told = json!({
        "live": true,
        "packets": late_us.len(),
        "dropped": device.counts().dropped - dropped,
        "lateness_mean_ms": sum as f64 / 1e3 / late_us.len() as f64,
        "lateness_p99_ms": late_us.get(late_us.len() * 99 / 100).map(|&us| f64::from(us) / 1e3),
    });
    Ok((rows, told))
}

/// Returns a row as `groupkey net --json` prints it, with further fields. What was not counted is null.
fn object(row: &NetworkRow, further: &Value) -> Value {
    let row = NetworkRow { samples: Vec::new(), ..row.clone() };
    let mut row = serde_json::to_value(row).expect("a row is plain data");
    row.as_object_mut()
        .expect("a row has fields")
        .extend(further.as_object().expect("it has fields").clone());
    row
}

fn scheme(id: &str) -> Result<&'static Scheme, String> {
    catalogue::scheme(id).ok_or_else(|| "no such scheme: groupkey schemes lists them".to_owned())
}

fn operation(name: &str) -> Result<Operation, String> {
    let known = Operation::BATCHED_CHANGES.into_iter().chain([Operation::Send]);
    known.into_iter().find(|it| it.name() == name).ok_or_else(|| "no such operation".to_owned())
}
