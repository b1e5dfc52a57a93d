//! Arm's board MPS2 with the image AN386, as QEMU emulates it: its serial port and its timers. It
//! has no calendar, no randomness and no flash that keeps its content. The emulator's host stands
//! in for these, by semihosting.

use core::cell::Cell;
use core::ffi::CStr;

use cortex_m::interrupt::{Mutex, free};
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use semihosting::experimental::time::SystemTime;
use semihosting::experimental::{env, random};
use semihosting::fs::{File, OpenOptions};
use semihosting::io::{Read, Seek, SeekFrom, Write};

use super::lan9118::Nic;

/// Prepares the board. A program calls this first.
pub fn start() {
    if let Some(core) = cortex_m::Peripherals::take() {
        let mut systick = core.SYST;
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(HERTZ / 1_000 - 1);
        systick.clear_current();
        systick.enable_counter();
        systick.enable_interrupt();
    }
    // SAFETY: these are the registers of a timer and of the serial port, which no other code uses.
    unsafe {
        TIMER_RELOAD.write_volatile(u32::MAX);
        TIMER_VALUE.write_volatile(u32::MAX);
        TIMER_CONTROL.write_volatile(1);
        UART_CONTROL.write_volatile(UART_SEND | UART_RECEIVE);
    }
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    free(|section| START.borrow(section).set(since_1970.as_nanos() as u64));
}

/// The end of a wait in [`idle`].
#[exception]
fn SysTick() {}

/// Returns the time in ns since 1970: the host's at the start, to the second, and the board's timer
/// since then. The timer counts 171 s; it is read far more often.
pub fn now() -> u64 {
    free(|section| {
        // SAFETY: as above.
        let value = !unsafe { TIMER_VALUE.read_volatile() };
        let (last, ticks) = TICKS.borrow(section).get();
        let ticks = ticks + u64::from(value.wrapping_sub(last));
        TICKS.borrow(section).set((value, ticks));
        START.borrow(section).get() + ticks * (1_000_000_000 / u64::from(HERTZ))
    })
}

/// Sleeps for a millisecond at most.
pub fn idle() {
    cortex_m::asm::wfi();
}

/// Writes a byte to the serial port.
pub fn write_byte(byte: u8) {
    // SAFETY: as above.
    unsafe {
        while UART_STATE.read_volatile() & UART_FULL != 0 {}
        UART_DATA.write_volatile(byte.into());
    }
}

/// Reads a byte from the serial port, if one is there.
pub fn read_byte() -> Option<u8> {
    // SAFETY: as above.
    unsafe {
        (UART_STATE.read_volatile() & UART_HAS_DATA != 0).then(|| UART_DATA.read_volatile() as u8)
    }
}

/// Returns 32 bytes of the host's randomness.
pub fn randomness() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    random::fill_bytes(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the board's network card.
pub fn network() -> Option<Nic> {
    Nic::find()
}

/// A file of the host that stands in for NOR flash. Its path is the program's second argument.
pub struct Flash(File);

/// The host does not read or write its file.
#[derive(Debug)]
pub struct Unreadable;

impl Flash {
    /// Opens the file, if there is one.
    pub fn open() -> Option<Self> {
        let arguments = env::args::<PATH>().ok()?;
        let path = (&arguments).into_iter().nth(1)?.ok()?;
        let mut terminated = [0; PATH + 1];
        terminated.get_mut(..path.len())?.copy_from_slice(path.as_bytes());
        let path = CStr::from_bytes_until_nul(&terminated).ok()?;
        OpenOptions::new().read(true).write(true).open(path).ok().map(Self)
    }

    fn seek(&mut self, offset: u32) -> Result<(), Unreadable> {
        self.0.seek(SeekFrom::Start(offset.into())).map_err(|_| Unreadable).map(drop)
    }
}

impl NorFlashError for Unreadable {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Flash {
    type Error = Unreadable;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Unreadable> {
        self.seek(offset)?;
        self.0.read_exact(bytes).map_err(|_| Unreadable)
    }

    fn capacity(&self) -> usize {
        5 * Self::ERASE_SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 1 << 12;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Unreadable> {
        self.seek(from)?;
        (from..to).step_by(4).try_for_each(|_| self.0.write_all(&[0xFF; 4]).map_err(|_| Unreadable))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Unreadable> {
        self.seek(offset)?;
        self.0.write_all(bytes).map_err(|_| Unreadable)
    }
}

/// When the board started, in ns since 1970.
static START: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// The timer's last value, and all its ticks.
static TICKS: Mutex<Cell<(u32, u64)>> = Mutex::new(Cell::new((0, 0)));

/// The frequency of the processor and of the timer.
const HERTZ: u32 = 25_000_000;

/// The maximum length of the program's arguments, in bytes.
const PATH: usize = 512;

const TIMER_CONTROL: *mut u32 = 0x4000_0000 as _;
const TIMER_VALUE: *mut u32 = 0x4000_0004 as _;
const TIMER_RELOAD: *mut u32 = 0x4000_0008 as _;

const UART_DATA: *mut u32 = 0x4000_4000 as _;
const UART_STATE: *const u32 = 0x4000_4004 as _;
const UART_CONTROL: *mut u32 = 0x4000_4008 as _;
const UART_FULL: u32 = 1;
const UART_HAS_DATA: u32 = 2;
const UART_SEND: u32 = 1;
const UART_RECEIVE: u32 = 2;
