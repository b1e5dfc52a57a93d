//! Gives the linker the memory of the emulated machine, and the start-up code's script.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let memory = match architecture.as_str() {
        "arm" => "../memory/mps2-an386.x",
        "riscv32" => "../memory/virt.x",
        other => panic!(
            "no emulated machine is known for {other}; give --target, see docs/boards.md"
        ),
    };
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy(memory, folder.join("memory.x")).expect("the folder is cargo's own");
    println!("cargo::rerun-if-changed={memory}");
    println!("cargo::rustc-link-search={}", folder.display());
    if architecture == "riscv32" {
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
