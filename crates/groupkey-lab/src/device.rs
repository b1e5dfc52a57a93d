//! Devices: how long a primitive operation takes on one, and what an MQTT packet costs it.
//!
//! A profile is a TOML file in `devices/`. Every figure in it says where it comes from: `measured`,
//! `published`, `calibrated` (solved so that a published value comes out) or `assumed`.

pub mod measure;

use std::collections::BTreeMap;
use std::{error, fmt};

use groupkey::Suite;
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey_sim::{Duration, Processing};
use serde::Deserialize;

/// A device profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name on the command line and in results.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its cost of an MQTT packet.
    pub processing: PacketTimes,
    suites: [Option<Costs>; Suite::ALL.len()],
}

/// What each primitive of one suite costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs([Cost; Primitive::ALL.len()]);

/// What one primitive costs: so much a call, and so much a unit of the call's amount.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); what a unit is, [`Primitive`] tells.
    pub per_unit_ns: f64,
    /// Where the figures come from.
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

/// A device profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceError {
    /// Not TOML, or not of the form of a profile; line and column are in the text.
    Malformed(String),
    /// A suite's table lacks a primitive.
    MissingPrimitive {
        /// The suite's table.
        suite: &'static str,
        /// The primitive that is not in it.
        primitive: &'static str,
    },
    /// A time that is negative or not a number.
    InvalidTime {
        /// The primitive.
        primitive: String,
    },
    /// A figure whose source does not begin with one of the four words.
    UnknownSource {
        /// The source as written.
        source: String,
    },
    /// A suite's table has a primitive that there is not.
    UnknownPrimitive {
        /// The primitive as written.
        primitive: String,
    },
    /// There is no table for any suite.
    WithoutCosts,
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

    /// Reads a profile.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        let mut file: File =
            toml::from_str(text).map_err(|error| DeviceError::Malformed(error.to_string()))?;
        let PacketTimes { publish, acknowledgement, payload_handling } = &file.processing;
        for time in [publish, acknowledgement, payload_handling] {
            check_source(&time.source)?;
        }

        let mut suites = [const { None }; Suite::ALL.len()];
        let tables = file.take_tables();
        for ((costs, suite), table) in suites.iter_mut().zip(Suite::ALL).zip(&tables) {
            let Some(table) = table else { continue };
            let alike = Suite::ALL.into_iter().zip(&tables).find(|(other, _)| {
                other.wrapping() == suite.wrapping() && other.hashing() == suite.hashing()
            });
            let alike = alike.and_then(|(_, table)| table.as_ref());
            *costs = Some(Costs::from_tables(suite, table, alike)?);
        }
        if suites.iter().all(Option::is_none) {
            return Err(DeviceError::WithoutCosts);
        }
        Ok(Self {
            name: file.name,
            description: file.description,
            processing: file.processing,
            suites,
        })
    }

    /// What the primitives of a suite cost, if the profile says so.
    pub fn costs(&self, suite: Suite) -> Option<&Costs> {
        self.suites[suite as usize].as_ref()
    }

    /// The suites that the profile has costs for.
    pub fn suites(&self) -> impl Iterator<Item = Suite> {
        Suite::ALL.into_iter().filter(|&suite| self.costs(suite).is_some())
    }
}

impl Costs {
    /// The time that a step with these counted primitives takes (ns).
    pub fn computation(&self, meter: &Meter) -> u64 {
        let time = |(primitive, cost): (Primitive, &Cost)| {
            let tally = meter.tally(primitive);
            tally.calls as f64 * cost.per_call_ns + tally.amount as f64 * cost.per_unit_ns
        };
        let total: f64 = Primitive::ALL.into_iter().zip(&self.0).map(time).sum();
        total.round() as u64
    }

    /// The cost of one primitive.
    pub const fn of(&self, primitive: Primitive) -> &Cost {
        &self.0[primitive as usize]
    }

    /// The costs in a suite's own table; what does not depend on the group may stand in `alike`, the
    /// table of the suite that differs from it in the group alone.
    fn from_tables(
        suite: Suite,
        table: &Table,
        alike: Option<&Table>,
    ) -> Result<Self, DeviceError> {
        let mut costs = Vec::new();
        for primitive in Primitive::ALL {
            let name = primitive.name();
            let missing = DeviceError::MissingPrimitive { suite: suite.name(), primitive: name };
            let inherited = alike.filter(|_| !primitive.is_of_group());
            let cost = table.get(name).or_else(|| inherited?.get(name)).ok_or(missing)?;
            let valid = |ns: f64| ns.is_finite() && ns >= 0.0;
            if !valid(cost.per_call_ns) || !valid(cost.per_unit_ns) {
                return Err(DeviceError::InvalidTime { primitive: name.to_owned() });
            }
            check_source(&cost.source)?;
            costs.push(cost.clone());
        }
        let known = |name: &&String| Primitive::ALL.iter().any(|known| known.name() == *name);
        if let Some(primitive) = table.keys().find(|name| !known(name)) {
            return Err(DeviceError::UnknownPrimitive { primitive: primitive.clone() });
        }
        let costs = costs.try_into().expect("one for each primitive");
        Ok(Self(costs))
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

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidTime { primitive } => {
                write!(f, "the time of {primitive} must be a number of nanoseconds, not negative")
            }
            Self::Malformed(problem) => f.write_str(problem.trim_end()),
            Self::MissingPrimitive { suite, primitive } => write!(
                f,
                "the suite {suite} lacks the cost of {primitive}; add a table [{suite}.{primitive}]"
            ),
            Self::UnknownPrimitive { primitive } => {
                let known = Primitive::ALL.map(Primitive::name).join(", ");
                write!(f, "there is no primitive {primitive}; there are {known}")
            }
            Self::UnknownSource { source } => {
                write!(f, "the source {source:?} must begin with one of: {}", SOURCES.join(", "))
            }
            Self::WithoutCosts => {
                write!(f, "the profile has costs for no suite; add a table such as [standard]")
            }
        }
    }
}

impl error::Error for DeviceError {}

const BUILT_IN: [(&str, &str); 3] = [
    ("host", include_str!("devices/host.toml")),
    ("esp32-micropython", include_str!("devices/esp32-micropython.toml")),
    ("i5-6500-python", include_str!("devices/i5-6500-python.toml")),
];

const SOURCES: [&str; 4] = ["assumed:", "calibrated:", "measured:", "published:"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    processing: PacketTimes,
    standard: Option<Table>,
    constrained: Option<Table>,
    published: Option<Table>,
    #[serde(rename = "published-2048")]
    published_2048: Option<Table>,
    #[serde(rename = "modp-2048")]
    modp_2048: Option<Table>,
    #[serde(rename = "modp-3072")]
    modp_3072: Option<Table>,
    ffdhe2048: Option<Table>,
    ffdhe3072: Option<Table>,
}

/// Costs by the names of primitives.
type Table = BTreeMap<String, Cost>;

impl File {
    /// Takes the tables, in the order of [`Suite::ALL`].
    fn take_tables(&mut self) -> [Option<Table>; Suite::ALL.len()] {
        [
            self.standard.take(),
            self.constrained.take(),
            self.published.take(),
            self.published_2048.take(),
            self.modp_2048.take(),
            self.modp_3072.take(),
            self.ffdhe2048.take(),
            self.ffdhe3072.take(),
        ]
    }
}

fn check_source(source: &str) -> Result<(), DeviceError> {
    if SOURCES.iter().any(|word| source.starts_with(word)) {
        return Ok(());
    }
    Err(DeviceError::UnknownSource { source: source.to_owned() })
}

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
