//! A live member on an emulated board: builds its program, and starts the board with a flash, a
//! network and a serial port.
//!
//! The emulator runs in real time here. Its user network needs no privileges: the board reaches
//! the host's loopback interface as [`HOST`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{fs, io};

use groupkey::catalogue::Scheme;

use super::emulated::{EmulationError, Target};
use super::flash::family;

/// The address at which a board reaches the loopback interface of the host.
pub const HOST: [u8; 4] = [10, 0, 2, 2];

/// A board that runs until it is dropped.
#[derive(Debug)]
pub struct EmulatedBoard {
    emulator: Child,
}

/// The files that a board works with.
#[derive(Clone, Copy, Debug)]
pub struct BoardFiles<'a> {
    /// The program.
    pub program: &'a Path,
    /// The content of the flash. It must be as long as [`Target::flash`] says.
    pub flash: &'a Path,
    /// Where to offer the emulator's monitor, as a Unix socket.
    pub monitor: Option<&'a Path>,
}

/// A board's flash memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashGeometry {
    /// What is erased at once.
    pub sector: usize,
    /// The whole flash.
    pub length: u64,
}

impl EmulatedBoard {
    /// Takes the pipes to and from the board's serial port.
    pub fn serial(
        &mut self,
    ) -> Option<(impl io::Write + Send + use<>, impl io::Read + Send + use<>)> {
        Some((self.emulator.stdin.take()?, self.emulator.stdout.take()?))
    }

    /// Returns how the program has ended, or `None` if it still runs.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.emulator.try_wait()
    }
}

impl Drop for EmulatedBoard {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

impl Target {
    /// Builds the live member of the firmware in this folder, with this scheme alone, or with three
    /// that are common. It has the suites `standard` and, with a scheme, `constrained`. Returns the
    /// path of the program.
    ///
    /// # Panics
    /// If the scheme is for groups without a controller.
    pub fn build_live(
        self,
        firmware: &Path,
        scheme: Option<&Scheme>,
    ) -> Result<PathBuf, EmulationError> {
        let package = firmware.join("live");
        if !package.join("Cargo.toml").is_file() {
            return Err(EmulationError::NoFirmware(firmware.to_owned()));
        }
        self.check_tools()?;
        let builds = Path::new("../../target/firmware").join(self.triple());
        let mut cargo = self.cargo("build", &package, &builds);
        cargo.args(["--profile", "flash", "--config", "../small.toml"]).stdout(Stdio::null());
        cargo.env_remove("GROUPKEY_SCHEME");
        if let Some(scheme) = scheme {
            assert!(scheme.has_controller(), "the firmware has no peers");
            let features = format!("{},suite-constrained", family(scheme));
            cargo.args(["--no-default-features", "--features", &features]);
            cargo.env("GROUPKEY_SCHEME", scheme.id);
        }
        self.build(&mut cargo)?;
        let built = package.join(builds).join(self.triple()).join("flash/live");
        let Some(scheme) = scheme else { return Ok(built) };
        // The next build, of another scheme, has the same name.
        let own = built.with_file_name(format!("live-{}", scheme.id));
        fs::copy(&built, &own).map_err(EmulationError::Io)?;
        Ok(own)
    }

    /// Returns the form of the board's flash.
    pub const fn flash(self) -> FlashGeometry {
        match self {
            // The emulator has no flash for this board. Semihosting gives it a file.
            Self::CortexM4 => FlashGeometry { sector: 1 << 12, length: 5 << 12 },
            Self::Rv32imac => FlashGeometry { sector: 1 << 18, length: 32 << 20 },
        }
    }

    /// Starts a board.
    pub fn start_live(self, files: BoardFiles<'_>) -> Result<EmulatedBoard, EmulationError> {
        let mut command = Command::new(self.emulator());
        command.args(["-display", "none", "-serial", "stdio", "-netdev", "user,id=net"]);
        match files.monitor {
            Some(path) => command.arg("-monitor").arg(option("unix:", path, ",server=on,wait=off")),
            None => command.args(["-monitor", "none"]),
        };
        match self {
            Self::CortexM4 => command
                .args(["-machine", "mps2-an386", "-net", "nic,model=lan9118,netdev=net"])
                .arg("-semihosting-config")
                .arg(option("enable=on,target=native,arg=live,arg=", files.flash, ""))
                .arg("-kernel"),
            Self::Rv32imac => command
                .args(["-machine", "virt", "-global", "virtio-mmio.force-legacy=false"])
                .args(["-device", "virtio-net-device,netdev=net", "-device", "virtio-rng-device"])
                .args(["-semihosting-config", "enable=on,target=native", "-drive"])
                .arg(option("if=pflash,unit=1,format=raw,file=", files.flash, ""))
                // With a flash, the machine starts its firmware, and no kernel.
                .arg("-bios"),
        };
        let emulator = command
            .arg(files.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => EmulationError::NoEmulator(self),
                _ => EmulationError::Io(error),
            })?;
        Ok(EmulatedBoard { emulator })
    }
}

/// Returns an option of the emulator with a path, whose commas it takes doubled.
fn option(before: &str, path: &Path, after: &str) -> OsString {
    let path = path.to_string_lossy().replace(',', ",,");
    format!("{before}{path}{after}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_is_no_end_of_it() {
        assert_eq!(option("file=", Path::new("a,b"), ",x"), "file=a,,b,x");
    }

    #[test]
    fn a_folder_without_firmware_is_refused_with_what_to_do() {
        let refused = Target::CortexM4.build_live(Path::new("no-such-folder"), None).unwrap_err();
        assert!(refused.to_string().contains("no-such-folder"));
        assert!(refused.help().is_some_and(|help| help.contains("--firmware")));
    }
}
