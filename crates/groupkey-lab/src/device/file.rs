//! A profile as it stands in its file, and what can be wrong with one.

use std::collections::BTreeMap;
use std::path::Path;
use std::{error, fmt};

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use serde::Deserialize;

use super::{CallEnergy, Cost, Costs, Device, PacketTimes, Power};
use crate::input::{InputError, Mistake};

/// A device profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceError {
    /// A factor to a basis, or an error in percent, that there cannot be.
    InvalidFactor {
        /// The key.
        key: &'static str,
    },
    /// A power or an energy that is negative or not a number, or an idle power above the active one.
    InvalidPower,
    /// A time that is negative or not a number.
    InvalidTime {
        /// The primitive.
        primitive: String,
    },
    /// Not TOML, or not of the form of a profile; line and column are in the text.
    Malformed(String),
    /// A suite's table lacks a primitive.
    MissingPrimitive {
        /// The suite's table.
        suite: &'static str,
        /// The primitive that is not in it.
        primitive: &'static str,
    },
    /// A basis that is not built in.
    UnknownBasis {
        /// The name as written.
        device: String,
    },
    /// A suite's table has a primitive that there is not.
    UnknownPrimitive {
        /// The primitive as written.
        primitive: String,
    },
    /// A figure whose source does not begin with one of the four words.
    UnknownSource {
        /// The source as written.
        source: String,
    },
    /// There is no table for any suite.
    WithoutCosts,
}

