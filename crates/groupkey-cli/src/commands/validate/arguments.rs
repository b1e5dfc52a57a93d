//! The arguments of `groupkey validate`.

use clap::Args;
use groupkey_lab::conditions::Conditions;
use groupkey_sim::HandOver;

use crate::commands::link_arguments::LinkArguments;
use crate::commands::scheme_arguments::HistoryArguments;
use crate::number::{self, distinct};
use crate::value_parsers;

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
    /// Compare single messages, one at a time, from one publisher to one subscriber, instead of
    /// whole operations.
    #[arg(long)]
    pub(super) probe: bool,

    #[command(flatten)]
    pub(super) history: HistoryArguments,

    /// Members with which the group is created.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "6",
        conflicts_with = "probe",
        allow_negative_numbers = true,
        value_parser = number::whole(2..=crate::commands::live_plans::MOST_LIVE_MEMBERS),
    )]
    pub(super) members: Vec<u32>,

    /// Live runs of each combination.
    #[arg(
        long,
        value_name = "R",
        default_value = "20",
        conflicts_with = "probe",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=10_000),
    )]
    pub(super) runs: u32,

    #[command(flatten)]
    pub(super) links: LinkArguments,

    /// Packet of QoS 2 at which the subscriber takes a message as delivered.
    #[arg(
        long,
        value_name = "PACKET",
        requires = "probe",
        default_value = "pubrel",
        value_parser = value_parsers::hand_over(),
    )]
    pub(super) until: HandOver,

    /// Messages to send through the broker for each combination.
    #[arg(
        long,
        value_name = "N",
        requires = "probe",
        default_value = "200",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=1_000_000),
    )]
    pub(super) messages: u32,

    /// Congestion control of the connections' TCP, as the kernel calls it. The simulator's is Reno,
    /// which differs from cubic on long transfers only.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(super) congestion: String,

    /// Seed of the randomness.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    pub(super) seed: u64,

    /// Fail if any mean is more than this many per cent from the measured one.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = share)]
    pub(super) within: Option<f64>,

    /// Print one JSON object for each row (JSON Lines).
    #[arg(long)]
    pub(super) json: bool,
}

impl ValidateArguments {
    /// Returns every combination of loss, delay and quality of service, in the order of the lists.
    pub(super) fn networks(&self) -> Vec<(Conditions, u8)> {
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

/// Returns the chosen values, or the usual ones.
fn chosen<'a, T: PartialEq>(asked: &'a [T], usual: &'a [T]) -> Vec<&'a T> {
    distinct(if asked.is_empty() { usual } else { asked })
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
