//! The conditions of the network: the arguments that groups and the probe share.

use clap::Args;
use groupkey_lab::conditions::{Conditions, LossDirection};

use crate::failure::Failure;
use crate::number::distinct;
use crate::{number, value_parsers};

/// The links between the clients and the broker, and the messages' quality of service.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArguments {
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
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = number::quality_of_service,
    )]
    qos: Vec<u8>,

    /// Each packet's delay varies by up to this many milliseconds in either direction.
    #[arg(
        long,
        value_name = "MS",
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = number::jitter,
    )]
    jitter: f64,

    /// Bandwidth of each client's link in kbit/s [default: inf, which is no limit].
    #[arg(
        long,
        value_name = "KBIT/S",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::bandwidth,
    )]
    bandwidth: Vec<f64>,

    /// Lose packets in bursts of this mean length in milliseconds; the overall loss stays the same.
    #[arg(
        long,
        value_name = "MS",
        allow_negative_numbers = true,
        value_parser = number::burst,
    )]
    burst: Option<f64>,

    /// Which direction of a link loses packets.
    #[arg(
        long,
        value_name = "DIRECTION",
        default_value = "both",
        value_parser = value_parsers::loss_direction(),
    )]
    loss_direction: LossDirection,
}

impl NetworkArguments {
    /// Returns every combination of loss, delay, bandwidth and quality of service, in the order of
    /// the lists.
    pub(crate) fn combinations(&self) -> Result<Vec<(Conditions, u8)>, Failure> {
        self.refuse_losing_nothing()?;
        let mut combinations = Vec::new();
        for &loss_percent in distinct(&self.loss) {
            for &delay_ms in distinct(&self.delay) {
                for bandwidth_kbit_s in self.bandwidths() {
                    let conditions = Conditions {
                        loss_percent,
                        loss_direction: self.loss_direction,
                        burst_ms: self.burst,
                        delay_ms,
                        jitter_ms: self.jitter,
                        bandwidth_kbit_s,
                        outages: None,
                    };
                    conditions.validate().map_err(|error| Failure::input(error.to_string()))?;
                    let qualities = distinct(&self.qos);
                    combinations.extend(qualities.into_iter().map(|&qos| (conditions, qos)));
                }
            }
        }
        Ok(combinations)
    }

    /// Returns the bandwidths of the list; `None` stands for no limit.
    fn bandwidths(&self) -> Vec<Option<f64>> {
        match &self.bandwidth[..] {
            [] => vec![None],
            rates => distinct(rates)
                .into_iter()
                .map(|rate| Some(*rate).filter(|r| r.is_finite()))
                .collect(),
        }
    }

    /// Returns whether any combination has QoS 2.
    pub(super) fn has_qos_2(&self) -> bool {
        self.qos.contains(&2)
    }

    fn refuse_losing_nothing(&self) -> Result<(), Failure> {
        let is_both = self.loss_direction == LossDirection::Both;
        let given = [("--burst", self.burst.is_some()), ("--loss-direction", !is_both)];
        let loses_nothing = self.loss.iter().all(|&loss| loss == 0.0);
        match given.iter().find(|(_, is_given)| *is_given && loses_nothing) {
            Some((option, _)) => Err(Failure::input(format!("{option} takes a --loss"))
                .with_help("say how much is lost, as in --loss 5")),
            None => Ok(()),
        }
    }
}
