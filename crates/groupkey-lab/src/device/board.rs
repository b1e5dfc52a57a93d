//! Boards: how much memory a program has on a named device, what it runs on, and what it draws.
//!
//! A board is a TOML file in `boards/`; `docs/devices.md` lists its keys. A board has no prices
//! of its own: it names the profile whose instruction counts stand for it, and says how closely.

use std::path::Path;
use std::sync::Arc;
use std::{error, fmt};

use groupkey_choose::input::{InputError, Mistake};
use serde::{Deserialize, Serialize};

use super::costs::InstructionClock;
use super::file::{DeviceError, check_clock, check_power, check_radio, check_source};
use super::power::DevicePower;
use super::profile::DeviceProfile;
use super::radio::Radio;

/// A board with a microcontroller and a radio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name on the command line and in results.
    pub name: String,
    /// A description of the board.
    pub description: String,
    /// Its processor's core.
    pub core: String,
    /// The profile whose instruction counts stand for the core.
    pub counts: CoreCounts,
    /// Working memory.
    pub ram: BoardMemory,
    /// Program memory.
    pub flash: BoardMemory,
    /// The core's clock.
    pub clock: InstructionClock,
    /// The power that it draws.
    pub power: DevicePower,
    /// Its radio.
    pub radio: Radio,
}

/// The profile whose instruction counts stand for a core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreCounts {
    /// The built-in profile: `cortex-m4` or `rv32imac`.
    pub device: String,
    /// How closely the counts stand for the core.
    pub bearing: Bearing,
    /// Why.
    pub source: String,
}

/// How closely a profile's instruction counts stand for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bearing {
    /// The core runs the counted instructions.
    Own,
    /// The core needs at least as many instructions.
    LowerBound,
    /// The core has other instructions. Their number is about as large.
    StandIn,
}

/// A memory, and what of it a program cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardMemory {
    /// All of it (bytes).
    pub bytes: u64,
    /// Where that comes from.
    pub source: String,
    /// What the system and the radio's software take (bytes).
    pub taken_bytes: u64,
    /// Where that comes from.
    pub taken_source: String,
}

/// A board that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardError {
    /// A figure that a device profile could not have either.
    Device(DeviceError),
    /// The system takes more of a memory than there is.
    NothingLeft {
        /// The memory's table.
        memory: &'static str,
    },
    /// The counts are of no profile that was counted.
    UnknownCounts {
        /// The profile as written.
        device: String,
    },
}

impl Board {
    /// Returns the built-in board of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::from_toml(text).expect("a test reads every built-in board"))
    }

    /// Returns the names of the built-in boards.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the text of a built-in board's file, with its comments.
    pub fn text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
    }

    /// Reads a board from the text of its file; errors name the file by `path`.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        Self::from_toml(text).map_err(|error| match toml::from_str::<Self>(text) {
            Err(error) => InputError::in_text(path, text, Mistake::from(error)),
            // The form is right; the message names the table.
            Ok(_) => {
                InputError { path: path.to_owned(), position: None, problem: error.to_string() }
            }
        })
    }

    /// Reads a board from the text of its file.
    pub fn from_toml(text: &str) -> Result<Self, BoardError> {
        let board: Self =
            toml::from_str(text).map_err(|error| DeviceError::Malformed(error.to_string()))?;
        board.check()?;
        Ok(board)
    }

    fn check(&self) -> Result<(), BoardError> {
        check_source(&self.counts.source)?;
        check_clock(&self.clock)?;
        check_power(&self.power)?;
        check_radio(&self.radio)?;
        for (name, memory) in [("ram", &self.ram), ("flash", &self.flash)] {
            check_source(&memory.source)?;
            check_source(&memory.taken_source)?;
            if memory.taken_bytes >= memory.bytes {
                return Err(BoardError::NothingLeft { memory: name });
            }
        }
        if !COUNTED.contains(&self.counts.device.as_str()) {
            return Err(BoardError::UnknownCounts { device: self.counts.device.clone() });
        }
        Ok(())
    }

    /// Returns the board as a device profile: the counted instructions at the board's clock, with
    /// its power and radio. Packets take as many cycles as in the counts' profile.
    pub fn device(&self) -> DeviceProfile {
        let counts = DeviceProfile::named(&self.counts.device).expect("checked when it was read");
        let mut device = counts.at_clock(&self.clock);
        device.name.clone_from(&self.name);
        device.description.clone_from(&self.description);
        device.power = Some(self.power.clone());
        device.radio = Some(self.radio.clone());
        device.board = Some(Arc::new(self.clone()));
        device
    }
}

