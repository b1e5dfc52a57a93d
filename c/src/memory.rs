//! The pool that the caller hands over, and the rule that holds it together: one call at a time.
//!
//! All memory of the library comes from the pool (TLSF: each allocation takes constant time). What is
//! given back is wiped. If the pool is empty in the middle of a call, the caller's handler ends the
//! program: Rust's lists have no other way out. So [`Pool::has`] is asked before a call.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use rlsf::{GRANULARITY, Tlsf};
use zeroize::Zeroize;

use crate::error::Error;
use crate::panics;
use crate::types::{Fatal, MemoryUse};

/// The allocator of the whole library.
#[cfg_attr(not(test), global_allocator)]
pub(crate) static POOL: Pool = Pool(UnsafeCell::new(State::EMPTY));

/// A value that one caller at a time may use.
pub(crate) struct Exclusive<T> {
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

/// The pool. Only code that runs in [`Exclusive::enter`] of the library's one state uses it.
pub(crate) struct Pool(UnsafeCell<State>);

struct State {
    blocks: Tlsf<'static, u32, u8, CLASSES, 8>,
    fatal: Fatal,
    usage: MemoryUse,
    /// What was in use when the present call began.
    before: usize,
}

/// Blocks have up to 16 MiB on devices of 32 bits. The table of free blocks takes 32 bytes of RAM
/// for each class.
const CLASSES: usize = 20;

impl<T> Exclusive<T> {
    /// Wraps a value.
    pub(crate) const fn new(value: T) -> Self {
        Self { busy: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `act` with the value. Returns `None` while another caller, or this one, is in here.
    pub(crate) fn enter<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.is_taken() {
            return None;
        }
        // SAFETY: nobody else has the value: whoever comes before `busy` is reset is turned away.
        let result = act(unsafe { &mut *self.value.get() });
        self.busy.store(false, Ordering::Release);
        Some(result)
    }

    #[cfg(target_has_atomic = "8")]
    fn is_taken(&self) -> bool {
        self.busy.swap(true, Ordering::Acquire)
    }

    /// This processor has no atomic swap. An interrupt between the two lines comes back before the
    /// second: calls from interrupts are told apart all the same. Calls from tasks that take turns
    /// in between are not, and the header forbids them.
    #[cfg(not(target_has_atomic = "8"))]
    fn is_taken(&self) -> bool {
        let busy = self.busy.load(Ordering::Acquire);
        self.busy.store(true, Ordering::Release);
        busy
    }
}

// SAFETY: `enter` hands the value to one caller at a time.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl Pool {
    /// Takes over the caller's memory. Nothing may be allocated.
    ///
    /// # Safety
    ///
    /// The memory must have no other user until [`Self::close`]. Only [`Exclusive::enter`] may run
    /// this function and those below.
    pub(crate) unsafe fn open(&self, memory: NonNull<[u8]>, fatal: Fatal) {
        // SAFETY: one caller at a time, as the caller promises.
        let state = unsafe { &mut *self.0.get() };
        *state = State { fatal, ..State::EMPTY };
        // SAFETY: the memory is the pool's alone, as the caller promises.
        unsafe { state.blocks.insert_free_block_ptr(memory) };
    }

    /// Lets go of the caller's memory. Fails while something is allocated.
    pub(crate) fn close(&self) -> Result<(), Error> {
        // SAFETY: one caller at a time: see `open`.
        let state = unsafe { &mut *self.0.get() };
        if state.usage.used != 0 {
            return Err(Error::DevicesLeft);
        }
        *state = State::EMPTY;
        Ok(())
    }

    /// Begins a call that may take `need` bytes. Fails if the pool has no free block of this length.
    pub(crate) fn has(&self, need: usize) -> Result<(), Error> {
        // SAFETY: one caller at a time: see `open`.
        let state = unsafe { &mut *self.0.get() };
        let layout = Layout::from_size_align(need, 1).map_err(|_| Error::OutOfMemory)?;
        let block = state.blocks.allocate(layout).ok_or(Error::OutOfMemory)?;
        // SAFETY: the block was allocated above with this alignment.
        unsafe { state.blocks.deallocate(block, layout.align()) };
        state.usage.call_need = need;
        state.usage.call_peak = 0;
        state.before = state.usage.used;
        Ok(())
    }

    /// Returns how much memory is and was in use.
    pub(crate) fn usage(&self) -> MemoryUse {
        // SAFETY: one caller at a time: see `open`.
        unsafe { (*self.0.get()).usage }
    }

    /// Calls the caller's handler. There is no way back.
    pub(crate) fn fatal(&self, error: Error) -> ! {
        // SAFETY: one caller at a time: see `open`. Nothing else uses the state any more.
        if let Some(fatal) = unsafe { (*self.0.get()).fatal } {
            fatal(error);
        }
        panics::abort()
    }
}

// SAFETY: see the field's type: one caller at a time.
unsafe impl Sync for Pool {}

// SAFETY: blocks come from TLSF, which keeps them apart. It never unwinds.
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one caller at a time: see `Pool`.
        let state = unsafe { &mut *self.0.get() };
        match state.blocks.allocate(layout) {
            Some(block) => {
                state.take(layout);
                block.as_ptr()
            }
            None => self.fatal(Error::OutOfMemory),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller hands back a block of this length, which has no other user any more.
        unsafe { core::slice::from_raw_parts_mut(block, layout.size()) }.zeroize();
        // SAFETY: one caller at a time: see `Pool`.
        let state = unsafe { &mut *self.0.get() };
        state.usage.used -= taken(layout);
        // SAFETY: `alloc` returned the block, so it is not null and has this alignment.
        unsafe { state.blocks.deallocate(NonNull::new_unchecked(block), layout.align()) };
    }

    // The provided `realloc` takes another block and gives the old one back, wiped.
}

impl State {
    const EMPTY: Self = Self {
        blocks: Tlsf::new(),
        fatal: None,
        usage: MemoryUse { used: 0, peak: 0, call_peak: 0, call_need: 0 },
        before: 0,
    };

    fn take(&mut self, layout: Layout) {
        let usage = &mut self.usage;
        usage.used += taken(layout);
        usage.peak = usage.peak.max(usage.used);
        usage.call_peak = usage.call_peak.max(usage.used.saturating_sub(self.before));
    }
}

/// Returns what a block takes of the pool: with its header, in whole granules.
const fn taken(layout: Layout) -> usize {
    (layout.size() + GRANULARITY / 2).next_multiple_of(GRANULARITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_at_a_time() {
        let value = Exclusive::new(1);
        let inner = value.enter(|_| value.enter(|_| ()).is_none());
        assert_eq!(inner, Some(true), "whoever is in, is turned away when it comes again");
        assert_eq!(value.enter(|value| *value), Some(1));
    }
}
