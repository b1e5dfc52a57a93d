//! A member of a live group on an ESP32-C3 or ESP32-C6: the member of `firmware/live`, with this
//! chip's hardware below it.
//!
//! ```text
//! session, member, identity, network, executor, console   as on the emulated boards
//! board          Wi-Fi, random numbers, clock, flash and serial port of the chip
//! accelerators   its AES and SHA-256
//! ```

#![no_std]
#![no_main]

extern crate alloc;

mod accelerators;
mod board;
#[path = "../../../live/src/console.rs"]
mod console;
#[path = "../../../live/src/executor.rs"]
mod executor;
#[path = "../../../live/src/identity.rs"]
mod identity;
#[path = "../../../live/src/member.rs"]
mod member;
#[path = "../../../live/src/membership.rs"]
mod membership;
mod memory;
#[path = "../../../live/src/network.rs"]
mod network;
#[path = "../../../live/src/session.rs"]
mod session;

use crate::console::line;

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    memory::start();
    if let Err(wrong) = board::start() {
        line!("software {wrong}");
    }
    match session::start() {
        Ok(()) => line!("evicted"),
        Err(problem) => line!("failed {problem}"),
    }
    // A member that was evicted must not ask again by itself.
    loop {
        board::idle();
    }
}

/// A panic is a defect. The chip begins again, and joins with the identity in its flash.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    line!("panic {info}");
    esp_hal::system::software_reset()
}
