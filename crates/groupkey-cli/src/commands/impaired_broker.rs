//! A broker behind the emulator, and advice if there can be none.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::time::Duration;

use groupkey_choose::number::figure;
use groupkey_lab::conditions::{Conditions, LossDirection};
use groupkey_testbed::impairment::{
    Emulator, Error, Firewall, ImpairedLink, Impairment, Mosquitto, PacketCounts, Relay,
};
use serde::Serialize;

use crate::failure::Failure;

/// A broker that clients reach through the emulator's links. The broker and the emulator end
/// with this value.
#[derive(Debug)]
pub(crate) struct ImpairedBroker {
    emulator: Emulator,
    _broker: BrokerRoute,
}

#[derive(Debug)]
enum BrokerRoute {
    Elsewhere { _relay: Relay },
    Ours { _mosquitto: Mosquitto },
}

/// A Mosquitto whose clients have a packet filter each. Both end with this value.
#[derive(Debug)]
pub(crate) struct FirewalledBroker {
    address: SocketAddrV4,
    firewall: Firewall,
    _mosquitto: Mosquitto,
}

impl FirewalledBroker {
    /// Starts a Mosquitto on the loopback device, and rules for its clients, at first without loss.
    pub(crate) fn start() -> Result<Self, Failure> {
        let address = free_address().map_err(|error| refusal(&Error::Device(error)))?;
        let firewall = Firewall::start(address).map_err(|error| refusal(&error))?;
        let mosquitto = Mosquitto::start(address, address).map_err(|error| refusal(&error))?;
        Ok(Self { address, firewall, _mosquitto: mosquitto })
    }

    /// Returns the address to which clients connect.
    pub(crate) const fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Returns the rules.
    pub(crate) const fn firewall(&self) -> &Firewall {
        &self.firewall
    }
}

/// Returns an address of the loopback device where nobody listens.
fn free_address() -> io::Result<SocketAddrV4> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr()?.port()))
}

/// What the emulator did to packets, and how late it was by itself.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Emulation {
    packets: u64,
    /// Packets that the emulator dropped at random.
    dropped: u64,
    /// Packets that the emulator dropped for lack of room. Any such packet spoils the row.
    overflow: u64,
    lateness_mean_ms: f64,
    lateness_p99_ms: f64,
    lateness_max_ms: f64,
}

/// Watches the emulator from the creation of this value on.
#[derive(Debug)]
pub(crate) struct EmulatorWatch<'a> {
    emulator: &'a Emulator,
    before: PacketCounts,
}

impl ImpairedBroker {
    /// Starts a Mosquitto behind an emulator, at first without loss and delay.
    pub(crate) fn mosquitto(seed: u64, congestion: &str) -> Result<Self, Failure> {
        let emulator = emulator(seed, congestion)?;
        let addresses = emulator.addresses();
        let mosquitto = Mosquitto::start(addresses.broker, addresses.clients)
            .map_err(|error| refusal(&error))?;
        Ok(Self { emulator, _broker: BrokerRoute::Ours { _mosquitto: mosquitto } })
    }

    /// Puts an emulator between clients and an existing broker. A relay takes their connections in
    /// the broker's place.
    pub(crate) fn elsewhere(
        broker: SocketAddr,
        seed: u64,
        congestion: &str,
    ) -> Result<Self, Failure> {
        let emulator = emulator(seed, congestion)?;
        let relay = Relay::start(emulator.addresses().broker, broker)
            .map_err(|error| refusal(&Error::Device(error)))?;
        Ok(Self { emulator, _broker: BrokerRoute::Elsewhere { _relay: relay } })
    }

    /// Returns the address to which clients connect.
    pub(crate) const fn address(&self) -> SocketAddrV4 {
        self.emulator.addresses().clients
    }

    /// Returns the emulator between the clients and the broker.
    pub(crate) const fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    /// Begins to watch what happens to packets.
    pub(crate) fn watch(&self) -> EmulatorWatch<'_> {
        self.emulator.take_lateness();
        EmulatorWatch { emulator: &self.emulator, before: self.emulator.counts() }
    }
}

impl EmulatorWatch<'_> {
    /// Returns what has happened so far.
    pub(crate) fn end(self) -> Emulation {
        let Self { emulator, before } = self;
        let (after, lateness) = (emulator.counts(), emulator.take_lateness());
        let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
        Emulation {
            packets: lateness.packets(),
            dropped: after.dropped - before.dropped,
            overflow: after.overflow - before.overflow,
            lateness_mean_ms: ms(lateness.mean()),
            lateness_p99_ms: ms(lateness.percentile(0.99)),
            lateness_max_ms: ms(lateness.max()),
        }
    }
}

impl Emulation {
    /// Returns the mean and the 99th percentile of the lateness, in ms.
    pub(crate) fn cells(&self) -> [String; 2] {
        [self.lateness_mean_ms, self.lateness_p99_ms].map(figure)
    }
}

/// Returns every party's link under these conditions. The emulator has their delay and random loss.
pub(crate) fn link(conditions: &Conditions) -> ImpairedLink {
    let impairment = |direction| Impairment {
        delay: Duration::from_secs_f64(conditions.delay_ms / 1e3),
        loss: match conditions.loss_direction {
            LossDirection::Both => conditions.loss_percent / 100.0,
            lossy if lossy == direction => conditions.loss_percent / 100.0,
            _ => 0.0,
        },
    };
    ImpairedLink { up: impairment(LossDirection::Up), down: impairment(LossDirection::Down) }
}

/// Refuses rows whose packets did not all fit: they are no measurements.
pub(crate) fn refuse_overflow<'a>(
    mut rows: impl Iterator<Item = &'a Emulation>,
) -> Result<(), Failure> {
    match rows.any(|emulation| emulation.overflow > 0) {
        true => Err(Failure::running("the emulator had no room for all packets")
            .with_help("the rows are invalid; use fewer members or less delay")),
        false => Ok(()),
    }
}

fn emulator(seed: u64, congestion: &str) -> Result<Emulator, Failure> {
    Emulator::start(PORT, ImpairedLink::default(), seed, congestion)
        .map_err(|error| refusal(&error))
}

fn refusal(error: &Error) -> Failure {
    let help = match error {
        Error::NoDevice => "load the kernel's module tun, or give the container the device",
        Error::NoRights => "run it as root, or in a container with NET_ADMIN",
        Error::Command("mosquitto", _) => "install it: apt install mosquitto",
        Error::Command("nft", _) => "it needs nft (apt install nftables), and root or NET_ADMIN",
        Error::Command(..) => {
            "it needs ip from iproute2, and a congestion control that the kernel has"
        }
        Error::Device(_) => "groupkey net simulates without a device",
    };
    Failure::running(format!("no impaired network: {error}")).with_help(help)
}

/// This port is free on the device's own address.
const PORT: u16 = 1883;
