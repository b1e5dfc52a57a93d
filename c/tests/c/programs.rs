//! Programs in C: built by the compilers of the host, of Arm and of RISC-V, and run. Skipped where a
//! compiler, a target or an emulator is not installed, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{
    Board, CORTEX_M4, RV32IMAC, emulated, folder, has_target, installed, library, succeeded,
};

/// What is checked besides the program's own checks.
const SANITIZERS: &str = "-fsanitize=address,undefined";

#[test]
fn the_example_prints_what_its_page_says() {
    let Some(program) = on_host("example", &["examples/group.c"], &[SANITIZERS]) else { return };
    let page = fs::read_to_string(folder().join("../docs/c.md")).expect("the page");
    let documented = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(Some(&*run(&program, &[])), documented, "docs/c.md");
}

#[test]
fn misuse_is_refused() {
    let Some(program) = on_host("misuse", &["tests/programs/misuse.c"], &[SANITIZERS]) else {
        return;
    };
    assert_eq!(run(&program, &[]), "end\n");
}

#[test]
fn no_call_takes_more_memory_than_was_there() {
    let sources = ["tests/programs/memory.c", "tests/programs/group.c"];
    let Some(program) = on_host("memory", &sources, &["-DMOST_MEMBERS=101"]) else { return };
    let runs = [["3", "mac"], ["2", "signed"], ["3", "merkle"], ["33", "signed"], ["100", "mac"]];
    for arguments in runs.into_iter().chain([["100", "merkle"]]) {
        assert!(run(&program, &arguments).contains("skdc, published: "), "no scheme was run");
    }
}

#[test]
fn the_header_is_also_good_for_cpp() {
    let Some(mut compiler) = installed("c++", "g++") else { return };
    let arguments = ["-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"];
    let outcome = compiler.args(arguments).arg(folder().join("include/groupkey.h")).output();
    succeeded("c++", outcome.expect("it starts"));
}

#[test]
fn a_cortex_m4_sends_what_the_host_sends() {
    sends_the_same(&CORTEX_M4);
}

#[test]
fn an_rv32imac_sends_what_the_host_sends() {
    sends_the_same(&RV32IMAC);
}

/// The same groups send the same bytes on a board and here.
fn sends_the_same(board: &Board) {
    let sources = ["tests/programs/transcript.c", "tests/programs/group.c"];
    let Some(program) = on_board(board, "transcript", &sources) else { return };
    // Tests run at the same time, so each has a program of its own.
    let name = format!("transcript-like-{}", board.target);
    let Some(here) = on_host(&name, &sources, &[SANITIZERS]) else { return };
    let here = run(&here, &[]);
    let Some(there) = emulated(board, &program) else { return };
    let lines = there.lines().filter(|line| *line != "end").count();
    assert!(lines > 20 && there.ends_with("end\n"), "it did not come to its end: {there}");
    // The host has all families, and the board the one that it was built with.
    let missing: Vec<_> = there.lines().filter(|line| !here.contains(line)).collect();
    assert!(missing.is_empty(), "{} sends something else: {missing:#?}", board.target);
}

/// Builds a program for this machine. Returns `None` if there is no compiler.
fn on_host(name: &str, sources: &[&str], options: &[&str]) -> Option<PathBuf> {
    let mut compiler = installed("cc", "gcc")?;
    // `memory.c` weighs the published forms, too.
    let library = library(&["--features", "research"]);
    compiler.args(options).args(["-O1", "-g"]);
    Some(linked(compiler, name, sources, &library))
}

/// Builds a program for a board. Returns `None` if there is no compiler.
fn on_board(board: &Board, name: &str, sources: &[&str]) -> Option<PathBuf> {
    let mut compiler = installed(board.compiler, board.packages())?;
    has_target(board)?;
    let features = "centralized,messages,signatures,suite-constrained,suite-standard";
    let features = ["--no-default-features", "--features", features];
    let library = library(&[&["--release", "--target", board.target], &features[..]].concat());
    compiler.args(board.options()).arg("-Os");
    Some(linked(compiler, &format!("{name}-{}", board.target), sources, &library))
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

fn run(program: &Path, arguments: &[&str]) -> String {
    let outcome = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    succeeded(&program.to_string_lossy(), outcome.expect("it starts"))
}
