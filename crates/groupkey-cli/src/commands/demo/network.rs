//! The broker of a demonstration, and the way to it.

use clap::Args;
use groupkey_mqtt::driver::{Connection, Quality};
#[cfg(target_os = "linux")]
use groupkey_mqtt::impairment::{self, Emulator, Impairment, Link, Mosquitto};
use groupkey_mqtt::{Version, broker};

use crate::choice;
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::number;

/// Which broker, and over what network.
#[derive(Args, Debug)]
pub(crate) struct NetworkArguments {
    /// A broker that is there already, without TLS; one within the process if this is left out.
    #[arg(long, value_name = "HOST:PORT")]
    broker: Option<String>,

    /// Version of MQTT.
    #[arg(long, value_name = "VERSION", default_value = "5", value_parser = choice::mqtt())]
    mqtt: Version,

    /// MQTT quality of service: 0, 1 or 2.
    #[arg(long, default_value = "1", value_parser = quality)]
    qos: Quality,

    /// Packets lost on each party's link, each way, in per cent; starts a Mosquitto behind a network
    /// device that drops them, which takes the right to make one.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "PERCENT", value_parser = number::loss, conflicts_with = "broker")]
    loss: Option<f64>,

    /// One-way delay of each party's link in milliseconds, in the same way.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "MS", value_parser = number::delay, conflicts_with = "broker")]
    delay: Option<f64>,
}

/// A broker, and what keeps it there.
#[derive(Debug)]
pub(super) struct Network {
    host: String,
    port: u16,
    mqtt: Version,
    qos: Quality,
    _impaired: Option<Impaired>,
}

/// The broker behind the device, and the device; they end with this.
#[cfg(target_os = "linux")]
type Impaired = (Mosquitto, Emulator);

#[cfg(not(target_os = "linux"))]
type Impaired = ();

impl Network {
    pub(super) fn new(arguments: &NetworkArguments, seed: u64) -> Result<Self, Failure> {
        let NetworkArguments { mqtt, qos, .. } = *arguments;
        #[cfg(target_os = "linux")]
        if arguments.loss.is_some() || arguments.delay.is_some() {
            return Self::impaired(arguments, seed);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = seed;
        let (host, port) = match &arguments.broker {
            Some(broker) => host_and_port(broker)?,
            None => {
                let address = broker::start(mqtt).map_err(|error| {
                    Failure::running(format!("the broker does not start: {error}"))
                })?;
                (address.ip().to_string(), address.port())
            }
        };
        Ok(Self { host, port, mqtt, qos, _impaired: None })
    }

    /// `HOST:PORT`.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn connection(&self, client: String) -> Connection {
        let (version, qos) = (self.mqtt, self.qos);
        Connection { version, qos, ..Connection::new(&self.host, self.port, client) }
    }

    #[cfg(target_os = "linux")]
    fn impaired(arguments: &NetworkArguments, seed: u64) -> Result<Self, Failure> {
        let failure = |error: impairment::Error| {
            Failure::running(format!("no impaired network: {error}"))
                .with_help("it takes Linux, root, Mosquitto and the command ip")
        };
        let impairment = Impairment {
            delay: std::time::Duration::from_secs_f64(arguments.delay.unwrap_or(0.0) / 1e3),
            loss: arguments.loss.unwrap_or(0.0) / 100.0,
        };
        let link = Link { up: impairment, down: impairment };
        let emulator = Emulator::start(PORT, link, seed, "cubic").map_err(failure)?;
        let addresses = emulator.addresses();
        let mosquitto = Mosquitto::start(addresses.broker, addresses.clients).map_err(failure)?;
        Ok(Self {
            host: addresses.clients.ip().to_string(),
            port: addresses.clients.port(),
            mqtt: arguments.mqtt,
            qos: arguments.qos,
            _impaired: Some((mosquitto, emulator)),
        })
    }
}

fn quality(text: &str) -> Result<Quality, String> {
    let quality = text.parse().ok().and_then(Quality::from_level);
    quality.ok_or_else(|| "expected 0, 1 or 2".to_owned())
}

fn host_and_port(broker: &str) -> Result<(String, u16), Failure> {
    let parts = broker.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) =
        parts.filter(|(host, _): &(&str, u16)| !host.is_empty()).ok_or_else(|| {
            Failure::input(format!("{broker:?} is no HOST:PORT"))
                .with_help("brokers usually listen on port 1883, as in localhost:1883")
        })?;
    Ok((host.to_owned(), port))
}

#[cfg(target_os = "linux")]
const PORT: u16 = 1883;
