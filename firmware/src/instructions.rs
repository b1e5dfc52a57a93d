//! Counts the instructions of each primitive in an emulator, and prints them.

#![no_std]
#![no_main]

extern crate alloc;

mod counter;
mod heap;
mod prices;

use semihosting::{println, process};

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    counter::start();
    for line in prices::lines(|| counter::instructions() as u32, |_, _| true) {
        println!("{line}");
    }
    process::exit(0)
}
