//! The chip's AES and SHA-256, for the library's door to them.

use core::cell::RefCell;

use critical_section::Mutex;
use esp_hal::aes::Aes;
use esp_hal::peripherals::{AES, SHA};
use esp_hal::sha::Sha;
use groupkey::crypto::hardware::{Hardware, WrongAnswer, install};

/// Lets the accelerators compute, if they do so rightly.
pub fn start(aes: AES<'static>, sha: SHA<'static>) -> Result<(), WrongAnswer> {
    critical_section::with(|section| {
        *ACCELERATORS.0.borrow_ref_mut(section) = Some((Aes::new(aes), Sha::new(sha)));
    });
    install(&ACCELERATORS)
}

/// AES and SHA, once the program has started them. The driver of SHA only keeps its clock on: it cannot
/// begin with a state that somebody gives it.
struct Accelerators(Mutex<RefCell<Option<(Aes<'static>, Sha<'static>)>>>);

static ACCELERATORS: Accelerators = Accelerators(Mutex::new(RefCell::new(None)));

impl Accelerators {
    /// Returns whether the accelerators were there to act. Wi-Fi's tasks wait meanwhile.
    fn with(&self, act: impl FnOnce(&mut Aes<'static>)) -> bool {
        critical_section::with(|section| {
            let mut both = self.0.borrow_ref_mut(section);
            both.as_mut().map(|(aes, _)| act(aes)).is_some()
        })
    }
}

impl Hardware for Accelerators {
    fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) -> bool {
        self.with(|aes| aes.encrypt(block, *key))
    }

    fn decrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) -> bool {
        self.with(|aes| aes.decrypt(block, *key))
    }

    fn compress(&self, state: &mut [u32; 8], blocks: &[[u8; 64]]) -> bool {
        self.with(|_| {
            let registers = SHA::regs();
            // SAFETY: every value of these registers is allowed: a hash, a message, and the number of
            // the algorithm.
            unsafe {
                registers.mode().write(|mode| mode.mode().bits(SHA_256));
                // Both memories hold bytes in the order of the message, so words are turned.
                for (place, word) in state.iter().enumerate() {
                    registers.h_mem(place).write(|memory| memory.bits(word.to_be()));
                }
                for block in blocks {
                    for (place, word) in block.as_chunks().0.iter().enumerate() {
                        let word = u32::from_ne_bytes(*word);
                        registers.m_mem(place).write(|memory| memory.bits(word));
                    }
                    registers.continue_().write(|begin| begin.continue_().set_bit());
                    while registers.busy().read().state().bit_is_set() {}
                }
            }
            for (place, word) in state.iter_mut().enumerate() {
                *word = u32::from_be(registers.h_mem(place).read().bits());
            }
        })
    }
}

/// The number of SHA-256 in the register of the mode.
const SHA_256: u8 = 2;
