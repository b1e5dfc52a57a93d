//! Gives the linker the memory of the emulated machine, and the start-up code's script. The live member's build, too.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let machine = match architecture.as_str() {
        "arm" => "mps2-an386.x",
        "riscv32" => "virt.x",
        other => {
            panic!("no emulated machine is known for {other}; give --target, see docs/devices.md")
        }
    };
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folders = package.ancestors().map(|folder| folder.join("memory").join(machine));
    let memory = { folders }.find(|path| path.is_file()).expect("the firmware has it");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy(&memory, folder.join("memory.x")).expect("the folder is cargo's own");
    println!("cargo::rerun-if-changed={}", memory.display());
    println!("cargo::rustc-link-search={}", folder.display());
    if architecture == "riscv32" {
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
