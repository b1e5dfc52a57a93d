//! Finds keys and secret exponents in memory that is given back.
//!
//! A key is wiped when it is dropped, but a list that grows, or from which an item is taken, leaves
//! copies where its items were. [`Marked`] is a source of randomness whose output can be told from
//! anything else, and [`Watch`] an allocator that looks for it in every block that is given back while
//! [`residues`] runs something. What was drawn to be told, as a nonce is, [`marks`] finds in messages.
//! What follows from random bytes by way of a hash does not show; it is kept in the same lists.
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
/// count keys, and these eight again; no two are the same. So is an exponent of ristretto255, which is
/// the remainder of a longer number: this one is small enough to be its own. Other numbers have no mark.
#[derive(Debug, Default)]
pub struct Marked {
    words: u32,
}

/// Memory that was given back with something secret in it.
#[derive(Clone, Debug)]
pub struct Residue {
    /// The marks of what was in it.
    pub marks: Vec<u32>,
    /// The functions of the crate `groupkey` that were at work, innermost first.
    pub place: String,
}

const KEY_BYTES: usize = 16;
/// What an exponent of ristretto255 is the remainder of, and how much of that is marked.
const WIDE_BYTES: usize = 64;
const SMALL_BYTES: usize = 24;
const MARK: [u8; 4] = [0xA7, 0x3C, 0xE1, 0x5B];

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    static FOUND: RefCell<Vec<Residue>> = const { RefCell::new(Vec::new()) };
}

/// What `act` gives, and where in it memory was given back that held part of a key.
pub fn residues<T>(act: impl FnOnce() -> T) -> (T, Vec<Residue>) {
    WATCHING.set(true);
    let result = act();
    WATCHING.set(false);
    (result, FOUND.take())
}

/// The marks of all that was drawn from [`Marked`] and is in these bytes.
pub fn marks(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let marked = bytes.windows(12).filter(|window| window[..4] == MARK && window[8..] == MARK);
    marked.map(|window| window[4..8].iter().fold(0, |mark, &byte| mark << 8 | u32::from(byte)))
}

fn look_through(block: &[u8]) {
    if marks(block).next().is_some() {
        // What telling of it allocates is not looked at.
        WATCHING.set(false);
        let residue = Residue { marks: marks(block).collect(), place: place() };
        FOUND.with_borrow_mut(|found| found.push(residue));
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
        let (mark, filled) = match bytes.len() {
            KEY_BYTES => (MARK, KEY_BYTES),
            WIDE_BYTES => (MARK, SMALL_BYTES),
            length => ([0; 4], length),
        };
        let (filled, rest) = bytes.split_at_mut(filled);
        self.words += 1;
        for part in filled.chunks_mut(8) {
            // All parts of what is marked bear the same mark.
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

impl TryCryptoRng for Marked {}
