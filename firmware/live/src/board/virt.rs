//! QEMU's RISC-V machine `virt`: its serial port, its clocks, and its flash memory.

use core::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use super::virtio;
use super::virtio::Nic;

/// Prepares the board. A program calls this first.
pub fn start() {
    // SAFETY: the timer's interrupt only ends the wait in `idle`. No handler ever runs, because
    // interrupts as a whole stay off.
    unsafe { riscv::register::mie::set_mtimer() };
}

/// Returns the time in ns since 1970, by the machine's real-time clock (Goldfish).
pub fn now() -> u64 {
    // SAFETY: these are the clock's registers. Reading the low half latches the high half.
    let (low, high) = unsafe { (RTC_LOW.read_volatile(), RTC_HIGH.read_volatile()) };
    u64::from(high) << 32 | u64::from(low)
}

/// Sleeps for a millisecond at most.
pub fn idle() {
    // SAFETY: these are the timer's registers, and no other code uses the timer. The upper half is
    // at its highest while the lower half changes, so that no wrong time is ever set.
    unsafe {
        let wake = mtime() + TICKS_PER_MS;
        MTIMECMP_HIGH.write_volatile(u32::MAX);
        MTIMECMP_LOW.write_volatile(wake as u32);
        MTIMECMP_HIGH.write_volatile((wake >> 32) as u32);
    }
    riscv::asm::wfi();
}

/// Writes a byte to the serial port.
pub fn write_byte(byte: u8) {
    // SAFETY: these are the registers of the serial port, a 16550.
    unsafe {
        while UART_STATUS.read_volatile() & UART_CAN_SEND == 0 {}
        UART_DATA.write_volatile(byte);
    }
}

/// Reads a byte from the serial port, if one is there.
pub fn read_byte() -> Option<u8> {
    // SAFETY: as above.
    unsafe { (UART_STATUS.read_volatile() & UART_HAS_DATA != 0).then(|| UART_DATA.read_volatile()) }
}

/// Returns 32 bytes from the machine's entropy device.
pub fn randomness() -> Option<[u8; 32]> {
    virtio::randomness()
}

/// Returns the machine's network card.
pub fn network() -> Option<Nic> {
    Nic::find()
}

/// The second of the machine's two banks of parallel NOR flash, with Intel's commands.
pub struct Flash(());

impl Flash {
    /// Returns the flash.
    pub const fn open() -> Option<Self> {
        Some(Self(()))
    }

    fn command(offset: u32, command: u32) {
        // SAFETY: the address is within the bank. Two chips of 16 bits lie side by side, and each gets the command.
        unsafe { Self::word(offset).write_volatile(command << 16 | command) };
    }

    fn word(offset: u32) -> *mut u32 {
        debug_assert!(offset < FLASH_BYTES);
        (FLASH + offset as usize) as *mut u32
    }

    fn finish(offset: u32) {
        // SAFETY: as above.
        while unsafe { Self::word(offset).read_volatile() } & FLASH_READY == 0 {}
        Self::command(offset, FLASH_READ);
    }
}

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        for (at, four) in (offset..).step_by(4).zip(bytes.chunks_exact_mut(4)) {
            // SAFETY: the address is within the bank, which is in its reading mode.
            four.copy_from_slice(&unsafe { Self::word(at).read_volatile() }.to_le_bytes());
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        FLASH_BYTES as usize
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 1 << 18;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        for sector in (from..to).step_by(Self::ERASE_SIZE) {
            Self::command(sector, 0x20);
            Self::command(sector, 0xD0);
            Self::finish(sector);
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        for (at, four) in (offset..).step_by(4).zip(bytes.chunks_exact(4)) {
            let word = u32::from_le_bytes(four.try_into().expect("they are four"));
            Self::command(at, 0x40);
            // SAFETY: the address is within the bank.
            unsafe { Self::word(at).write_volatile(word) };
            Self::finish(at);
        }
        Ok(())
    }
}

fn mtime() -> u64 {
    loop {
        // SAFETY: these are the counter's registers. If the upper half changes in between, both are
        // read again.
        let (high, low, again) = unsafe {
            (MTIME_HIGH.read_volatile(), MTIME_LOW.read_volatile(), MTIME_HIGH.read_volatile())
        };
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

const RTC_LOW: *const u32 = 0x0010_1000 as _;
const RTC_HIGH: *const u32 = 0x0010_1004 as _;

const MTIMECMP_LOW: *mut u32 = 0x0200_4000 as _;
const MTIMECMP_HIGH: *mut u32 = 0x0200_4004 as _;
const MTIME_LOW: *const u32 = 0x0200_BFF8 as _;
const MTIME_HIGH: *const u32 = 0x0200_BFFC as _;
const TICKS_PER_MS: u64 = 10_000;

const UART_DATA: *mut u8 = 0x1000_0000 as _;
const UART_STATUS: *const u8 = 0x1000_0005 as _;
const UART_HAS_DATA: u8 = 1;
const UART_CAN_SEND: u8 = 1 << 5;

const FLASH: usize = 0x2200_0000;
const FLASH_BYTES: u32 = 32 << 20;
const FLASH_READY: u32 = 0x80;
const FLASH_READ: u32 = 0xFF;
