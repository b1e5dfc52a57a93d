//! How deep the stack grows: the memory below it is painted, and what has lost its paint was used.

use core::arch::asm;

/// The bytes that stay unpainted next to the stack pointer: what painting itself uses.
const MARGIN: usize = 256;

const PAINT: u32 = 0x5eaf_00d5;

/// Returns the bytes of stack that `work` uses: at least [`MARGIN`]. Paints as many bytes as it may use.
///
/// # Panics
///
/// If it used all of them: deeper use is not seen.
#[inline(never)]
pub fn depth(painted: usize, work: &mut dyn FnMut()) -> usize {
    let top = pointer() - MARGIN;
    let bottom = top - painted;
    // SAFETY: the memory below the stack pointer belongs to the stack, and the machines have more of it
    // than is painted. Nothing there is in use now: no interrupt is enabled.
    unsafe { paint(bottom, top) };
    work();
    // SAFETY: as above.
    let lowest = unsafe { lowest_used(bottom, top) };
    assert!(lowest > bottom, "the stack is deeper than {painted} bytes");
    top + MARGIN - lowest
}

#[inline(always)]
fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: it only reads a register.
    unsafe {
        #[cfg(target_arch = "arm")]
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "riscv32")]
        asm!("mv {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer & !3
}

#[inline(never)]
unsafe fn paint(bottom: usize, top: usize) {
    for address in (bottom..top).step_by(4) {
        // SAFETY: the caller's.
        unsafe { (address as *mut u32).write_volatile(PAINT) };
    }
}

#[inline(never)]
unsafe fn lowest_used(bottom: usize, top: usize) -> usize {
    let used = |address: &usize| {
        // SAFETY: the caller's.
        unsafe { (*address as *const u32).read_volatile() != PAINT }
    };
    (bottom..top).step_by(4).find(used).unwrap_or(top)
}
