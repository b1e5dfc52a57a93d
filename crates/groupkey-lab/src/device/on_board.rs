//! A profile of a board that measured itself: the cycles of each primitive of this library.
//!
//! The program `cycles` of `firmware/boards/esp32` prints them over the board's serial port: first `cycles`,
//! the board's name, its clock in hertz and the emulated processor that has its core; then a line for each
//! figure, and `end`. What takes more memory than the board has is not measured: the emulated processor's
//! instructions stand in for it, one a cycle.

use std::{error, fmt};

use groupkey_testkit::workbench::fits_boards;

use super::board::Board;
use super::costs::{Instructions, PrimitiveCost};
use super::emulated::Target;
use super::figures::Figures;
use super::profile::{DeviceProfile, PacketTimes};

/// Why there is no profile of what a board printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardPrintError {
    /// No line begins it.
    NoBeginning,
    /// A line after the first is no figure.
    NoFigure {
        /// Its number, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// There is no last line: the rest was lost.
    NoEnd,
    /// A figure is missing.
    Missing(String),
}

impl DeviceProfile {
    /// Makes a profile of what a board printed. What it printed before, such as a boot loader's lines,
    /// does not count. The cost of packets is assumed.
    pub fn printed_by_board(text: &str) -> Result<Self, BoardPrintError> {
        let mut lines = (1..).zip(text.lines().map(str::trim_end));
        let FirstLine { name, hertz, target } =
            lines.find_map(|(_, line)| beginning(line)).ok_or(BoardPrintError::NoBeginning)?;
        let mut figures = Figures::default();
        loop {
            match lines.next() {
                None => return Err(BoardPrintError::NoEnd),
                Some((_, "end")) => break,
                Some((_, text)) if figures.take(text) => {}
                Some((line, text)) => {
                    return Err(BoardPrintError::NoFigure { line, text: text.to_owned() });
                }
            }
        }
        let megahertz = hertz as f64 / 1e6;
        let cost = |Instructions { per_call, per_unit }, source: String| PrimitiveCost {
            per_call_ns: per_call * 1e9 / hertz as f64,
            per_unit_ns: per_unit * 1e9 / hertz as f64,
            instructions: None,
            error_percent: None,
            energy: None,
            source,
        };
        let measured = |cycles: Instructions| {
            let Instructions { per_call, per_unit } = cycles;
            let figures = format!("{per_call} cycles, and {per_unit} a unit");
            cost(cycles, format!("measured: {figures}, on {name} at {megahertz} MHz"))
        };
        let emulated = Self::named(target.name()).expect("each target has a profile");
        let too_large = |suite, primitive| {
            let counted = emulated.costs(suite)?.of(primitive).instructions?;
            let source = format!("assumed: the instructions of {}, one a cycle", target.name());
            (!fits_boards(suite, primitive)).then(|| cost(counted, source))
        };
        let costs = figures.costs(measured, too_large);
        let board = Board::named(name);
        let (messages, suites) = costs.map_err(BoardPrintError::Missing)?;
        Ok(Self {
            name: name.to_owned(),
            description: format!(
                "{name} at {megahertz} MHz, this library in Rust: measured cycles"
            ),
            processing: PacketTimes::of_a_member_in_c(hertz),
            clock: None,
            // A board that is built in draws what its file says.
            power: board.as_ref().map(|board| board.power.clone()),
            radio: board.as_ref().map(|board| board.radio.clone()),
            board: None,
            messages: Some(messages),
            suites,
        })
    }
}

/// The first line.
struct FirstLine<'a> {
    name: &'a str,
    hertz: u64,
    target: Target,
}

/// Reads the first line: `cycles esp32-c3 160000000 rv32imac`.
fn beginning(line: &str) -> Option<FirstLine<'_>> {
    let words = line.strip_prefix("cycles ")?.split(' ').collect::<Vec<_>>();
    let [name, hertz, target] = words.try_into().ok()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let hertz = hertz.parse().ok().filter(|&hertz| hertz > 0)?;
    let target = Target::named(target)?;
    is_name.then_some(FirstLine { name, hertz, target })
}

impl BoardPrintError {
    /// Returns advice on the error.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::NoBeginning => "docs/boards.md says how a board prints its figures",
            Self::NoFigure { .. } | Self::NoEnd | Self::Missing(_) => {
                "lines were lost or mixed: let the board print once more"
            }
        }
    }
}

impl fmt::Display for BoardPrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBeginning => write!(f, "no line has `cycles`, a name, a clock and a processor"),
            Self::NoFigure { line, text } => write!(f, "line {line} is no figure: {text:?}"),
            Self::NoEnd => write!(f, "the last line, `end`, is missing"),
            Self::Missing(name) => write!(f, "the figure of {name} is missing"),
        }
    }
}

impl error::Error for BoardPrintError {}

#[cfg(test)]
mod tests {
    use groupkey::Suite;
    use groupkey::crypto::meter::Primitive;
    use groupkey_testkit::workbench::{Handling, own_primitives};

    use super::*;

    fn printed() -> String {
        let messages =
            Handling::ALL.map(|handling| format!("messages {} 10.00 0.50", handling.name()));
        let primitives = Suite::ALL.into_iter().flat_map(|suite| {
            let own = own_primitives(suite).filter(move |&one| fits_boards(suite, one));
            own.map(move |one| format!("{} {} 640.00 6.40", suite.name(), one.name()))
        });
        let figures: Vec<String> = messages.into_iter().chain(primitives).collect();
        format!(
            "boot 1.2\r\ncycles nrf52840 64000000 cortex-m4\r\n{}\r\nend\r\n",
            figures.join("\r\n")
        )
    }

    #[test]
    fn a_board_gives_a_profile_which_reads_back() {
        let device = DeviceProfile::printed_by_board(&printed()).expect("everything is there");
        let costs = device.costs(Suite::Constrained).expect("all suites were measured");
        assert_eq!(costs.of(Primitive::Wrap).per_call_ns, 10_000.0);
        assert_eq!(costs.of(Primitive::Wrap).per_unit_ns, 100.0);
        let counted = DeviceProfile::named("cortex-m4").expect("it is built in");
        let counted = counted.costs(Suite::Constrained).expect("so are its costs");
        let prime = counted.of(Primitive::GeneratePrime).per_call_ns;
        assert_eq!(costs.of(Primitive::GeneratePrime).per_call_ns, prime);
        assert_eq!(DeviceProfile::from_toml(&device.to_toml()), Ok(device));
    }

    #[test]
    fn what_is_no_profile_is_refused_with_its_place() {
        let refused =
            |text: &str| DeviceProfile::printed_by_board(text).expect_err("it is not whole");
        let whole = printed();
        assert_eq!(refused(""), BoardPrintError::NoBeginning);
        assert_eq!(refused("cycles nrf52840 0 cortex-m4\nend\n"), BoardPrintError::NoBeginning);
        assert_eq!(refused("cycles a\"b 1 cortex-m4\nend\n"), BoardPrintError::NoBeginning);
        assert_eq!(
            refused(whole.strip_suffix("end\r\n").expect("it ends so")),
            BoardPrintError::NoEnd
        );
        let broken = whole.replace("standard wrap 640.00", "standard wrap 640,00");
        assert!(matches!(refused(&broken), BoardPrintError::NoFigure { line: 7.., .. }));
        let short = whole.replace("constrained unwrap 640.00 6.40\r\n", "");
        assert_eq!(refused(&short), BoardPrintError::Missing("constrained unwrap".to_owned()));
    }
}
