//! A profile as its file states it, and the errors of a profile.

use std::collections::BTreeMap;
use std::path::Path;
use std::{error, fmt};

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_choose::input::{InputError, Mistake};
use groupkey_testkit::workbench::{Handling, own_primitives};
use serde::Deserialize;

use super::board::Board;
use super::costs::{
    CallEnergy, Costs, HandlingCosts, InstructionClock, Instructions, PrimitiveCost,
};
use super::power::{DevicePower, PowerFigure};
use super::profile::{DeviceProfile, PacketTimes};
use super::radio::Radio;

/// A device profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceError {
    /// A clock with no cycles a second, or with no instructions per cycle.
    InvalidClock,
    /// A cost that has neither a time nor counted instructions, or that has both.
    InvalidCost {
        /// The primitive.
        primitive: String,
    },
    /// An impossible factor to a basis, or an impossible error in percent.
    InvalidFactor {
        /// The key.
        key: &'static str,
    },
    /// A power or an energy that is negative or not a number, or an idle power above the active
    /// power.
    InvalidPower,
    /// A radio without bits a second, or without a payload in its packets.
    InvalidRadio,
    /// A time, or a count of instructions, that is negative or not a number.
    InvalidTime {
        /// The primitive.
        primitive: String,
    },
    /// Text that is not TOML or not in the form of a profile. The message has line and column.
    Malformed(String),
    /// A suite's table lacks a primitive.
    MissingPrimitive {
        /// The suite's table.
        suite: &'static str,
        /// The missing primitive.
        primitive: &'static str,
    },
    /// A basis that is not built in.
    UnknownBasis {
        /// The name as written.
        device: String,
    },
    /// A suite's table has an unknown primitive.
    UnknownPrimitive {
        /// The primitive as written.
        primitive: String,
    },
    /// A figure whose source does not begin with one of the five words.
    UnknownSource {
        /// The source as written.
        source: String,
    },
    /// Counted instructions, and no clock to convert them to times.
    WithoutClock,
    /// There is no table for any suite.
    WithoutCosts,
}

impl DeviceProfile {
    /// Returns the built-in device of this name: a profile, or a [board](Board).
    pub fn named(name: &str) -> Option<Self> {
        match BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            Some((_, text)) => {
                Some(Self::from_toml(text).expect("a test reads every built-in profile"))
            }
            None => Board::named(name).map(|board| board.device()),
        }
    }

    /// Returns the names of the built-in devices: the profiles', then the boards'.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).chain(Board::names())
    }

    /// Reads a profile or a board from a file; errors name the file.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::of_file(&InputError::read(path)?, path)
    }

    /// Reads a profile or a board from the text of this file.
    pub fn of_file(text: &str, path: &Path) -> Result<Self, InputError> {
        if toml::from_str(text).is_ok_and(|file: toml::Table| file.contains_key("counts")) {
            return Board::parse(text, path).map(|board| board.device());
        }
        Self::from_toml(text).map_err(|error| error.in_file(path, text))
    }

    /// Reads a profile from the text of its file.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        parse(text)
    }
}

const BUILT_IN: [(&str, &str); 8] = [
    ("host", include_str!("../devices/host.toml")),
    ("esp32-micropython", include_str!("../devices/esp32-micropython.toml")),
    ("i5-6500-python", include_str!("../devices/i5-6500-python.toml")),
    ("esp32-pbc", include_str!("../devices/esp32-pbc.toml")),
    ("esp8266", include_str!("../devices/esp8266.toml")),
    ("i3-5005u-python", include_str!("../devices/i3-5005u-python.toml")),
    ("cortex-m4", include_str!("../devices/cortex-m4.toml")),
    ("rv32imac", include_str!("../devices/rv32imac.toml")),
];

