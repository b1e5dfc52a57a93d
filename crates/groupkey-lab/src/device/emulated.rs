//! A profile of a microcontroller that QEMU emulates: the instructions of each primitive of this
//! library.
//!
//! The firmware in `firmware/` counts the instructions and prints a line for each primitive. Counts
//! are exact, and the same in every run of one build. They are not cycles: counting does not tell
//! how long an instruction waits.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, error, fmt, io, thread};

use super::costs::{InstructionClock, Instructions, PrimitiveCost};
use super::figures::Figures;
use super::profile::{DeviceProfile, PacketTimes};

/// A microcontroller's processor that can be emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Arm Cortex-M4 with its floating point unit.
    CortexM4,
    /// RISC-V, 32 bits, with multiplication, atomics and compressed instructions.
    Rv32imac,
}

/// Why there is no profile of an emulated device.
#[derive(Debug)]
pub enum EmulationError {
    /// The folder is not the firmware's folder.
    NoFirmware(PathBuf),
    /// The emulator is not installed.
    NoEmulator(Target),
    /// The compiler does not know the target.
    NoCompiler(Target),
    /// The firmware was not built. The cause is on standard error.
    NotBuilt(Target),
    /// The firmware was not built, or did not run to its end. The cause is on standard error.
    Stopped(Target),
    /// The firmware printed a line without figures, or too few figures.
    Unreadable(String),
    /// A program could not be started.
    Io(io::Error),
}

impl DeviceProfile {
    /// Builds the firmware in this folder, runs it in the emulator, and makes a profile of its
    /// counts. Calls `progress` after each figure with the number of figures so far, and their
    /// final number.
    ///
    /// The cost of packets is assumed, and so is the clock that converts instructions to times.
    pub fn emulated(
        target: Target,
        firmware: &Path,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, EmulationError> {
        let figures = count(target, firmware, progress)?;
        let provenance = target.provenance()?;
        let cost = |instructions: Instructions| PrimitiveCost {
            per_call_ns: target.clock().time_ns(instructions.per_call),
            per_unit_ns: target.clock().time_ns(instructions.per_unit),
            instructions: Some(instructions),
            error_percent: None,
            energy: None,
            source: provenance.clone(),
        };
        let costs = figures.costs(cost, |_, _| None);
        let (messages, suites) = costs
            .map_err(|missing| EmulationError::Unreadable(format!("there is no {missing}")))?;
        Ok(Self {
            name: target.name().to_owned(),
            description: target.description().to_owned(),
            processing: PacketTimes::of_a_member_in_c(target.clock().hertz),
            clock: Some(target.clock()),
            power: None,
            radio: None,
            board: None,
            messages: Some(messages),
            suites,
        })
    }
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 2] = [Self::CortexM4, Self::Rv32imac];

