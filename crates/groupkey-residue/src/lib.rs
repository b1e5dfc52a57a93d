//! Finds keys in memory that is given back.
//!
//! A key is wiped when it is dropped, but a list that grows, or from which an item is taken, leaves
//! copies where its items were. [`Marked`] is a source of randomness whose output can be told from
//! anything else, and [`Watch`] an allocator that looks for it in every block that is given back while
//! [`residues`] runs something. What follows from random bytes by way of a hash does not show; it is
//! kept in the same lists.
//!
//! This crate is for tests. It is apart from the library, which has no unsafe code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

/// The system's allocator, watched. To be made the global one.
#[derive(Debug)]
pub struct Watch;

/// Random bytes, as it seems to the caller. A key is four bytes that are always the same, four that
/// count, and so on; no two are the same. What is longer is made into numbers by libraries that are not
/// ours, and leaves itself on the stack; it has no mark.
#[derive(Debug, Default)]
pub struct Marked {
    words: u32,
}

const KEY_BYTES: usize = 16;
const MARK: [u8; 4] = [0xA7, 0x3C, 0xE1, 0x5B];

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    static FOUND: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What `act` gives, and where in it memory was given back that held part of a key: the functions of
/// the crate `groupkey` that were at work, innermost first.
pub fn residues<T>(act: impl FnOnce() -> T) -> (T, Vec<String>) {
    WATCHING.set(true);
    let result = act();
    WATCHING.set(false);
    (result, FOUND.take())
}

fn look_through(block: &[u8]) {
    let is_marked = |window: &[u8]| window[..4] == MARK && window[8..] == MARK;
    if block.windows(12).any(is_marked) {
        // What telling of it allocates is not looked at.
        WATCHING.set(false);
        FOUND.with_borrow_mut(|found| found.push(place()));
        WATCHING.set(true);
    }
}

/// The functions that are at work, as far as the build knows them, innermost first.
fn place() -> String {
    let trace = Backtrace::force_capture().to_string();
    let named = trace.lines().map(str::trim).filter(|line| line.contains("groupkey"));
    let ours = named.filter(|line| !line.contains("groupkey_residue"));
    ours.take(6).collect::<Vec<_>>().join(", ")
}

// SAFETY: everything is the system allocator's; blocks are read before they are given back to it. They
// are zeroed when they are handed out, so that all bytes of a block can be read.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same conditions.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.try_with(Cell::get).unwrap_or(false) {
            // SAFETY: the block is this long, initialised, and nobody else's any more.
            look_through(unsafe { std::slice::from_raw_parts(block, layout.size()) });
        }
        // SAFETY: the caller keeps the same conditions.
        unsafe { System.dealloc(block, layout) }
    }

    // The provided `realloc` takes another block and gives the old one back: a list that grows in place
    // by luck would hide that it may not the next time.
}

impl TryRng for Marked {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let mark = if bytes.len() == KEY_BYTES { MARK } else { [0; 4] };
        for part in bytes.chunks_mut(8) {
            self.words += 1;
            let mut word = [0; 8];
            word[..4].copy_from_slice(&mark);
            word[4..].copy_from_slice(&self.words.to_be_bytes());
            part.copy_from_slice(&word[..part.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Marked {}
