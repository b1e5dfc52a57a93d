//! Devices: how long a primitive operation takes on one and how much energy, and what an MQTT packet
//! costs it.
//!
//! A profile is a TOML file in `devices/`; `docs/devices.md` lists its keys. Every figure in it says where
//! it comes from: `measured`, `published`, `calibrated` (solved so that a published value comes out),
//! `counted` (instructions, which a clock makes a time) or `assumed`.

mod emulated;
mod file;
mod measured;
mod power;
mod text;

pub mod measure;

use std::collections::BTreeMap;
use std::path::Path;

use groupkey::Suite;
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey_sim::{Duration, Processing};
use serde::Deserialize;

pub use self::emulated::{EmulationError, Target};
pub use self::file::DeviceError;
pub use self::power::{CallEnergy, Energy, Power, PowerFigure};
use crate::bench::Deviation;
use crate::input::InputError;

/// A device profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name on the command line and in results.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its cost of an MQTT packet.
    pub processing: PacketTimes,
    /// What makes times of counted instructions, if it has any.
    pub clock: Option<Clock>,
    /// What it draws, if anybody knows.
    pub power: Option<Power>,
    suites: [Option<Costs>; Suite::ALL.len()],
}

/// What each primitive of one suite costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs([Cost; Primitive::ALL.len()]);

/// What one primitive costs: so much a call, and so much a unit of the call's amount.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); what a unit is, [`Primitive`] tells.
    pub per_unit_ns: f64,
    /// What the times are made of by the device's clock, where instructions were counted.
    pub instructions: Option<Instructions>,
    /// Error of both times (%), where the source has one.
    pub error_percent: Option<f64>,
    /// The energy of a call, where it is known by itself; else it is the time's at the device's power.
    pub energy: Option<CallEnergy>,
    /// Where the figures come from.
    pub source: String,
}

/// Instructions of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instructions {
    /// Of a call.
    pub per_call: f64,
    /// Of a unit.
    pub per_unit: f64,
}

/// What makes times of counted instructions. That is a model: how many cycles an instruction takes,
/// counting does not tell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Cycles a second.
    pub hertz: u64,
    /// Instructions that a cycle completes, on average.
    pub instructions_per_cycle: f64,
    /// Where the two come from.
    pub source: String,
}

/// What MQTT packets cost; the meaning of each is that of [`Processing`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketTimes {
    /// Serial work for a received PUBLISH.
    pub publish: PacketTime,
    /// Serial work for a received acknowledgement of any kind.
    pub acknowledgement: PacketTime,
    /// Reading a payload, beside the exchange; of no effect at a broker.
    pub payload_handling: PacketTime,
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

impl Device {
    /// The built-in profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, profile) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::from_toml(profile).expect("a test reads every built-in profile"))
    }

    /// Names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Its name, and what its times are if they are no times: instructions at some pace.
    pub fn told(&self) -> String {
        let Self { name, clock, .. } = self;
        let Some(Clock { hertz, instructions_per_cycle: rate, .. }) = clock else {
            return name.clone();
        };
        let megahertz = *hertz as f64 / 1e6;
        format!("{name} (instruction counts, as if {rate} a cycle at {megahertz} MHz)")
    }

    /// Reads a profile from a file; errors name the file.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let text = InputError::read(path)?;
        Self::from_toml(&text).map_err(|error| error.in_file(path, &text))
    }

    /// Reads a profile.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        file::parse(text)
    }

    /// The profile as a file: [`Device::from_toml`] reads it back.
    pub fn to_toml(&self) -> String {
        text::profile(self)
    }

    /// What the primitives of a suite cost, if the profile says so.
    pub fn costs(&self, suite: Suite) -> Option<&Costs> {
        self.suites[suite as usize].as_ref()
    }

    /// The suites that the profile has costs for.
    pub fn suites(&self) -> impl Iterator<Item = Suite> {
        Suite::ALL.into_iter().filter(|&suite| self.costs(suite).is_some())
    }

    /// How many of the profile's figures come from where: `measured`, `published`, `calibrated`, `counted`
    /// or `assumed`.
    pub fn sources(&self) -> BTreeMap<&str, usize> {
        let PacketTimes { publish, acknowledgement, payload_handling } = &self.processing;
        let packets = [publish, acknowledgement, payload_handling].map(|time| time.source.as_str());
        let powers = self.power.iter().flat_map(|power| [&power.idle, &power.active]);
        let costs = self.suites.iter().flatten().flat_map(|costs| &costs.0);
        let mut sources = BTreeMap::new();
        for source in packets
            .into_iter()
            .chain(self.clock.iter().map(|clock| clock.source.as_str()))
            .chain(powers.map(|figure| figure.source.as_str()))
            .chain(costs.map(|cost| cost.source.as_str()))
        {
            let word = source.split(':').next().unwrap_or_default();
            *sources.entry(word).or_default() += 1;
        }
        sources
    }

    /// The energy of a step with these counted primitives; `None` if the profile has no costs of the
    /// suite, or neither a power nor energies of the primitives that were used.
    pub fn energy(&self, suite: Suite, meter: &Meter) -> Option<Energy> {
        power::energy(self.costs(suite)?, self.power.as_ref(), meter)
    }
}

