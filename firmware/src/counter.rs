//! The number of instructions that the emulated machine has run.

#[cfg(target_arch = "arm")]
pub use self::mps2::{instructions, start};
#[cfg(target_arch = "riscv32")]
pub use self::virt::{instructions, start};

/// The processor itself counts.
#[cfg(target_arch = "riscv32")]
mod virt {
    pub fn start() {}

    pub fn instructions() -> u64 {
        riscv::register::minstret::read64()
    }
}

/// QEMU's Cortex-M4 does not count. But an instruction takes a nanosecond, and the board's first
/// timer counts down at 25 MHz.
#[cfg(target_arch = "arm")]
mod mps2 {
    const CONTROL: *mut u32 = 0x4000_0000 as _;
    const VALUE: *mut u32 = 0x4000_0004 as _;
    const RELOAD: *mut u32 = 0x4000_0008 as _;
    const INSTRUCTIONS_PER_TICK: u64 = 1_000 / 25;

    pub fn start() {
        // SAFETY: these are the timer's registers, and no other code uses the timer.
        unsafe {
            RELOAD.write_volatile(u32::MAX);
            VALUE.write_volatile(u32::MAX);
            CONTROL.write_volatile(1);
        }
    }

    /// Returns the number of instructions since the start. Wraps after 172 thousand million, some
    /// minutes.
    pub fn instructions() -> u64 {
        // SAFETY: as above.
        let left = unsafe { VALUE.read_volatile() };
        u64::from(u32::MAX - left) * INSTRUCTIONS_PER_TICK
    }
}
