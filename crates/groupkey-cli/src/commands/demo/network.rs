//! The broker of a demonstration, and how its parties reach it.

use clap::Args;
use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{Connection, Quality};
use groupkey_testbed::broker;

use crate::address::HostAndPort;
use crate::failure::Failure;
use crate::number;
use crate::value_parsers;

/// The broker, and how parties reach it.
#[derive(Args, Debug)]
pub(crate) struct DemoNetworkArguments {
    /// An existing broker, without TLS. Without this option, a broker runs within the process.
    #[arg(long, value_name = "HOST:PORT")]
    broker: Option<HostAndPort>,

    /// Version of MQTT.
    #[arg(long, value_name = "VERSION", default_value = "5", value_parser = value_parsers::mqtt())]
    mqtt: Version,

    /// MQTT quality of service: 0, 1 or 2.
    #[arg(
        long,
        default_value = "1",
        value_parser = number::quality_of_service,
        allow_negative_numbers = true,
    )]
    qos: u8,
}

/// A broker, and how parties connect to it.
#[derive(Debug)]
pub(super) struct DemoBroker {
    host: String,
    port: u16,
    mqtt: Version,
    qos: u8,
}

impl DemoBroker {
    pub(super) fn new(arguments: &DemoNetworkArguments) -> Result<Self, Failure> {
        let DemoNetworkArguments { mqtt, qos, .. } = *arguments;
        let (host, port) = match &arguments.broker {
            Some(broker) => {
                broker.reach()?;
                (broker.host.clone(), broker.port)
            }
            None => {
                let address = broker::start().map_err(|error| {
                    Failure::running(format!("the broker does not start: {error}"))
                })?;
                (address.ip().to_string(), address.port())
            }
        };
        Ok(Self { host, port, mqtt, qos })
    }

    /// Returns `HOST:PORT`.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn connection(&self, client: String) -> Connection {
        let version = self.mqtt;
        let qos = Quality::from_level(self.qos).expect("--qos takes 0 to 2");
        Connection { version, qos, ..Connection::new(&self.host, self.port, client) }
    }
}
