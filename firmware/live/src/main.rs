//! A member of a live group on an emulated microcontroller: `groupkey device run` builds and starts
//! it.
//!
//! ```text
//! session   joins, and connects again and again
//! member    drives groupkey_mqtt::Member, the state machine that hosts run
//! minimq    MQTT 5
//! network   smoltcp: TCP, IPv4, Ethernet
//! board     the card, the clock, the flash, the serial port: one file for each piece of hardware
//! ```

#![no_std]
#![no_main]

extern crate alloc;

mod board;
mod console;
mod executor;
mod identity;
mod member;
mod membership;
mod memory;
mod network;
mod session;

use semihosting::process;

use crate::console::line;

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    memory::start();
    board::start();
    let code = match session::start() {
        Ok(()) => EVICTED,
        Err(problem) => {
            line!("failed {problem}");
            FAILED
        }
    };
    process::exit(code)
}

/// Ends the program. It does not say where: the texts of all panics would take a fifth of the flash.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    line!("failed the program has a fault, or the heap is full");
    process::exit(FAILED)
}

/// What the program returns to the emulator.
const EVICTED: i32 = 3;
const FAILED: i32 = 1;
