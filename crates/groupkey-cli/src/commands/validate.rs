//! `groupkey validate`: the simulator beside the real thing.

mod operations;
mod probe;

use std::io::Write;

use clap::Args;
use groupkey_lab::conditions::Conditions;
use groupkey_sim::HandOver;

use crate::choice;
use crate::commands::history::HistoryArguments;
use crate::commands::links::LinkArguments;
use crate::failure::Failure;
use crate::number::distinct;

/// Arguments of `groupkey validate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo groupkey validate
  sudo groupkey validate --scheme tgdh --operation create,add,remove --members 5 --loss 5 --delay 50
  sudo groupkey validate --probe --loss 0,5 --delay 0,100 --qos 0,1,2 --messages 2000
  sudo unshare --net groupkey validate --probe --json      in a network namespace of its own

Needs Linux, Mosquitto, the command ip, and the right to make a TUN device (CAP_NET_ADMIN).

Of operations, both sides run the same groups: the same keys, messages and bytes (same_payload; but
in dh-lkh what arrives late changes what is sent), and parties that pause for as long as the device
profile host computes. A step that takes this machine longer counts only on the live side. The
simulator runs each setting 1000 times, the first of them with the seeds of the live runs.

Lateness is the time that the emulator itself adds to each packet. A difference of that size, or
within two standard errors, is no evidence against the simulator.")]
#[command(
    mut_arg("scheme", |scheme| scheme.default_value("skdc,lkh-group,gdh2-relay").conflicts_with("probe")),
    mut_arg("operation", |operation| operation.conflicts_with("probe")),
    mut_arg("loss", |loss| loss.help(LOSS)),
    mut_arg("delay", |delay| delay.help(DELAY)),
    mut_arg("qos", |qos| qos.help(QOS)),
)]
pub(crate) struct ValidateArguments {
    /// Compare single messages, one at a time, from one publisher to one subscriber, instead of whole
    /// operations.
    #[arg(long)]
    probe: bool,

    #[command(flatten)]
    history: HistoryArguments,

    /// Members with which the group is created.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "6",
        conflicts_with = "probe",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(2..=i64::from(super::live::MOST_LIVE_MEMBERS)),
    )]
    members: Vec<u32>,

    /// Live runs of each combination.
    #[arg(
        long,
        value_name = "R",
        default_value = "20",
        conflicts_with = "probe",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    runs: u32,

    #[command(flatten)]
    links: LinkArguments,

    /// At which packet of QoS 2 the subscriber takes a message as delivered.
    #[arg(
        long,
        value_name = "PACKET",
        requires = "probe",
        default_value = "pubrel",
        value_parser = choice::hand_over(),
    )]
    until: HandOver,

    /// Messages to send through the broker for each combination.
    #[arg(
        long,
        value_name = "N",
        requires = "probe",
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

    /// Fail if any mean is more than this many per cent from the measured one.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = share)]
    within: Option<f64>,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    json: bool,
}

/// Compares every combination and prints how far apart the two are.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.probe {
        true => probe::run(arguments, out),
        false => operations::run(arguments, out),
    }
}

impl ValidateArguments {
    /// Every combination of loss, delay and quality of service, in the order of the lists.
    fn networks(&self) -> Vec<(Conditions, u8)> {
        let (loss, delay, qos) = match self.probe {
            true => (&[0.0][..], &[0.0][..], &[0, 1, 2][..]),
            false => (&[0.0, 5.0][..], &[50.0][..], &[1][..]),
        };
        let mut networks = Vec::new();
        for &loss_percent in chosen(&self.links.loss, loss) {
            for &delay_ms in chosen(&self.links.delay, delay) {
                let conditions = Conditions::of(loss_percent, delay_ms);
                networks
                    .extend(chosen(&self.links.qos, qos).into_iter().map(|&qos| (conditions, qos)));
            }
        }
        networks
    }
}

/// What was asked for, or what is usual.
fn chosen<'a, T: PartialEq>(asked: &'a [T], usual: &'a [T]) -> Vec<&'a T> {
    distinct(if asked.is_empty() { usual } else { asked })
}

/// Says how far apart the furthest are; fails if that is more than the user allows. Where nothing was
/// measured there is no difference.
fn judge(
    differences: &[Option<f64>],
    arguments: &ValidateArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let furthest = differences.iter().flatten().map(|d| d.abs()).max_by(f64::total_cmp);
    if let (Some(furthest), false) = (furthest, arguments.json) {
        writeln!(out, "\nFurthest apart: {furthest:.1} %.")?;
    }
    let Some(within) = arguments.within else { return Ok(()) };
    let is_too_far = |difference: &&Option<f64>| difference.is_none_or(|d| d.abs() > within);
    match differences.iter().filter(is_too_far).count() {
        0 => Ok(()),
        rows => Err(Failure::running(format!("{rows} rows differ by more than {within} %"))),
    }
}

/// By how many per cent the simulated mean is longer than the measured one.
fn difference_percent(simulated: f64, live: f64) -> f64 {
    (simulated / live - 1.0) * 100.0
}

/// A difference in a cell.
fn signed(difference: Option<f64>) -> String {
    difference.map_or_else(|| "-".to_owned(), |difference| format!("{difference:+.1}"))
}

fn share(text: &str) -> Result<f64, String> {
    let percent: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    match percent {
        0.0..=1e6 => Ok(percent),
        _ => Err("expected a share in per cent".to_owned()),
    }
}

const LOSS: &str = "Packets lost on each client's link, each way, in per cent (0 to 100) [default: 0,5; 0 with \
     --probe]";
const DELAY: &str =
    "One-way delay of each client's link in milliseconds [default: 50; 0 with --probe]";
const QOS: &str = "MQTT quality of service: 0, 1 or 2 [default: 1; 0,1,2 with --probe]";
