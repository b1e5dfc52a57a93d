//! What a chip computes, and the chip that was installed.

use core::cell::Cell;
use core::{error, fmt};

use critical_section::Mutex;

use super::INITIAL;

/// What a chip computes by itself. Each method returns whether the chip has done it. The provided methods
/// return `false`: software then does the work.
///
/// A method may be called from any task. The library cannot wipe a key that the chip keeps after a call.
pub trait Hardware: Sync {
    /// Encrypts a block with AES-128 (FIPS 197) in place.
    fn encrypt(&self, _key: &[u8; 16], _block: &mut [u8; 16]) -> bool {
        false
    }

    /// Decrypts a block with AES-128 in place.
    fn decrypt(&self, _key: &[u8; 16], _block: &mut [u8; 16]) -> bool {
        false
    }

    /// Takes blocks of a message into the state of SHA-256 (FIPS 180-4 section 6.2.2).
    fn compress(&self, _state: &mut [u32; 8], _blocks: &[[u8; 64]]) -> bool {
        false
    }
}

/// The chip computes something else than the standards say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongAnswer {
    /// AES-128, to encrypt.
    Encrypt,
    /// AES-128, to decrypt.
    Decrypt,
    /// SHA-256.
    Compress,
}

/// Lets this chip compute from now on, in all groups of the program.
///
/// First it checks the chip with the examples of the standards. It fails if an answer is wrong. Software
/// then goes on.
pub fn install(hardware: &'static dyn Hardware) -> Result<(), WrongAnswer> {
    check(hardware)?;
    critical_section::with(|section| INSTALLED.borrow(section).set(Some(hardware)));
    Ok(())
}

pub(super) fn installed() -> Option<&'static dyn Hardware> {
    critical_section::with(|section| INSTALLED.borrow(section).get())
}

static INSTALLED: Mutex<Cell<Option<&'static dyn Hardware>>> = Mutex::new(Cell::new(None));

fn check(hardware: &dyn Hardware) -> Result<(), WrongAnswer> {
    let mut block = PLAIN;
    if hardware.encrypt(&KEY, &mut block) && block != CIPHER {
        return Err(WrongAnswer::Encrypt);
    }
    let mut block = CIPHER;
    if hardware.decrypt(&KEY, &mut block) && block != PLAIN {
        return Err(WrongAnswer::Decrypt);
    }
    // In two calls too: the chip must go on from a state.
    let [first, second] = message();
    let (mut at_once, mut by_parts) = (INITIAL, INITIAL);
    let has = hardware.compress(&mut at_once, &[first, second])
        && hardware.compress(&mut by_parts, &[first])
        && hardware.compress(&mut by_parts, &[second]);
    if has && (at_once != HASH || by_parts != HASH) {
        return Err(WrongAnswer::Compress);
    }
    Ok(())
}

/// Returns the message of two blocks whose hash is known, with its padding.
fn message() -> [[u8; 64]; 2] {
    let (mut first, mut second) = ([0; 64], [0; 64]);
    first[..56].copy_from_slice(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");
    first[56] = 0x80;
    second[56..].copy_from_slice(&(8 * 56_u64).to_be_bytes());
    [first, second]
}

/// FIPS 197 appendix C.1.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const PLAIN: [u8; 16] = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
const CIPHER: [u8; 16] = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();

/// The example of two blocks that NIST publishes for SHA-256.
const HASH: [u32; 8] = [
    0x248d_6a61,
    0xd206_38b8,
    0xe5c0_2693,
    0x0c3e_6039,
    0xa33c_e459,
    0x64ff_2167,
    0xf6ec_edd4,
    0x19db_06c1,
];

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Encrypt => "AES-128 encryption",
            Self::Decrypt => "AES-128 decryption",
            Self::Compress => "SHA-256",
        };
        write!(f, "the chip's {what} does not give the standard's example")
    }
}

