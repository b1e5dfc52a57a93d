//! The heap, which the library needs besides a core.

#[cfg(target_arch = "arm")]
use cortex_m as _;
use embedded_alloc::TlsfHeap;

/// Makes the heap ready. A program calls this first.
pub fn start() {
    // SAFETY: programs call it once, before they allocate.
    unsafe {
        embedded_alloc::init!(HEAP, BYTES);
    }
}

/// The size of the heap in bytes: half of the machine's memory. The stack has the rest.
const BYTES: usize = 1 << 21;

#[global_allocator]
static HEAP: TlsfHeap = TlsfHeap::empty();
