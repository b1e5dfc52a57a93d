//! The broker of a demonstration, and the network to it.

use clap::Args;
#[cfg(target_os = "linux")]
use groupkey_lab::conditions::Conditions;
use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{Connection, Quality};
use groupkey_testbed::broker;

use crate::address::HostAndPort;
#[cfg(target_os = "linux")]
use crate::commands::impaired_broker::{ImpairedBroker, link};
use crate::failure::Failure;
use crate::number;
use crate::value_parsers;

/// The broker, and the network to it.
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

    /// Packets lost on each party's link, each way, in per cent. Starts a Mosquitto behind a
    /// network device that drops them, which needs the right to create one.
    #[cfg(target_os = "linux")]
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = number::loss,
        conflicts_with = "broker",
        allow_negative_numbers = true,
    )]
    loss: Option<f64>,

    /// One-way delay of each party's link in milliseconds, in the same way.
    #[cfg(target_os = "linux")]
    #[arg(
        long,
        value_name = "MS",
        value_parser = number::delay,
        conflicts_with = "broker",
        allow_negative_numbers = true,
    )]
    delay: Option<f64>,
}

/// A broker, and the value that keeps it running.
#[derive(Debug)]
pub(super) struct DemoBroker {
    host: String,
    port: u16,
    mqtt: Version,
    qos: u8,
    #[cfg(target_os = "linux")]
    _impaired: Option<ImpairedBroker>,
}

impl DemoBroker {
    pub(super) fn new(arguments: &DemoNetworkArguments, seed: u64) -> Result<Self, Failure> {
        let DemoNetworkArguments { mqtt, qos, .. } = *arguments;
        #[cfg(target_os = "linux")]
        if arguments.loss.is_some() || arguments.delay.is_some() {
            return Self::impaired(arguments, seed);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = seed;
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
        Ok(Self {
            host,
            port,
            mqtt,
            qos,
            #[cfg(target_os = "linux")]
            _impaired: None,
        })
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

    #[cfg(target_os = "linux")]
    fn impaired(arguments: &DemoNetworkArguments, seed: u64) -> Result<Self, Failure> {
        let conditions =
            Conditions::of(arguments.loss.unwrap_or(0.0), arguments.delay.unwrap_or(0.0));
        let impaired = ImpairedBroker::mosquitto(seed, "cubic")?;
        impaired.emulator().set_all(link(&conditions));
        let address = impaired.address();
        let (host, port) = (address.ip().to_string(), address.port());
        let DemoNetworkArguments { mqtt, qos, .. } = *arguments;
        Ok(Self { host, port, mqtt, qos, _impaired: Some(impaired) })
    }
}
