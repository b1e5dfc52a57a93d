//! Measures the cycles of each primitive, and prints them over the serial line, for
//! `groupkey device measure --printed`.

#![no_std]
#![no_main]

extern crate alloc;

mod accelerators;
#[expect(dead_code, reason = "only members draw")]
mod board;
#[path = "../../../src/prices.rs"]
mod prices;

use alloc::string::String;

use cortex_m::peripheral::DWT;
use embassy_executor::Spawner;
use embassy_nrf::buffered_uarte::Error;
use embedded_alloc::TlsfHeap;
use embedded_io_async::Write;
use groupkey_testkit::workbench::fits_boards;

use crate::board::Board;

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    // SAFETY: the program calls it once, before it allocates.
    unsafe {
        embedded_alloc::init!(HEAP, HEAP_BYTES);
    }
    let mut board = Board::start();
    if let Some(mut core) = cortex_m::Peripherals::take() {
        core.DCB.enable_trace();
        core.DWT.enable_cycle_counter();
    }
    // A line that breaks loses figures, which the reader sees.
    let _ = print(&mut board).await;
    core::future::pending().await
}

async fn print(board: &mut Board) -> Result<(), Error> {
    if let Some(wrong) = board.wrong_answer {
        send(board, alloc::format!("{wrong}")).await?;
    }
    send(board, "cycles nrf52840 64000000 cortex-m4".into()).await?;
    for line in prices::lines(DWT::cycle_count, fits_boards) {
        send(board, line).await?;
    }
    send(board, "end".into()).await
}

/// Sends a line to its end, so that no interrupt disturbs the next figure.
async fn send(board: &mut Board, line: String) -> Result<(), Error> {
    board.line.write_all(line.as_bytes()).await?;
    board.line.write_all(b"\r\n").await?;
    board.line.flush().await
}

/// The size of the heap in bytes. The emulated processor needs 60 KiB.
const HEAP_BYTES: usize = 96 << 10;

#[global_allocator]
static HEAP: TlsfHeap = TlsfHeap::empty();

/// A panic is a defect. The chip begins again.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
