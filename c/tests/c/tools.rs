//! Compilers, emulators and the library that they are given. What is not installed is skipped, unless
//! `GROUPKEY_REQUIRE_ALL` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Board {
    /// What Rust calls it.
    pub(crate) target: &'static str,
    pub(crate) compiler: &'static str,
    packages: &'static str,
    processor: &'static [&'static str],
    /// Where flash and RAM begin. Of each there are 4 MiB.
    memory: [&'static str; 2],
    emulator: &'static str,
    machine: &'static [&'static str],
}

/// Arm's board MPS2 with the image AN386.
pub(crate) const CORTEX_M4: Board = Board {
    target: "thumbv7em-none-eabihf",
    compiler: "arm-none-eabi-gcc",
    packages: "gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm",
    processor: &["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    memory: ["0x00000000", "0x20000000"],
    emulator: "qemu-system-arm",
    machine: &["-machine", "mps2-an386"],
};

/// QEMU's machine `virt`.
pub(crate) const RV32IMAC: Board = Board {
    target: "riscv32imac-unknown-none-elf",
    compiler: "riscv64-unknown-elf-gcc",
    packages: "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc",
    processor: &["-march=rv32imac", "-mabi=ilp32"],
    memory: ["0x80000000", "0x80400000"],
    emulator: "qemu-system-riscv32",
    machine: &["-machine", "virt", "-bios", "none"],
};

impl Board {
    pub(crate) const fn packages(&self) -> &'static str {
        self.packages
    }

    pub(crate) fn options(&self) -> Vec<String> {
        let [flash, ram] = self.memory;
        let symbols = [
            ("flash", flash),
            ("flash_size", "4M"),
            ("ram", ram),
            ("ram_size", "4M"),
            ("stack_size", "64K"),
        ];
        let symbols = symbols.map(|(name, value)| format!("-Wl,--defsym=__{name}={value}"));
        let library = ["--specs=picolibc.specs", "--oslib=semihost", "--crt0=hosted"];
        let sections = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"];
        let texts = [self.processor, &library[..], &sections[..]].concat();
        texts.into_iter().map(str::to_owned).chain(symbols).collect()
    }
}

/// Runs a program on an emulated board. Returns what it printed, or `None` if there is no emulator.
pub(crate) fn emulated(board: &Board, program: &Path) -> Option<String> {
    let outcome = installed(board.emulator, board.packages)?
        .args(board.machine)
        .args(["-nographic", "-monitor", "none", "-serial", "none"])
        .args(["-chardev", "stdio,id=out"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=out"])
        .arg("-kernel")
        .arg(program)
        .stdin(Stdio::null())
        .output();
    Some(succeeded("the emulator", outcome.expect("it starts")))
}

pub(crate) fn has_target(board: &Board) -> Option<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", board.target])
        .output()
        .expect("rustc is there");
    let is_there = Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir();
    if !is_there {
        skip(&format!("rustup target add {}", board.target));
    }
    is_there.then_some(())
}

pub(crate) fn library(arguments: &[&str]) -> PathBuf {
    let outcome = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "--target-dir", "../target/c", "--message-format=json"])
        .args(arguments)
        .current_dir(folder())
        .env_remove("GROUPKEY_SCHEME")
        .stdin(Stdio::null())
        .output();
    let messages = succeeded("cargo", outcome.expect("it starts"));
    let archive = messages.split('"').rfind(|text| text.ends_with("libgroupkey_c.a"));
    archive.expect("the library was built").into()
}

/// Returns a program that is there, or `None` with a note which packages have it.
pub(crate) fn installed(program: &str, packages: &str) -> Option<Command> {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skip(&format!("apt-get install {packages}"));
    }
    is_there.then(|| Command::new(program))
}

/// Returns what a program printed. Fails if the program failed.
pub(crate) fn succeeded(what: &str, outcome: Output) -> String {
    let [out, err] = [&outcome.stdout, &outcome.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(outcome.status.success(), "{what}: {}\n{out}\n{err}", outcome.status);
    out.into_owned()
}

pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn skip(help: &str) {
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{help}");
    eprintln!("SKIPPED: {help}; nothing was run");
}
