//! Programs in C: built by the compilers of the host, of Arm and of RISC-V, and run. Skipped where a
//! compiler, a target or an emulator is not installed, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// What is checked besides the program's own checks.
const SANITIZERS: &str = "-fsanitize=address,undefined";

#[test]
fn the_example_prints_what_its_page_says() {
    let Some(program) = on_host("example", &["examples/group.c"], &[SANITIZERS]) else { return };
    let page = fs::read_to_string(folder().join("../docs/c.md")).expect("the page");
    let documented = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(Some(&*text(run(&program, &[]))), documented, "docs/c.md");
}

#[test]
fn misuse_is_refused() {
    let Some(program) = on_host("misuse", &["tests/programs/misuse.c"], &[SANITIZERS]) else {
        return;
    };
    assert_eq!(text(run(&program, &[])), "end\n");
}

#[test]
fn no_call_takes_more_memory_than_was_there() {
    let sources = ["tests/programs/memory.c", "tests/programs/group.c"];
    let Some(program) = on_host("memory", &sources, &["-DMOST_MEMBERS=101"]) else { return };
    for arguments in [["3", "mac"], ["2", "signed"], ["33", "signed"], ["100", "mac"]] {
        assert!(text(run(&program, &arguments)).contains("skdc: "), "no scheme was run");
    }
}

#[test]
fn the_header_is_also_good_for_cpp() {
    let Some(mut compiler) = installed("c++", "apt-get install g++") else { return };
    let arguments = ["-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"];
    let outcome = compiler.args(arguments).arg(folder().join("include/groupkey.h")).output();
    succeeded("c++", outcome.expect("it starts"));
}

/// The same groups send the same bytes here and there.
#[test]
fn a_cortex_m4_sends_what_the_host_sends() {
    sends_the_same(&Board {
        target: "thumbv7em-none-eabihf",
        compiler: ("arm-none-eabi-gcc", "gcc-arm-none-eabi picolibc-arm-none-eabi"),
        processor: &["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        memory: ["0x00000000", "0x20000000"],
        emulator: ("qemu-system-arm", "qemu-system-arm"),
        machine: &["-machine", "mps2-an386"],
    });
}

#[test]
fn an_rv32imac_sends_what_the_host_sends() {
    sends_the_same(&Board {
        target: "riscv32imac-unknown-none-elf",
        compiler: (
            "riscv64-unknown-elf-gcc",
            "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
        ),
        processor: &["-march=rv32imac", "-mabi=ilp32"],
        memory: ["0x80000000", "0x80400000"],
        emulator: ("qemu-system-riscv32", "qemu-system-misc"),
        machine: &["-machine", "virt", "-bios", "none"],
    });
}

/// An emulated board, and what builds for it. Programs and packages go together.
struct Board {
    target: &'static str,
    compiler: (&'static str, &'static str),
    processor: &'static [&'static str],
    /// Where flash and RAM begin. Of each there are 4 MiB.
    memory: [&'static str; 2],
    emulator: (&'static str, &'static str),
    machine: &'static [&'static str],
}

const TRANSCRIPT: [&str; 2] = ["tests/programs/transcript.c", "tests/programs/group.c"];

fn sends_the_same(board: &Board) {
    let (emulator, package) = board.emulator;
    let Some(mut emulator) = installed(emulator, &format!("apt-get install {package}")) else {
        return;
    };
    let Some(program) = on_board(board, "transcript", &TRANSCRIPT) else { return };
    let Some(here) = on_host("transcript", &TRANSCRIPT, &[SANITIZERS]) else { return };
    let here = text(run(&here, &[]));
    let outcome = emulator
        .args(board.machine)
        .args(["-nographic", "-monitor", "none", "-serial", "none"])
        .args(["-chardev", "stdio,id=out"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=out"])
        .arg("-kernel")
        .arg(&program)
        .stdin(Stdio::null())
        .output();
    let there = text(succeeded("the emulator", outcome.expect("it starts")));
    let schemes = there.lines().filter(|line| *line != "end").count();
    assert!(schemes > 20 && there.ends_with("end\n"), "it did not come to its end: {there}");
    // The host has all families, and the board the one that it was built with.
    let missing: Vec<_> = there.lines().filter(|line| !here.contains(line)).collect();
    assert!(missing.is_empty(), "{} sends something else: {missing:#?}", board.target);
}

/// Builds a program for this machine. Returns `None` if there is no compiler.
fn on_host(name: &str, sources: &[&str], options: &[&str]) -> Option<PathBuf> {
    let mut compiler = installed("cc", "apt-get install gcc")?;
    let library = library(&[]);
    compiler.args(options).args(["-O1", "-g"]);
    Some(linked(compiler, name, sources, &library))
}

/// Builds a program for a board. Returns `None` if there is no compiler.
fn on_board(board: &Board, name: &str, sources: &[&str]) -> Option<PathBuf> {
    let (compiler, packages) = board.compiler;
    let mut compiler = installed(compiler, &format!("apt-get install {packages}"))?;
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", board.target])
        .output()
        .expect("rustc is there");
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        skip(&format!("rustup target add {}", board.target));
        return None;
    }
    let features = ["--no-default-features", "--features", "centralized,signatures"];
    let library = library(&[&["--release", "--target", board.target], &features[..]].concat());
    let [flash, ram] = board.memory;
    compiler
        .args(board.processor)
        .args(["-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"])
        .args(["--specs=picolibc.specs", "--oslib=semihost", "--crt0=hosted"])
        .args([format!("-Wl,--defsym=__flash={flash}"), format!("-Wl,--defsym=__ram={ram}")])
        .args(["-Wl,--defsym=__flash_size=4M", "-Wl,--defsym=__ram_size=4M"])
        .arg("-Wl,--defsym=__stack_size=64K");
    Some(linked(compiler, &format!("{name}-{}", board.target), sources, &library))
}

/// Builds the library. Returns where it is.
fn library(arguments: &[&str]) -> PathBuf {
    let outcome = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "--target-dir", "../target/c", "--message-format=json"])
        .args(arguments)
        .current_dir(folder())
        .stdin(Stdio::null())
        .output();
    let messages = text(succeeded("cargo", outcome.expect("it starts")));
    let archive = messages.split('"').rfind(|text| text.ends_with("libgroupkey_c.a"));
    archive.expect("the library was built").into()
}

fn linked(mut compiler: Command, name: &str, sources: &[&str], library: &Path) -> PathBuf {
    let programs = folder().join("../target/c/programs");
    fs::create_dir_all(&programs).expect("the folder is ours");
    let program = programs.join(name);
    let outcome = compiler
        .current_dir(folder())
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args(["-Iinclude", "-o"])
        .arg(&program)
        .args(sources)
        .arg(library)
        .output();
    succeeded(name, outcome.expect("it starts"));
    program
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    let outcome = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    succeeded(&program.to_string_lossy(), outcome.expect("it starts"))
}

/// Returns a program that is there, or `None` with a note how to install it.
fn installed(program: &str, help: &str) -> Option<Command> {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skip(help);
    }
    is_there.then(|| Command::new(program))
}

fn skip(help: &str) {
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{help}");
    eprintln!("SKIPPED: {help}; nothing was run");
}

fn succeeded(what: &str, outcome: Output) -> Output {
    let [out, err] = [&outcome.stdout, &outcome.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(outcome.status.success(), "{what}: {}\n{out}\n{err}", outcome.status);
    outcome
}

fn text(outcome: Output) -> String {
    String::from_utf8(outcome.stdout).expect("a text")
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