/// Reads a profile and checks all of it.
pub(super) fn parse(text: &str) -> Result<Device, DeviceError> {
    let mut file: File =
        toml::from_str(text).map_err(|error| DeviceError::Malformed(error.to_string()))?;
    let PacketTimes { publish, acknowledgement, payload_handling } = &file.processing;
    for time in [publish, acknowledgement, payload_handling] {
        check_source(&time.source)?;
    }
    if let Some(power) = &file.power {
        check_power(power)?;
    }

    let mut tables = file.take_tables();
    if let Some(basis) = &file.basis {
        basis.fill(&mut tables)?;
    }
    let mut suites = [const { None }; Suite::ALL.len()];
    for ((costs, suite), table) in suites.iter_mut().zip(Suite::ALL).zip(&tables) {
        let Some(table) = table else { continue };
        let alike = Suite::ALL.into_iter().zip(&tables).find(|(other, _)| {
            other.wrapping() == suite.wrapping() && other.hashing() == suite.hashing()
        });
        let alike = alike.and_then(|(_, table)| table.as_ref());
        *costs = Some(costs_from(suite, table, alike)?);
    }
    if suites.iter().all(Option::is_none) {
        return Err(DeviceError::WithoutCosts);
    }
    let File { name, description, processing, power, .. } = file;
    Ok(Device { name, description, processing, power, suites })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    processing: PacketTimes,
    power: Option<Power>,
    basis: Option<Basis>,
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

/// A built-in profile that this one follows in what it does not say itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Basis {
    device: String,
    /// How many times as long everything takes.
    factor: f64,
    source: String,
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

impl Basis {
    /// Adds the basis' times to what the file does not say. Whatever they were there, here they are
    /// assumed.
    fn fill(&self, tables: &mut [Option<Table>; Suite::ALL.len()]) -> Result<(), DeviceError> {
        let Self { device: name, factor, source } = self;
        check_source(source)?;
        if !(factor.is_finite() && *factor > 0.0) {
            return Err(DeviceError::InvalidFactor { key: "factor" });
        }
        let device = Device::named(name)
            .ok_or_else(|| DeviceError::UnknownBasis { device: name.clone() })?;
        for suite in device.suites() {
            let costs = device.costs(suite).expect("it is among its suites");
            let table = tables[suite as usize].get_or_insert_default();
            for primitive in Primitive::ALL {
                let there = costs.of(primitive);
                let why = source.split_once(':').map_or("", |(_, why)| why.trim());
                table.entry(primitive.name().to_owned()).or_insert_with(|| Cost {
                    per_call_ns: there.per_call_ns * factor,
                    per_unit_ns: there.per_unit_ns * factor,
                    error_percent: None,
                    energy: None,
                    source: format!(
                        "assumed: {factor} times {name} ({why}); there {}",
                        there.source
                    ),
                });
            }
        }
        Ok(())
    }
}

/// The costs in a suite's own table; what does not depend on the group may stand in `alike`, the
/// table of the suite that differs from it in the group alone.
fn costs_from(suite: Suite, table: &Table, alike: Option<&Table>) -> Result<Costs, DeviceError> {
    let mut costs = Vec::new();
    for primitive in Primitive::ALL {
        let name = primitive.name();
        let missing = DeviceError::MissingPrimitive { suite: suite.name(), primitive: name };
        let inherited = alike.filter(|_| !primitive.is_of_group());
        let cost = table.get(name).or_else(|| inherited?.get(name)).ok_or(missing)?;
        check_cost(name, cost)?;
        costs.push(cost.clone());
    }
    let known = |name: &&String| Primitive::ALL.iter().any(|known| known.name() == *name);
    if let Some(primitive) = table.keys().find(|name| !known(name)) {
        return Err(DeviceError::UnknownPrimitive { primitive: primitive.clone() });
    }
    let costs = costs.try_into().expect("one for each primitive");
    Ok(Costs(costs))
}

fn check_cost(name: &str, cost: &Cost) -> Result<(), DeviceError> {
    let Cost { per_call_ns, per_unit_ns, error_percent, energy, source } = cost;
    if !is_amount(*per_call_ns) || !is_amount(*per_unit_ns) {
        return Err(DeviceError::InvalidTime { primitive: name.to_owned() });
    }
    if error_percent.is_some_and(|percent| !is_amount(percent)) {
        return Err(DeviceError::InvalidFactor { key: "error_percent" });
    }
    if let Some(CallEnergy { per_call_joule, per_unit_joule, error_percent }) = energy
        && ![per_call_joule, per_unit_joule, error_percent].into_iter().all(|n| is_amount(*n))
    {
        return Err(DeviceError::InvalidPower);
    }
    check_source(source)
}

fn check_power(power: &Power) -> Result<(), DeviceError> {
    for figure in [&power.idle, &power.active] {
        check_source(&figure.source)?;
        if !is_amount(figure.watt) || !is_amount(figure.error_watt) {
            return Err(DeviceError::InvalidPower);
        }
    }
    match power.idle.watt <= power.active.watt {
        true => Ok(()),
        false => Err(DeviceError::InvalidPower),
    }
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

fn check_source(source: &str) -> Result<(), DeviceError> {
    if SOURCES.iter().any(|word| source.starts_with(word)) {
        return Ok(());
    }
    Err(DeviceError::UnknownSource { source: source.to_owned() })
}

impl DeviceError {
    /// The same, of a profile in a file.
    pub(super) fn in_file(self, path: &Path, text: &str) -> InputError {
        match toml::from_str::<File>(text) {
            Err(error) => InputError::in_text(path, text, Mistake::from(error)),
            // The form is right; the message names the table or the figure.
            Ok(_) => {
                InputError { path: path.to_owned(), position: None, problem: self.to_string() }
            }
        }
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidFactor { key } => {
                write!(f, "{key} must be a number, not negative, and a factor more than 0")
            }
            Self::InvalidPower => write!(
                f,
                "powers and energies must be numbers, not negative, and active at least idle power"
            ),
            Self::InvalidTime { primitive } => {
                write!(f, "the time of {primitive} must be a number of nanoseconds, not negative")
            }
            Self::Malformed(problem) => f.write_str(problem.trim_end()),
            Self::MissingPrimitive { suite, primitive } => write!(
                f,
                "the suite {suite} lacks the cost of {primitive}; add a table [{suite}.{primitive}]"
            ),
            Self::UnknownBasis { device } => {
                let known = Device::names().collect::<Vec<_>>().join(", ");
                write!(f, "there is no device {device:?} to build on; there are {known}")
            }
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

const SOURCES: [&str; 4] = ["assumed:", "calibrated:", "measured:", "published:"];