impl error::Error for WrongAnswer {}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::super::{Aes128, Sha256};
    use super::*;
    use crate::crypto::wrap::{self, Binding};
    use crate::crypto::{GroupContext, Suite, aead, derive};
    use crate::secret::Key;
    use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
    use alloc::vec::Vec;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;
    use sha2::Digest;

    /// A chip that counts what it is asked. What it computes, software computes, xor `error`.
    #[derive(Default)]
    struct Chip {
        asked: [AtomicU32; 3],
        has: [bool; 3],
        error: u8,
    }

    impl Chip {
        fn asks(&self, place: usize) -> bool {
            self.asked[place].fetch_add(1, Ordering::Relaxed);
            self.has[place]
        }

        fn asked(&self) -> [u32; 3] {
            self.asked.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
        }
    }

    impl Hardware for Chip {
        fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) -> bool {
            let has = self.asks(0);
            if has {
                aes::Aes128::new(key.into()).encrypt_block(block.into());
                block[0] ^= self.error;
            }
            has
        }

        fn decrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) -> bool {
            let has = self.asks(1);
            if has {
                aes::Aes128::new(key.into()).decrypt_block(block.into());
                block[0] ^= self.error;
            }
            has
        }

        fn compress(&self, state: &mut [u32; 8], blocks: &[[u8; 64]]) -> bool {
            let has = self.asks(2);
            if has {
                sha2::block_api::compress256(state, blocks);
                state[0] ^= u32::from(self.error);
            }
            has
        }
    }

    static WHOLE: Chip = Chip { asked: [const { AtomicU32::new(0) }; 3], has: [true; 3], error: 0 };
    static PART: Chip =
        Chip { asked: [const { AtomicU32::new(0) }; 3], has: [true, false, false], error: 0 };

    /// A wrap, a sealed message, a derived key and a hash, with the suite `standard`.
    fn work() -> Vec<Vec<u8>> {
        let suite = Suite::Standard;
        let (group, kek) = (GroupContext::of(&[b"ours"]), Key::from_bytes([9; 16]));
        let binding = Binding { group: &group, epoch: 3, label: 5 };
        let keys = [Key::from_bytes([1; 16]), Key::from_bytes([2; 16])];
        let (mut wrapped, mut sealed) = (Vec::new(), alloc::vec![7; 33]);
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        wrap::wrap(suite, &kek, binding, keys.iter(), &mut rng, &mut wrapped);
        let mut opened = [Key::default(), Key::default()];
        wrap::unwrap(suite, &kek, binding, &wrapped, &mut opened).expect("it was wrapped for us");
        assert_eq!(opened, keys);
        aead::seal(suite, &kek, 4.into(), b"covered", &mut sealed);
        let mut content = sealed.clone();
        aead::open(suite, &kek, 4.into(), b"covered", &mut content).expect("it was sealed for us");
        assert_eq!(content, alloc::vec![7; 33]);
        let derived = derive::derive(suite, &group, b"secret", "label", b"context");
        let hash = Sha256::new().chain_update([7; 200]).finalize();
        [wrapped, sealed, derived.as_bytes().to_vec(), hash.to_vec()].into()
    }

    /// One test for all, because there is one chip for the whole process.
    #[test]
    fn everything_goes_to_the_chip_and_has_the_same_result() {
        let by_software = work();
        for chip in [&WHOLE, &PART] {
            install(chip).expect("its answers are right");
            chip.asked();
            assert_eq!(work(), by_software);
            let [encrypted, decrypted, compressed] = chip.asked();
            // RFC 3394: six times the half blocks, which are four. CCM (RFC 3610), to seal and to open:
            // for the tag a first block, one with what is covered and three of content, and for the key
            // stream four.
            assert_eq!((encrypted, decrypted), (6 * 4 + 2 * (5 + 4), 6 * 4));
            assert!(compressed > 0);
        }
        for (place, what) in [WrongAnswer::Encrypt, WrongAnswer::Decrypt, WrongAnswer::Compress]
            .into_iter()
            .enumerate()
        {
            let mut chip = Chip { error: 1, ..Chip::default() };
            chip.has[place] = true;
            assert_eq!(check(&chip), Err(what));
        }
        assert_eq!(check(&Chip { error: 1, ..Chip::default() }), Ok(()));
    }

    #[test]
    fn a_key_is_not_printed() {
        let cipher = Aes128::new(&[7; 16].into());
        assert_eq!(alloc::format!("{cipher:?}"), "Aes128(..)");
    }
}
