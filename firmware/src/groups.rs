//! Runs a small group of every scheme, and prints the hash of its messages and keys.

#![no_std]
#![no_main]

mod heap;

use groupkey::catalogue::SCHEMES;
use groupkey_testkit::rig::{self, Settings};
use semihosting::{print, println, process};

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    for scheme in SCHEMES {
        let hash = rig::transcript(scheme, Settings::default()).expect("its members agree");
        print!("{} ", scheme.id);
        hash.iter().for_each(|byte| print!("{byte:02x}"));
        println!();
    }
    process::exit(0)
}