fn parse(text: &str) -> Result<DeviceProfile, DeviceError> {
    let mut file: ProfileFile =
        toml::from_str(text).map_err(|error| DeviceError::Malformed(error.to_string()))?;
    let PacketTimes { publish, acknowledgement, payload_handling } = &file.processing;
    for time in [publish, acknowledgement, payload_handling] {
        check_source(&time.source)?;
    }
    if let Some(clock) = &file.clock {
        check_clock(clock)?;
    }
    if let Some(power) = &file.power {
        check_power(power)?;
    }
    if let Some(radio) = &file.radio {
        check_radio(radio)?;
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
        *costs = Some(costs_from(suite, table, alike, file.clock.as_ref())?);
    }
    if suites.iter().all(Option::is_none) {
        return Err(DeviceError::WithoutCosts);
    }
    let messages = file.messages.as_ref().map(|table| handling_from(table, file.clock.as_ref()));
    let messages = messages.transpose()?;
    let ProfileFile { name, description, processing, clock, power, radio, .. } = file;
    let board = None;
    Ok(DeviceProfile {
        name,
        description,
        processing,
        clock,
        power,
        radio,
        messages,
        board,
        suites,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    name: String,
    description: String,
    processing: PacketTimes,
    clock: Option<InstructionClock>,
    power: Option<DevicePower>,
    radio: Option<Radio>,
    messages: Option<CostEntries>,
    basis: Option<Basis>,
    standard: Option<CostEntries>,
    constrained: Option<CostEntries>,
    published: Option<CostEntries>,
    #[serde(rename = "published-2048")]
    published_2048: Option<CostEntries>,
    #[serde(rename = "modp-2048")]
    modp_2048: Option<CostEntries>,
    #[serde(rename = "modp-3072")]
    modp_3072: Option<CostEntries>,
    ffdhe2048: Option<CostEntries>,
    ffdhe3072: Option<CostEntries>,
    pq: Option<CostEntries>,
}

/// A built-in profile that supplies the costs missing from this profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Basis {
    device: String,
    factor: f64,
    source: String,
}

/// Costs by the names of primitives.
type CostEntries = BTreeMap<String, CostEntry>;

/// A cost as the file states it: in time, or in instructions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostEntry {
    per_call_ns: Option<f64>,
    per_unit_ns: Option<f64>,
    per_call_instructions: Option<f64>,
    per_unit_instructions: Option<f64>,
    error_percent: Option<f64>,
    energy: Option<CallEnergy>,
    source: String,
}

impl ProfileFile {
    /// Takes the tables, in the order of [`Suite::ALL`].
    fn take_tables(&mut self) -> [Option<CostEntries>; Suite::ALL.len()] {
        [
            self.standard.take(),
            self.constrained.take(),
            self.published.take(),
            self.published_2048.take(),
            self.modp_2048.take(),
            self.modp_3072.take(),
            self.ffdhe2048.take(),
            self.ffdhe3072.take(),
            self.pq.take(),
        ]
    }
}

impl Basis {
    /// Adds the times of the basis for costs that the file does not have. Their source becomes
    /// `assumed`, whatever it is in the basis.
    fn fill(
        &self,
        tables: &mut [Option<CostEntries>; Suite::ALL.len()],
    ) -> Result<(), DeviceError> {
        let Self { device: name, factor, source } = self;
        check_source(source)?;
        if !(factor.is_finite() && *factor > 0.0) {
            return Err(DeviceError::InvalidFactor { key: "factor" });
        }
        let device = DeviceProfile::named(name)
            .ok_or_else(|| DeviceError::UnknownBasis { device: name.clone() })?;
        for suite in device.suites() {
            let costs = device.costs(suite).expect("it is among its suites");
            let table = tables[suite as usize].get_or_insert_default();
            for primitive in Primitive::ALL {
                let there = costs.of(primitive);
                let why = source.split_once(':').map_or("", |(_, why)| why.trim());
                table.entry(primitive.name().to_owned()).or_insert_with(|| CostEntry {
                    per_call_ns: Some(there.per_call_ns * factor),
                    per_unit_ns: Some(there.per_unit_ns * factor),
                    source: format!(
                        "assumed: {factor} times {name} ({why}); there {}",
                        there.source
                    ),
                    ..CostEntry::default()
                });
            }
        }
        Ok(())
    }
}

/// Reads the costs in a suite's own table. Costs that do not depend on the group may be in `alike`,
/// the table of the suite that differs only in the group.
fn costs_from(
    suite: Suite,
    table: &CostEntries,
    alike: Option<&CostEntries>,
    clock: Option<&InstructionClock>,
) -> Result<Costs, DeviceError> {
    let mut costs = Vec::new();
    for primitive in Primitive::ALL {
        let name = primitive.name();
        let missing = DeviceError::MissingPrimitive { suite: suite.name(), primitive: name };
        let is_own = match suite.group() {
            Some(_) => primitive.is_of_group(),
            // It needs figures of what it has instead, and the others of a group nobody asks for.
            None => own_primitives(suite).any(|own| own == primitive),
        };
        let inherited = alike.filter(|_| !is_own);
        let entry = table.get(name).or_else(|| inherited?.get(name)).ok_or(missing)?;
        costs.push(entry.cost(name, clock)?);
    }
    let known = |name: &&String| Primitive::ALL.iter().any(|known| known.name() == *name);
    if let Some(primitive) = table.keys().find(|name| !known(name)) {
        return Err(DeviceError::UnknownPrimitive { primitive: primitive.clone() });
    }
    let costs = costs.try_into().expect("one for each primitive");
    Ok(Costs(costs))
}