    /// Returns the name on the command line, which is also the profile's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CortexM4 => "cortex-m4",
            Self::Rv32imac => "rv32imac",
        }
    }

    /// Returns other names that the command line takes.
    pub const fn other_names(self) -> &'static [&'static str] {
        match self {
            Self::CortexM4 => &[],
            Self::Rv32imac => &["riscv32"],
        }
    }

    /// Returns the target with this name, or with this other name.
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |target: &Self| target.name() == name || target.other_names().contains(&name);
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns a description of the target.
    pub const fn description(self) -> &'static str {
        match self {
            Self::CortexM4 => {
                "Cortex-M4, this library in Rust: instruction counts, as if one a cycle at 64 MHz"
            }
            Self::Rv32imac => {
                "RV32IMAC, this library in Rust: instruction counts, as if one a cycle at 160 MHz"
            }
        }
    }

    pub(super) const fn triple(self) -> &'static str {
        match self {
            Self::CortexM4 => "thumbv7em-none-eabihf",
            Self::Rv32imac => "riscv32imac-unknown-none-elf",
        }
    }

    pub(super) const fn emulator(self) -> &'static str {
        match self {
            Self::CortexM4 => "qemu-system-arm",
            Self::Rv32imac => "qemu-system-riscv32",
        }
    }

    /// Returns the name of the emulator's Debian package.
    const fn package(self) -> &'static str {
        match self {
            Self::CortexM4 => "qemu-system-arm",
            Self::Rv32imac => "qemu-system-misc",
        }
    }

    fn clock(self) -> InstructionClock {
        let (hertz, chip) = match self {
            Self::CortexM4 => (64_000_000, "nRF52840"),
            Self::Rv32imac => (160_000_000, "ESP32-C6"),
        };
        InstructionClock {
            hertz,
            instructions_per_cycle: 1.0,
            source: format!(
                "assumed: the clock of an {chip}, an instruction a cycle; what waits for memory takes longer"
            ),
        }
    }

    /// Builds a program of the firmware in this folder, runs it in the emulator, and hands every
    /// line that it prints to `take`.
    pub fn run(
        self,
        firmware: &Path,
        program: &str,
        take: &mut dyn FnMut(&str),
    ) -> Result<(), EmulationError> {
        self.run_with(firmware, program, Vec::new(), take)
    }

    /// Does the same with a program that reads `input`.
    pub(super) fn run_with(
        self,
        firmware: &Path,
        program: &str,
        input: Vec<u8>,
        take: &mut dyn FnMut(&str),
    ) -> Result<(), EmulationError> {
        check_firmware(firmware)?;
        self.provenance()?;
        // Each target has its own folder, so that the builds do not wait for each other.
        let builds = Path::new("../target/firmware").join(self.triple());
        // The firmware's own configuration of Cargo says how to start the emulator.
        let mut child = self
            .cargo("run", firmware, &builds)
            .args(["--release", "--bin", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(EmulationError::Io)?;
        let mut stdin = child.stdin.take().expect("it is piped");
        // A thread of its own: the program prints before it has read everything. It may stop early.
        let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
        for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
            take(&line.map_err(EmulationError::Io)?);
        }
        let status = child.wait().map_err(EmulationError::Io)?;
        drop(feeder.join());
        match status.success() {
            true => Ok(()),
            false => Err(EmulationError::Stopped(self)),
        }
    }

    /// Returns the command with which cargo does `what` with a package for this target. The package is
    /// in this folder, where cargo finds its configuration, and `builds` is relative to it.
    pub(super) fn cargo(self, what: &str, package: &Path, builds: &Path) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args([what, "--quiet", "--locked", "--target", self.triple()]);
        command.arg("--target-dir").arg(builds).current_dir(package).stdin(Stdio::null());
        command
    }

    pub(super) fn build(self, cargo: &mut Command) -> Result<(), EmulationError> {
        match cargo.status().map_err(EmulationError::Io)?.success() {
            true => Ok(()),
            false => Err(EmulationError::NotBuilt(self)),
        }
    }

    /// Fails if the compiler's target is not installed.
    pub(super) fn check_compiler(self) -> Result<(), EmulationError> {
        let mut libraries = Command::new(rustc());
        libraries.args(["--print", "target-libdir", "--target", self.triple()]);
        let libraries = said(&mut libraries).map_err(EmulationError::Io)?;
        match Path::new(libraries.trim()).is_dir() {
            true => Ok(()),
            false => Err(EmulationError::NoCompiler(self)),
        }
    }

    /// Fails if the emulator or the compiler's target is not installed.
    pub fn check_tools(self) -> Result<(), EmulationError> {
        self.provenance().map(drop)
    }

    /// Returns the source of the primitives' counts.
    fn provenance(self) -> Result<String, EmulationError> {
        let tools = self.source()?;
        Ok(format!("counted: groupkey device measure --target {}, {tools}", self.name()))
    }

    /// Returns the versions of the emulator and the compiler. Fails if either is not installed.
    pub fn source(self) -> Result<String, EmulationError> {
        let emulator = said(Command::new(self.emulator()).arg("--version"))
            .map_err(|_| EmulationError::NoEmulator(self))?;
        // Such as "QEMU emulator version 7.2.22 (...)".
        let emulator = emulator.split_whitespace().nth(3).unwrap_or_default();
        Ok(format!("QEMU {emulator}, {}", self.compiler()?))
    }

    /// Returns the version of the compiler. Fails if the compiler's target is not installed.
    pub fn compiler(self) -> Result<String, EmulationError> {
        self.check_compiler()?;
        let compiler = said(Command::new(rustc()).arg("--version")).map_err(EmulationError::Io)?;
        // Such as "rustc 1.95.0 (...)".
        Ok(format!("Rust {}", compiler.split_whitespace().nth(1).unwrap_or_default()))
    }
}

/// Fails if the folder is not the firmware's.
pub(super) fn check_firmware(folder: &Path) -> Result<(), EmulationError> {
    match folder.join("memory").is_dir() {
        true => Ok(()),
        false => Err(EmulationError::NoFirmware(folder.to_owned())),
    }
}

/// Runs the firmware and returns its counts.
fn count(
    target: Target,
    firmware: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Figures, EmulationError> {
    let mut counted = Figures::default();
    let mut unreadable = None;
    target.run(firmware, "instructions", &mut |line| match counted.take(line) {
        true => progress(counted.number(), Figures::wanted()),
        false => unreadable = Some(line.to_owned()),
    })?;
    unreadable.map_or(Ok(counted), |line| Err(EmulationError::Unreadable(line)))
}

fn rustc() -> OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// Runs a program and returns what it prints.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

impl EmulationError {
    /// Returns advice on the error.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoFirmware(_) => {
                Some("run it in a clone of the repository, or say where with --firmware".to_owned())
            }
            Self::NoEmulator(target) => Some(format!("apt-get install {}", target.package())),
            Self::NoCompiler(target) => Some(format!("rustup target add {}", target.triple())),
            Self::NotBuilt(_) | Self::Stopped(_) | Self::Unreadable(_) | Self::Io(_) => None,
        }
    }
}

impl fmt::Display for EmulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFirmware(folder) => {
                write!(f, "the folder {} does not have the firmware", folder.display())
            }
            Self::NoEmulator(target) => write!(f, "{} is not installed", target.emulator()),
            Self::NoCompiler(target) => {
                write!(f, "Rust's target {} is not installed", target.triple())
            }
            Self::NotBuilt(target) => {
                write!(f, "the firmware for {} was not built", target.name())
            }
            Self::Stopped(target) => {
                write!(f, "the firmware for {} did not run to its end", target.name())
            }
            Self::Unreadable(line) => write!(f, "the firmware printed no figures: {line}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for EmulationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_firmware_is_refused_with_what_to_do() {
        let refused =
            DeviceProfile::emulated(Target::Rv32imac, Path::new("no-such-folder"), &mut |_, _| {})
                .expect_err("there is none");
        assert!(refused.to_string().contains("no-such-folder"));
        assert!(refused.help().is_some_and(|help| help.contains("--firmware")));
    }
}
