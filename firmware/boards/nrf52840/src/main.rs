//! A member of a group on an nRF52840, over a serial line.
//!
//! ```text
//! member    the group's messages and the application's, as frames
//! line      frames over a serial line
//! board     serial port and random numbers of the chip
//!
//! accelerators   its AES
//! ```

#![no_std]
#![no_main]

extern crate alloc;

mod accelerators;
mod board;
mod line;
mod member;

use alloc::format;

use cortex_m as _;
use embassy_executor::Spawner;
use embedded_alloc::TlsfHeap;

use crate::board::Board;
use crate::line::Kind;

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    // SAFETY: the program calls it once, before it allocates.
    unsafe {
        embedded_alloc::init!(HEAP, HEAP_BYTES);
    }
    let mut board = Board::start();
    if let Some(wrong) = board.wrong_answer {
        let _ = line::send(&mut board.line, Kind::Refused, format!("{wrong}").as_bytes()).await;
    }
    loop {
        // A broken line is a reason to begin anew: the gateway gives the settings again.
        let _ = member::run(&mut board).await;
    }
}

/// The size of the heap in bytes.
const HEAP_BYTES: usize = 32 << 10;

#[global_allocator]
static HEAP: TlsfHeap = TlsfHeap::empty();

/// A panic is a defect. The chip begins again.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
