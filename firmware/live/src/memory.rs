//! The heap, and how much memory the program has used at most: of the heap, and of the stack.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use embedded_alloc::LlffHeap;

/// Makes the heap ready, and paints the stack. A program calls this first.
#[inline(never)]
pub fn start() {
    // SAFETY: the program calls it once, before it allocates.
    unsafe {
        embedded_alloc::init!(ALLOCATOR, HEAP_BYTES);
    }
    let mark = 0_u8;
    let end = (ptr::from_ref(&mark) as usize - MARGIN) & !3;
    for word in (lowest()..end).step_by(4) {
        // SAFETY: the memory between the statics and this function's frame is the stack's, and not in use.
        unsafe { (word as *mut u32).write_volatile(PAINT) };
    }
}

/// What the program has used at most since its start.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes that the program had allocated, without the allocator's own.
    pub heap: usize,
    /// Bytes from the stack's upper end to the deepest word that was written.
    pub stack: usize,
}

/// Returns what the program has used at most.
pub fn peak() -> Peak {
    // SAFETY: these are the stack's words, of which each may be read.
    let is_painted = |word: &usize| unsafe { (*word as *const u32).read_volatile() } == PAINT;
    let deepest = (lowest()..highest()).step_by(4).find(|word| !is_painted(word));
    let stack = highest() - deepest.unwrap_or(highest());
    Peak { heap: MOST.load(Ordering::Relaxed), stack }
}

/// The size of the heap in bytes.
const HEAP_BYTES: usize = 32 << 10;

#[global_allocator]
static ALLOCATOR: Heap = Heap(LlffHeap::empty());
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// A heap that counts.
struct Heap(LlffHeap);

impl Heap {
    unsafe fn init(&self, start: usize, size: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.0.init(start, size) };
    }
}

// SAFETY: the heap within does the work.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(pointer, layout) };
    }
}

/// The address behind the last static, where the stack ends.
fn lowest() -> usize {
    unsafe extern "C" {
        #[link_name = "__sheap"]
        static END: u8;
    }
    (&raw const END as usize).next_multiple_of(4)
}

/// The address at which the stack begins.
fn highest() -> usize {
    unsafe extern "C" {
        #[link_name = "_stack_start"]
        static START: u8;
    }
    (&raw const START as usize) & !3
}

/// What the unused stack is filled with.
const PAINT: u32 = 0x5AFE_57AC;

/// How much of the stack below its own frame `start` leaves alone.
const MARGIN: usize = 256;
