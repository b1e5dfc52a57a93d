//! The chip's AES, which only encrypts, for the library's door to it.

use core::sync::atomic::{Ordering, compiler_fence};

use embassy_nrf::pac;
use groupkey::crypto::hardware::{Hardware, WrongAnswer, install};
use zeroize::Zeroizing;

/// Lets the chip encrypt, if it does so rightly. Nothing else may use its ECB block.
pub fn start() -> Result<(), WrongAnswer> {
    install(&Ecb)
}

/// The chip's AES-128 of single blocks.
struct Ecb;

impl Hardware for Ecb {
    fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) -> bool {
        // The chip reads key and block from memory, and writes the result behind them.
        let mut data = Zeroizing::new([*key, *block, [0; 16]]);
        let address = (&raw mut *data).expose_provenance();
        let is_done = critical_section::with(|_| {
            let registers = pac::ECB;
            registers.events_endecb().write_value(0);
            registers.events_errorecb().write_value(0);
            registers.ecbdataptr().write_value(address as u32);
            compiler_fence(Ordering::SeqCst);
            registers.tasks_startecb().write_value(1);
            loop {
                if registers.events_endecb().read() != 0 {
                    break true;
                }
                if registers.events_errorecb().read() != 0 {
                    break false;
                }
            }
        });
        compiler_fence(Ordering::SeqCst);
        if is_done {
            *block = data[2];
        }
        is_done
    }
}