impl Costs {
    /// The time that a step with these counted primitives takes (ns).
    pub fn computation(&self, meter: &Meter) -> u64 {
        self.uses(meter)
            .map(|(cost, calls, amount)| cost.time_ns(calls, amount))
            .sum::<f64>()
            .round() as u64
    }

    /// The same in seconds, with the error that the sources give: those of different primitives are
    /// independent, that of one primitive is the same at each call.
    pub fn time(&self, meter: &Meter) -> Deviation {
        let (mut value, mut variance) = (0.0, 0.0_f64);
        for (cost, calls, amount) in self.uses(meter) {
            let seconds = cost.time_ns(calls, amount) * 1e-9;
            value += seconds;
            variance += (seconds * cost.error_percent.unwrap_or(0.0) / 100.0).powi(2);
        }
        Deviation { value, error: variance.sqrt() }
    }

    /// The cost of one primitive.
    pub const fn of(&self, primitive: Primitive) -> &Cost {
        &self.0[primitive as usize]
    }

    /// The costs of all primitives, with their calls and amounts.
    fn uses(&self, meter: &Meter) -> impl Iterator<Item = (&Cost, f64, f64)> {
        Primitive::ALL.into_iter().zip(&self.0).map(|(primitive, cost)| {
            let tally = meter.tally(primitive);
            (cost, tally.calls as f64, tally.amount as f64)
        })
    }
}

impl Cost {
    /// The time of this many calls on this many units in all (ns).
    fn time_ns(&self, calls: f64, amount: f64) -> f64 {
        calls * self.per_call_ns + amount * self.per_unit_ns
    }
}

impl Clock {
    /// Time of this many instructions (ns).
    pub fn time_ns(&self, instructions: f64) -> f64 {
        instructions * 1e9 / (self.hertz as f64 * self.instructions_per_cycle)
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

const BUILT_IN: [(&str, &str); 8] = [
    ("host", include_str!("devices/host.toml")),
    ("esp32-micropython", include_str!("devices/esp32-micropython.toml")),
    ("i5-6500-python", include_str!("devices/i5-6500-python.toml")),
    ("esp32-pbc", include_str!("devices/esp32-pbc.toml")),
    ("esp8266", include_str!("devices/esp8266.toml")),
    ("i3-5005u-python", include_str!("devices/i3-5005u-python.toml")),
    ("cortex-m4", include_str!("devices/cortex-m4.toml")),
    ("rv32imac", include_str!("devices/rv32imac.toml")),
];

#[cfg(test)]
mod tests {
    use groupkey::crypto::meter::Probe;

    use super::*;

    #[test]
    fn every_built_in_profile_is_read_and_named_as_listed() {
        for (name, profile) in BUILT_IN {
            let device = Device::from_toml(profile).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(device.name, name);
        }
        assert_eq!(Device::named("toaster"), None);
    }

    #[test]
    fn a_step_takes_calls_and_units() {
        let device = Device::named("i5-6500-python").expect("built in");
        let costs = device.costs(Suite::Published).expect("of the published suite");
        let wrap = costs.of(Primitive::Wrap);
        let mut meter = Meter::new();
        meter.record(Primitive::Wrap, 3);
        meter.record(Primitive::Wrap, 2);
        let expected = 2.0 * wrap.per_call_ns + 5.0 * wrap.per_unit_ns;
        assert_eq!(costs.computation(&meter), expected as u64);
        assert_eq!(costs.computation(&Meter::new()), 0);
    }

    /// An exponentiation of 3072 bits must not pass for one of 1024.
    #[test]
    fn a_group_is_never_priced_as_another() {
        let paper = Device::named("i5-6500-python").expect("built in");
        assert_eq!(paper.suites().collect::<Vec<_>>(), [Suite::Published]);

        let device = BUILT_IN[2].1;
        let known = paper.costs(Suite::Published).expect("of the published suite");
        let mut tables = String::from(device);
        let group = Primitive::ALL.into_iter().filter(|primitive| primitive.is_of_group());
        for (number, primitive) in (1..).zip(group) {
            let told =
                Device::from_toml(&tables).map(|device| device.costs(Suite::Modp3072).cloned());
            if number > 1 {
                let missing = told.expect_err("the group's costs must be complete").to_string();
                assert!(
                    missing.contains(&format!("[modp-3072.{}]", primitive.name())),
                    "{missing}"
                );
            }
            tables += &format!(
                "[modp-3072.{}]\nper_call_ns = {number}\nper_unit_ns = 0\nsource = \"assumed: a test\"\n",
                primitive.name()
            );
        }
        let device = Device::from_toml(&tables).expect("complete");
        let costs = device.costs(Suite::Modp3072).expect("of this suite");
        assert_eq!(costs.of(Primitive::Wrap), known.of(Primitive::Wrap));
        assert_eq!(costs.of(Primitive::Exponentiate).source, "assumed: a test");
        assert_eq!(device.costs(Suite::Ffdhe3072), None);
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        let told = |from: &str, to: &str| {
            let text = BUILT_IN[1].1.replacen(from, to, 1);
            Device::from_toml(&text).expect_err("a mistake").to_string()
        };
        assert!(told("[published.wrap]", "[published.rap]").contains("[published.wrap]"));
        assert!(told("assumed: ", "guessed: ").contains("must begin with one of: assumed:"));
        assert!(told("description", "descripton").contains("line 5, column 1"));
        assert!(told("per_call_ns = ", "per_call_ns = -").contains("not negative"));
    }
}
