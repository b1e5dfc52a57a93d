//! A device: the costs of its primitives and MQTT packets, and the power that it draws.

use std::collections::BTreeMap;
use std::sync::Arc;

use groupkey::Suite;
use groupkey::crypto::meter::Meter;
use groupkey_sim::{Duration, Processing};
use serde::Deserialize;

use super::board::Board;
use super::costs::{Costs, HandledMessages, HandlingCosts, InstructionClock};
use super::power::{self, DevicePower, Energy};
use super::radio::Radio;

/// A device profile.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProfile {
    /// Its name on the command line and in results.
    pub name: String,
    /// A description of the device.
    pub description: String,
    /// Its times for MQTT packets.
    pub processing: PacketTimes,
    /// The clock that converts counted instructions to times, if it has any.
    pub clock: Option<InstructionClock>,
    /// The power that it draws, if known.
    pub power: Option<DevicePower>,
    /// Its radio, if known.
    pub radio: Option<Radio>,
    /// What handling a message costs besides the primitives, if known.
    pub messages: Option<HandlingCosts>,
    /// The board that it was made of, if it was: its memory, and what stands for its core.
    pub board: Option<Arc<Board>>,
    pub(super) suites: [Option<Costs>; Suite::ALL.len()],
}

/// Times for MQTT packets. The fields mean the same as in [`Processing`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketTimes {
    /// Serial work for a received PUBLISH.
    pub publish: PacketTime,
    /// Serial work for a received acknowledgement of any kind.
    pub acknowledgement: PacketTime,
    /// Reading a payload, in parallel with the exchange. It has no effect at a broker.
    pub payload_handling: PacketTime,
}

impl PacketTimes {
    /// Returns the times of a member in C on an ESP32, scaled from its clock of 240 MHz.
    pub(super) fn of_a_member_in_c(hertz: u64) -> Self {
        let packet = |ns: u64| PacketTime {
            ns: ns * 240_000_000 / hertz,
            source: format!("assumed: as esp32-pbc, for a clock of {} MHz", hertz / 1_000_000),
        };
        Self {
            publish: packet(300_000),
            acknowledgement: packet(130_000),
            payload_handling: packet(0),
        }
    }
}

/// A time and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketTime {
    /// The time (ns).
    pub ns: u64,
    /// Where it comes from.
    pub source: String,
}

impl DeviceProfile {
    /// Returns its name. If its times come from instruction counts, adds that and their pace.
    pub fn label(&self) -> String {
        let Self { name, clock, .. } = self;
        let Some(InstructionClock { hertz, instructions_per_cycle: rate, .. }) = clock else {
            return name.clone();
        };
        let megahertz = *hertz as f64 / 1e6;
        format!("{name} (instruction counts, as if {rate} a cycle at {megahertz} MHz)")
    }

    /// Returns what the primitives of a suite cost, if the profile says so.
    pub fn costs(&self, suite: Suite) -> Option<&Costs> {
        self.suites[suite as usize].as_ref()
    }

    /// Returns the same device at another clock. What was not counted takes as many cycles as before.
    #[must_use]
    pub(super) fn at_clock(&self, clock: &InstructionClock) -> Self {
        let mut device = self.clone();
        let factor = match &self.clock {
            Some(own) => clock.time_ns(1.0) / own.time_ns(1.0),
            None => 1.0,
        };
        let PacketTimes { publish, acknowledgement, payload_handling } = &mut device.processing;
        for time in [publish, acknowledgement, payload_handling] {
            time.ns = (time.ns as f64 * factor).round() as u64;
            time.source = format!("assumed: {factor} times {}'s, for the clock", self.name);
        }
        for costs in device.suites.iter_mut().flatten() {
            costs.at_clock(clock);
        }
        if let Some(messages) = &mut device.messages {
            messages.at_clock(clock);
        }
        device.clock = Some(clock.clone());
        device
    }

    /// Returns the suites that the profile has costs for.
    pub fn suites(&self) -> impl Iterator<Item = Suite> {
        Suite::ALL.into_iter().filter(|&suite| self.costs(suite).is_some())
    }

    /// Counts the profile's figures by their source: `measured`, `published`, `calibrated`,
    /// `counted` or `assumed`.
    pub fn sources(&self) -> BTreeMap<&str, usize> {
        let PacketTimes { publish, acknowledgement, payload_handling } = &self.processing;
        let packets = [publish, acknowledgement, payload_handling].map(|time| time.source.as_str());
        let powers = self.power.iter().flat_map(|power| [&power.idle, &power.active]);
        let radio = self.radio.iter().flat_map(Radio::sources);
        let costs = self.suites.iter().flatten().flat_map(|costs| &costs.0);
        let mut sources = BTreeMap::new();
        for source in packets
            .into_iter()
            .chain(self.clock.iter().map(|clock| clock.source.as_str()))
            .chain(powers.map(|figure| figure.source.as_str()))
            .chain(radio)
            .chain(costs.map(|cost| cost.source.as_str()))
            .chain(self.messages.iter().flat_map(|costs| &costs.0).map(|cost| cost.source.as_str()))
        {
            let word = source.split(':').next().unwrap_or_default();
            *sources.entry(word).or_default() += 1;
        }
        sources
    }

    /// Returns the time of a step with these counted primitives and messages (ns). `None` if the
    /// profile has no costs of the suite. Messages take no time if the profile has no costs of them.
    pub fn time_ns(&self, suite: Suite, meter: &Meter, handled: &HandledMessages) -> Option<f64> {
        let messages = self.messages.as_ref().map_or(0.0, |costs| costs.time_ns(handled));
        Some(self.costs(suite)?.computation(meter) as f64 + messages)
    }

    /// Returns the instructions of such a step; `None` if the profile's costs are not in
    /// instructions.
    pub fn instructions(
        &self,
        suite: Suite,
        meter: &Meter,
        handled: &HandledMessages,
    ) -> Option<f64> {
        let primitives = self.costs(suite)?.instructions(meter)?;
        Some(primitives + self.messages.as_ref()?.instructions(handled)?)
    }

    /// Returns the energy of a step with these counted primitives. `None` if the profile has no
    /// costs of the suite, or neither a power nor energies of the used primitives.
    pub fn energy(&self, suite: Suite, meter: &Meter) -> Option<Energy> {
        power::energy(self.costs(suite)?, self.power.as_ref(), meter)
    }
}

impl From<&PacketTimes> for Processing {
    fn from(times: &PacketTimes) -> Self {
        Self {
            publish: Duration::from_nanos(times.publish.ns),
            acknowledgement: Duration::from_nanos(times.acknowledgement.ns),
            payload_handling: Duration::from_nanos(times.payload_handling.ns),
        }
    }
}