impl BoardMemory {
    /// Returns what a program has (bytes).
    pub const fn available(&self) -> u64 {
        self.bytes - self.taken_bytes
    }
}

impl Bearing {
    /// Returns the name, as in a board's file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::LowerBound => "lower-bound",
            Self::StandIn => "stand-in",
        }
    }

    /// Returns what the name means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Own => "counted instructions of this core",
            Self::LowerBound => "a lower bound: the core needs more instructions",
            Self::StandIn => "a stand-in: the core has other instructions",
        }
    }
}

const BUILT_IN: [(&str, &str); 6] = [
    ("esp8266-board", include_str!("../boards/esp8266.toml")),
    ("esp32", include_str!("../boards/esp32.toml")),
    ("esp32-c3", include_str!("../boards/esp32-c3.toml")),
    ("nrf52840", include_str!("../boards/nrf52840.toml")),
    ("stm32l4", include_str!("../boards/stm32l4.toml")),
    ("rp2040", include_str!("../boards/rp2040.toml")),
];

/// The profiles of counted instructions.
const COUNTED: [&str; 2] = ["cortex-m4", "rv32imac"];

impl From<DeviceError> for BoardError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(error) => error.fmt(f),
            Self::NothingLeft { memory } => {
                write!(f, "[{memory}] leaves a program nothing: taken_bytes must be below bytes")
            }
            Self::UnknownCounts { device } => write!(
                f,
                "[counts] has no instruction counts by the name {device:?}; there are {}",
                COUNTED.join(", ")
            ),
        }
    }
}

impl error::Error for BoardError {}

#[cfg(test)]
mod tests {
    use groupkey::Suite;
    use groupkey::crypto::meter::Primitive;

    use super::*;

    #[test]
    fn every_built_in_board_is_read_and_named_as_listed() {
        for (name, text) in BUILT_IN {
            let board = Board::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(board.name, name);
            assert!(board.ram.available() > 0 && board.flash.available() > 0);
        }
        assert_eq!(Board::named("toaster"), None);
    }

    #[test]
    fn a_board_prices_counts_at_its_own_clock() {
        let (board, counts) = (Board::named("stm32l4"), DeviceProfile::named("cortex-m4"));
        let (device, counts) = (board.expect("built in").device(), counts.expect("built in"));
        let sign = |device: &DeviceProfile| {
            device.costs(Suite::Standard).expect("all").of(Primitive::Sign).clone()
        };
        assert_eq!(sign(&device).instructions, sign(&counts).instructions);
        let ratio = sign(&counts).per_call_ns / sign(&device).per_call_ns;
        assert!((ratio - 80.0 / 64.0).abs() < 1e-9, "{ratio}");
        assert_eq!(device.processing.publish.ns, counts.processing.publish.ns * 64 / 80);
        assert_eq!(device.name, "stm32l4");
        let again = DeviceProfile::from_toml(&device.to_toml()).expect("a profile");
        assert_eq!(again, DeviceProfile { board: None, ..device });
    }

    #[test]
    fn boards_that_cannot_be_are_refused() {
        let text = Board::text("rp2040").expect("built in");
        let told = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Board::from_toml(&text.replacen(from, to, 1)).expect_err("a mistake").to_string()
        };
        assert!(told("taken_bytes = 65_536", "taken_bytes = 300_000").contains("[ram]"));
        assert!(told("device = \"cortex-m4\"", "device = \"host\"").contains("rv32imac"));
        assert!(told("hertz = 125_000_000", "hertz = 0").contains("more than 0"));
        assert!(told("packet_bytes = 1_460", "packet_bytes = 0").contains("packet_bytes"));
        assert!(told("watt = 0.08", "watt = -1").contains("not negative"));
        assert!(told("source = \"assumed", "source = \"heard").contains("must begin with"));
        assert!(told("[flash]", "[flush]").contains("flush"));
        assert!(told("bytes = 270_336", "bytes = -1").contains("line"));
    }
}
