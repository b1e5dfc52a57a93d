//! The heap: what the library needs beside a core.

#[cfg(target_arch = "arm")]
use cortex_m as _;
use embedded_alloc::TlsfHeap;

/// Makes the heap ready; the first that a program does.
pub fn start() {
    // SAFETY: programs call it once, before they allocate.
    unsafe {
        embedded_alloc::init!(HEAP, BYTES);
    }
}

/// Half of the machine's memory; the stack has the rest.
const BYTES: usize = 1 << 21;

#[global_allocator]
static HEAP: TlsfHeap = TlsfHeap::empty();
