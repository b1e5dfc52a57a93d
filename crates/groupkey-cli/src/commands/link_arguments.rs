//! Loss, delay and quality of service: the arguments of every command that sends
//! messages over links.

use clap::Args;

use crate::number;

/// Lists of values. Each combination is run. Commands set their own defaults.
#[derive(Args, Clone, Debug)]
pub(crate) struct LinkArguments {
    /// Packets lost on each client's link, each way, in per cent (0 to 100).
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::loss,
    )]
    pub(crate) loss: Vec<f64>,

    /// One-way delay of each client's link in milliseconds.
    #[arg(
        long,
        value_name = "MS",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::delay,
    )]
    pub(crate) delay: Vec<f64>,

    /// MQTT quality of service: 0, 1 or 2.
    #[arg(
        long,
        value_name = "QOS",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::quality_of_service,
    )]
    pub(crate) qos: Vec<u8>,
}
