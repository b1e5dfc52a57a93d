//! Finds keys and secret exponents in freed memory.
//!
//! A key is wiped when it is dropped. But a list that grows, or from which an item is taken, leaves
//! copies where its items were. [`MarkedBytes`] is a source of randomness whose output can be told
//! from all other bytes. [`WatchedAllocator`] is an allocator that looks for this output in every
//! block that is freed while [`residues`] runs a function. [`marks`] finds in messages the values
//! that were drawn to be sent, such as nonces. Values that follow from random bytes by way of a
//! hash have no mark. They are kept in the same lists.
//!
//! This crate is for tests. It is separate from the library, which has no unsafe code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

/// The system's allocator, watched. Make it the global allocator.
#[derive(Debug)]
pub struct WatchedAllocator;

/// Bytes that look random to the caller. A key is four bytes that are always the same, four that
/// count keys, and these eight again. No two keys are the same. An exponent of ristretto255 has the
/// same form. It is the remainder of a longer number, and this number is small enough to be its own
/// remainder. Other numbers have no mark.
#[derive(Debug, Default)]
pub struct MarkedBytes {
    words: u32,
}

/// Freed memory that held a secret.
#[derive(Clone, Debug)]
pub struct Residue {
    /// The marks that were in the memory.
    pub marks: Vec<u32>,
    /// The functions of the crate `groupkey` that were running, innermost first.
    pub place: String,
}

const KEY_BYTES: usize = 16;
/// The length of the number whose remainder is a ristretto255 exponent, and of its marked part.
const WIDE_BYTES: usize = 64;
const SMALL_BYTES: usize = 24;
const MARK: [u8; 4] = [0xA7, 0x3C, 0xE1, 0x5B];

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    static FOUND: RefCell<Vec<Residue>> = const { RefCell::new(Vec::new()) };
}

/// Runs `act`. Returns its result, and where it freed memory that held part of a key.
pub fn residues<T>(act: impl FnOnce() -> T) -> (T, Vec<Residue>) {
    WATCHING.set(true);
    let result = act();
    WATCHING.set(false);
    (result, FOUND.take())
}

/// Returns the marks of all values in these bytes that were drawn from [`MarkedBytes`].
pub fn marks(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let marked = bytes.windows(12).filter(|window| window[..4] == MARK && window[8..] == MARK);
    marked.map(|window| window[4..8].iter().fold(0, |mark, &byte| mark << 8 | u32::from(byte)))
}

fn look_through(block: &[u8]) {
    if marks(block).next().is_some() {
        // The allocations of this report are not searched.
        WATCHING.set(false);
        let residue = Residue { marks: marks(block).collect(), place: place() };
        FOUND.with_borrow_mut(|found| found.push(residue));
        WATCHING.set(true);
    }
}

/// Returns the running functions, as far as the build knows them, innermost first.
fn place() -> String {
    let trace = Backtrace::force_capture().to_string();
    let named = trace.lines().map(str::trim).filter(|line| line.contains("groupkey"));
    let ours = named.filter(|line| !line.contains("groupkey_residue"));
    ours.take(6).collect::<Vec<_>>().join(", ")
}

// SAFETY: all memory is the system allocator's. Blocks are read before they are given back to it.
// They are zeroed when they are handed out, so all bytes of a block can be read.
unsafe impl GlobalAlloc for WatchedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same conditions.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.try_with(Cell::get).unwrap_or(false) {
            // SAFETY: the block is this long, is initialised, and has no other owner any more.
            look_through(unsafe { std::slice::from_raw_parts(block, layout.size()) });
        }
        // SAFETY: the caller keeps the same conditions.
        unsafe { System.dealloc(block, layout) }
    }

    // The provided `realloc` takes another block and gives the old one back. A list that happens to
    // grow in place would hide that it may move the next time.
}

impl TryRng for MarkedBytes {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let (mark, filled) = match bytes.len() {
            KEY_BYTES => (MARK, KEY_BYTES),
            WIDE_BYTES => (MARK, SMALL_BYTES),
            length => ([0; 4], length),
        };
        let (filled, rest) = bytes.split_at_mut(filled);
        self.words += 1;
        for part in filled.chunks_mut(8) {
            // All parts of a marked number have the same mark.
            self.words += u32::from(mark != MARK);
            let mut word = [0; 8];
            word[..4].copy_from_slice(&mark);
            word[4..].copy_from_slice(&self.words.to_be_bytes());
            part.copy_from_slice(&word[..part.len()]);
        }
        rest.fill(0);
        Ok(())
    }
}

impl TryCryptoRng for MarkedBytes {}