fn handling_from(
    table: &CostEntries,
    clock: Option<&InstructionClock>,
) -> Result<HandlingCosts, DeviceError> {
    let mut costs = Vec::new();
    for handling in Handling::ALL {
        let name = handling.name();
        let missing = DeviceError::MissingPrimitive { suite: "messages", primitive: name };
        costs.push(table.get(name).ok_or(missing)?.cost(name, clock)?);
    }
    let known = |name: &&String| Handling::ALL.iter().any(|known| known.name() == *name);
    if let Some(primitive) = table.keys().find(|name| !known(name)) {
        return Err(DeviceError::UnknownPrimitive { primitive: primitive.clone() });
    }
    Ok(HandlingCosts(costs.try_into().expect("one for each kind")))
}

impl CostEntry {
    fn cost(
        &self,
        primitive: &str,
        clock: Option<&InstructionClock>,
    ) -> Result<PrimitiveCost, DeviceError> {
        let name = || primitive.to_owned();
        check_source(&self.source)?;
        let counted = self.source.starts_with(COUNTED);
        let (per_call, per_unit, neither) = match counted {
            false => (self.per_call_ns, self.per_unit_ns, self.counted()),
            true => (self.per_call_instructions, self.per_unit_instructions, self.timed()),
        };
        let (Some(per_call), None) = (per_call, neither) else {
            return Err(DeviceError::InvalidCost { primitive: name() });
        };
        let per_unit = per_unit.unwrap_or(0.0);
        if !is_amount(per_call) || !is_amount(per_unit) {
            return Err(DeviceError::InvalidTime { primitive: name() });
        }
        if self.error_percent.is_some_and(|percent| !is_amount(percent)) {
            return Err(DeviceError::InvalidFactor { key: "error_percent" });
        }
        if let Some(CallEnergy { per_call_joule, per_unit_joule, error_percent }) = &self.energy
            && ![per_call_joule, per_unit_joule, error_percent].into_iter().all(|n| is_amount(*n))
        {
            return Err(DeviceError::InvalidPower);
        }
        let clock = counted.then(|| clock.ok_or(DeviceError::WithoutClock)).transpose()?;
        let time_ns = |amount| clock.map_or(amount, |clock| clock.time_ns(amount));
        Ok(PrimitiveCost {
            per_call_ns: time_ns(per_call),
            per_unit_ns: time_ns(per_unit),
            instructions: counted.then_some(Instructions { per_call, per_unit }),
            error_percent: self.error_percent,
            energy: self.energy,
            source: self.source.clone(),
        })
    }

    fn counted(&self) -> Option<f64> {
        self.per_call_instructions.or(self.per_unit_instructions)
    }

    fn timed(&self) -> Option<f64> {
        self.per_call_ns.or(self.per_unit_ns)
    }
}

pub(super) fn check_clock(clock: &InstructionClock) -> Result<(), DeviceError> {
    check_source(&clock.source)?;
    let rate = clock.instructions_per_cycle;
    match clock.hertz > 0 && rate.is_finite() && rate > 0.0 {
        true => Ok(()),
        false => Err(DeviceError::InvalidClock),
    }
}

pub(super) fn check_power(power: &DevicePower) -> Result<(), DeviceError> {
    check_figures([&power.idle, &power.active])?;
    match power.idle.watt <= power.active.watt {
        true => Ok(()),
        false => Err(DeviceError::InvalidPower),
    }
}

pub(super) fn check_radio(radio: &Radio) -> Result<(), DeviceError> {
    check_source(&radio.source)?;
    check_figures([&radio.send, &radio.receive])?;
    if radio.bits_per_second == 0 || radio.packet_bytes == 0 {
        return Err(DeviceError::InvalidRadio);
    }
    let wake = radio.wake.iter().flat_map(|wake| [wake.joule, wake.error_joule]);
    let tail = radio.tail.iter().flat_map(|tail| [tail.seconds, tail.watt, tail.error_watt]);
    if !wake.chain(tail).all(is_amount) {
        return Err(DeviceError::InvalidPower);
    }
    radio.sources().try_for_each(check_source)
}

