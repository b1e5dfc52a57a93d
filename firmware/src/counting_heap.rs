//! A heap that counts its bytes in use. The counts are of the bytes that the program asks for; the
//! allocator takes some more for itself.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_arch = "arm")]
use cortex_m as _;
use embedded_alloc::TlsfHeap;
use semihosting::{println, process};

/// Makes the heap ready, with this many bytes. A program calls this first, and once.
pub fn start(bytes: usize) {
    assert!(bytes <= MOST, "the machine has no more than {MOST} bytes");
    // SAFETY: nothing else uses the memory.
    unsafe { HEAP.heap.init(MEMORY.0.get() as usize, bytes) };
}

/// Returns the bytes in use.
pub fn live() -> usize {
    HEAP.live.load(Ordering::Relaxed)
}

/// Returns the most bytes that were in use at once since [`restart_peak`].
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

/// Starts to look for the peak.
pub fn restart_peak() {
    HEAP.peak.store(live(), Ordering::Relaxed);
}

/// The largest heap. The machines have 4 MiB of memory; the stack has the rest.
const MOST: usize = 0x38_0000;

struct Memory(UnsafeCell<MaybeUninit<[u8; MOST]>>);

// SAFETY: only the heap uses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new(MaybeUninit::uninit()));

struct CountingHeap {
    heap: TlsfHeap,
    live: AtomicUsize,
    peak: AtomicUsize,
}

#[global_allocator]
static HEAP: CountingHeap =
    CountingHeap { heap: TlsfHeap::empty(), live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

// SAFETY: it hands everything to a heap that keeps the rules.
unsafe impl GlobalAlloc for CountingHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        let memory = unsafe { self.heap.alloc(layout) };
        let live = live() + layout.size();
        if memory.is_null() {
            // The host reads this line, and starts the program again for the next recording.
            println!("memory {live}");
            process::exit(0)
        }
        self.live.store(live, Ordering::Relaxed);
        self.peak.fetch_max(live, Ordering::Relaxed);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.live.store(live() - layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { self.heap.dealloc(memory, layout) };
    }
}
