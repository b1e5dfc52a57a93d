//! Measures the cycles of each primitive, and prints them over the serial port, for
//! `groupkey device measure --printed`.

#![no_std]
#![no_main]

extern crate alloc;

mod accelerators;
#[path = "../../../src/prices.rs"]
mod prices;

use core::fmt::Write;

use esp_hal::clock::CpuClock;
use esp_hal::time::Instant;
use esp_hal::usb_serial_jtag::UsbSerialJtag;
use groupkey_testkit::workbench::fits_boards;

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    esp_alloc::heap_allocator!(size: HEAP_BYTES);
    let chip = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    // It waits until a computer listens.
    let mut port = UsbSerialJtag::new(chip.USB_DEVICE);
    if let Err(wrong) = accelerators::start(chip.AES, chip.SHA) {
        let _ = writeln!(port, "{wrong}");
    }
    let _ = writeln!(port, "cycles {NAME} {} rv32imac", MEGAHERTZ * 1_000_000);
    for line in prices::lines(cycles, fits_boards) {
        let _ = writeln!(port, "{line}");
    }
    let _ = writeln!(port, "end");
    loop {
        core::hint::spin_loop();
    }
}

/// Returns the cycles since the start, in steps of a microsecond: the ESP32-C3 has no counter of cycles
/// that the ESP32-C6 has, too.
fn cycles() -> u32 {
    let microseconds = Instant::now().duration_since_epoch().as_micros();
    (microseconds * MEGAHERTZ) as u32
}

const NAME: &str = if cfg!(feature = "esp32c3") { "esp32-c3" } else { "esp32-c6" };

/// The clock of `CpuClock::max()` on both chips.
const MEGAHERTZ: u64 = 160;

/// The size of the heap in bytes. The emulated processor needs 60 KiB.
const HEAP_BYTES: usize = 96 << 10;

/// A panic is a defect. The chip begins again.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    esp_hal::system::software_reset()
}