fn check_figures(figures: [&PowerFigure; 2]) -> Result<(), DeviceError> {
    for figure in figures {
        check_source(&figure.source)?;
        if !is_amount(figure.watt) || !is_amount(figure.error_watt) {
            return Err(DeviceError::InvalidPower);
        }
    }
    Ok(())
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

pub(super) fn check_source(source: &str) -> Result<(), DeviceError> {
    if SOURCES.iter().any(|word| source.starts_with(word)) {
        return Ok(());
    }
    Err(DeviceError::UnknownSource { source: source.to_owned() })
}

impl DeviceError {
    fn in_file(self, path: &Path, text: &str) -> InputError {
        match toml::from_str::<ProfileFile>(text) {
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
            Self::InvalidClock => {
                write!(f, "hertz and instructions_per_cycle of the clock must be more than 0")
            }
            Self::InvalidCost { primitive } => write!(
                f,
                "the cost of {primitive} must be per_call_ns and per_unit_ns; or \
                 per_call_instructions and per_unit_instructions, with a source that begins with {COUNTED}"
            ),
            Self::InvalidFactor { key } => {
                write!(f, "{key} must be a number, not negative, and a factor more than 0")
            }
            Self::InvalidPower => write!(
                f,
                "powers, energies and their times must be numbers, not negative, and active at least \
                 idle power"
            ),
            Self::InvalidRadio => {
                write!(f, "bits_per_second and packet_bytes of the radio must be more than 0")
            }
            Self::InvalidTime { primitive } => {
                write!(
                    f,
                    "the time of {primitive} must be a number of nanoseconds or instructions, not negative"
                )
            }
            Self::Malformed(problem) => f.write_str(problem.trim_end()),
            Self::MissingPrimitive { suite, primitive } => write!(
                f,
                "the suite {suite} lacks the cost of {primitive}; add a table [{suite}.{primitive}]"
            ),
            Self::UnknownBasis { device } => {
                let known = DeviceProfile::names().collect::<Vec<_>>().join(", ");
                write!(f, "there is no device {device:?} to build on; there are {known}")
            }
            Self::UnknownPrimitive { primitive } => {
                let known = Primitive::ALL.map(Primitive::name).join(", ");
                write!(f, "there is no primitive {primitive}; there are {known}")
            }
            Self::UnknownSource { source } => {
                write!(f, "the source {source:?} must begin with one of: {}", SOURCES.join(", "))
            }
            Self::WithoutClock => write!(
                f,
                "instructions take no time without a [clock]: give it hertz, instructions_per_cycle and source"
            ),
            Self::WithoutCosts => {
                write!(f, "the profile has costs for no suite; add a table such as [standard]")
            }
        }
    }
}

impl error::Error for DeviceError {}

const SOURCES: [&str; 5] = ["assumed:", "calibrated:", COUNTED, "measured:", "published:"];

/// The source of instructions, and of no other figures.
const COUNTED: &str = "counted:";

#[cfg(test)]
mod tests {
    use groupkey::crypto::meter::{Meter, Probe};

    use super::*;

    #[test]
    fn every_built_in_profile_is_read_and_named_as_listed() {
        for (name, profile) in BUILT_IN {
            assert!(Board::named(name).is_none(), "{name} is a board, too");
            let device =
                DeviceProfile::from_toml(profile).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(device.name, name);
        }
        assert_eq!(DeviceProfile::named("toaster"), None);
    }

    #[test]
    fn a_step_takes_calls_and_units() {
        let device = DeviceProfile::named("i5-6500-python").expect("built in");
        let costs = device.costs(Suite::Published).expect("of the published suite");
        let wrap = costs.of(Primitive::Wrap);
        let mut meter = Meter::new();
        meter.record(Primitive::Wrap, 3);
        meter.record(Primitive::Wrap, 2);
        let expected = 2.0 * wrap.per_call_ns + 5.0 * wrap.per_unit_ns;
        assert_eq!(costs.computation(&meter), expected as u64);
        assert_eq!(costs.computation(&Meter::new()), 0);
    }

    /// An exponentiation of 3072 bits must not get the price of an exponentiation of 1024 bits.
    #[test]
    fn a_group_is_never_priced_as_another() {
        let paper = DeviceProfile::named("i5-6500-python").expect("built in");
        assert_eq!(paper.suites().collect::<Vec<_>>(), [Suite::Published]);

        let device = BUILT_IN[2].1;
        let known = paper.costs(Suite::Published).expect("of the published suite");
        let mut tables = String::from(device);
        let group = Primitive::ALL.into_iter().filter(|primitive| primitive.is_of_group());
        for (number, primitive) in (1..).zip(group) {
            let told = DeviceProfile::from_toml(&tables)
                .map(|device| device.costs(Suite::Modp3072).cloned());
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
        let device = DeviceProfile::from_toml(&tables).expect("complete");
        let costs = device.costs(Suite::Modp3072).expect("of this suite");
        assert_eq!(costs.of(Primitive::Wrap), known.of(Primitive::Wrap));
        assert_eq!(costs.of(Primitive::Exponentiate).source, "assumed: a test");
        assert_eq!(device.costs(Suite::Ffdhe3072), None);
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        let told = |from: &str, to: &str| {
            let text = BUILT_IN[1].1.replacen(from, to, 1);
            DeviceProfile::from_toml(&text).expect_err("a mistake").to_string()
        };
        assert!(told("[published.wrap]", "[published.rap]").contains("[published.wrap]"));
        assert!(told("assumed: ", "guessed: ").contains("must begin with one of: assumed:"));
        assert!(told("description", "descripton").contains("line 5, column 1"));
        assert!(told("per_call_ns = ", "per_call_ns = -").contains("not negative"));
    }
}
