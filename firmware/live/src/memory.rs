//! The heap, and how much memory the program needs: of the flash, of statics, and at most of the heap
//! and of the stack.

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

/// What the program needs, in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Code, constants, and the first values of statics.
    pub flash: usize,
    /// Statics, without the heap.
    pub statics: usize,
    /// What it had allocated at most since its start, without the allocator's own.
    pub heap: usize,
    /// From the stack's upper end to the deepest word that was written.
    pub stack: usize,
}

/// Returns what the program has needed up to now.
pub fn needs() -> Needs {
    // SAFETY: these are the stack's words, of which each may be read.
    let is_painted = |word: &usize| unsafe { (*word as *const u32).read_volatile() } == PAINT;
    let deepest = (lowest()..highest()).step_by(4).find(|word| !is_painted(word));
    let first_values = &raw const __edata as usize - &raw const __sdata as usize;
    Needs {
        flash: &raw const __sidata as usize - FLASH + first_values,
        statics: lowest() - &raw const __sdata as usize - HEAP_BYTES,
        heap: MOST.load(Ordering::Relaxed),
        stack: highest() - deepest.unwrap_or(highest()),
    }
}

/// The size of the heap in bytes.
const HEAP_BYTES: usize = 32 << 10;

#[global_allocator]
static ALLOCATOR: Heap = Heap(LlffHeap::empty());
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

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

// The linker's symbols. Their addresses are their values.
unsafe extern "C" {
    /// Where the first values of statics are in flash, behind everything else.
    static __sidata: u8;
    /// Where statics begin, and where those with first values end.
    static __sdata: u8;
    static __edata: u8;
    /// Behind the last static.
    static __sheap: u8;
    static _stack_start: u8;
}

/// The address behind the last static, where the stack ends.
fn lowest() -> usize {
    (&raw const __sheap as usize).next_multiple_of(4)
}

/// The address at which the stack begins.
fn highest() -> usize {
    &raw const _stack_start as usize & !3
}

/// The address at which the flash begins.
#[cfg(target_arch = "arm")]
const FLASH: usize = 0;
#[cfg(target_arch = "riscv32")]
const FLASH: usize = 0x8000_0000;

/// What the unused stack is filled with.
const PAINT: u32 = 0x5AFE_57AC;

/// How much of the stack below its own frame `start` leaves alone.
const MARGIN: usize = 256;
