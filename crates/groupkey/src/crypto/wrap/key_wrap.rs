//! The AES Key Wrap algorithm (RFC 3394) with AES-128.
//!
//! The library `aes-kw` copies a register byte by byte between two encryptions, which takes almost as
//! long as an encryption, and a controller wraps thousands of keys. The tests compare with the library.

use aes::cipher::consts::U16;
use aes::cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};
use subtle::ConstantTimeEq;

use crate::crypto::hardware::Aes128;
use crate::secret::Key;

/// The length of a register in bytes. What is wrapped has two registers or more.
pub(super) const REGISTER: usize = 8;

/// Wraps what `registers` has behind its first register, in place.
pub(super) fn wrap(kek: &Key, registers: &mut [u8]) {
    let (registers, _) = registers.as_chunks_mut();
    if let [first, rest @ ..] = registers {
        *first = INITIAL;
        Aes128::new(kek.as_bytes().into()).encrypt_with_backend(Registers { first, rest });
    }
}

/// Unwraps `rest` in place, before which `first` was. Returns `None` if the key did not wrap it.
pub(super) fn unwrap(kek: &Key, mut first: [u8; REGISTER], rest: &mut [u8]) -> Option<()> {
    let (rest, _) = rest.as_chunks_mut();
    let registers = Registers { first: &mut first, rest };
    Aes128::new(kek.as_bytes().into()).decrypt_with_backend(registers);
    bool::from(first.ct_eq(&INITIAL)).then_some(())
}

/// The register A and the registers R (RFC 3394 section 2.2.1).
struct Registers<'r> {
    first: &'r mut [u8; REGISTER],
    rest: &'r mut [[u8; REGISTER]],
}

impl BlockSizeUser for Registers<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Registers<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let (mut first, mut step) = (u64::from_be_bytes(*self.first), 0);
        for _ in 0..ROUNDS {
            for register in &mut *self.rest {
                step += 1;
                let mut block: Block<B> = joined(first, u64::from_be_bytes(*register)).into();
                backend.encrypt_block((&mut block).into());
                let (high, low) = divided(block.into());
                first = high ^ step;
                *register = low.to_be_bytes();
            }
        }
        *self.first = first.to_be_bytes();
    }
}

impl BlockCipherDecClosure for Registers<'_> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        let mut first = u64::from_be_bytes(*self.first);
        let mut step = ROUNDS * self.rest.len() as u64;
        for _ in 0..ROUNDS {
            for register in self.rest.iter_mut().rev() {
                let mut block: Block<B> =
                    joined(first ^ step, u64::from_be_bytes(*register)).into();
                backend.decrypt_block((&mut block).into());
                let (high, low) = divided(block.into());
                first = high;
                *register = low.to_be_bytes();
                step -= 1;
            }
        }
        *self.first = first.to_be_bytes();
    }
}

const ROUNDS: u64 = 6;

/// The initial value of the first register (RFC 3394 section 2.2.3.1).
const INITIAL: [u8; REGISTER] = [0xa6; REGISTER];

#[inline(always)]
fn joined(high: u64, low: u64) -> [u8; 16] {
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

#[inline(always)]
fn divided(block: [u8; 16]) -> (u64, u64) {
    let block = u128::from_be_bytes(block);
    ((block >> 64) as u64, block as u64)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use aes::Aes128 as SoftwareAes;
    use aes_kw::AesKw;

    use super::*;

    /// RFC 3394 section 4.1: 128 bits of key data under a 128-bit key.
    #[test]
    fn the_known_answer() {
        let kek = Key::from_bytes(core::array::from_fn(|place| place as u8));
        let data: [u8; 16] = core::array::from_fn(|place| place as u8 * 0x11);
        let mut registers = [&[0; REGISTER][..], &data].concat();
        wrap(&kek, &mut registers);
        let expected = [
            0x1f, 0xa6, 0x8b, 0x0a, 0x81, 0x12, 0xb4, 0x47, 0xae, 0xf3, 0x4b, 0xd8, 0xfb, 0x5a,
            0x7b, 0x82, 0x9d, 0x3e, 0x86, 0x23, 0x71, 0xd2, 0xcf, 0xe5,
        ];
        assert_eq!(registers, expected);
    }

    #[test]
    fn it_is_what_the_library_computes_and_nothing_else_unwraps() {
        let kek = Key::from_bytes([7; 16]);
        let library = AesKw::<SoftwareAes>::new(&[7; 16].into());
        for length in (16..700).step_by(16) {
            let data: vec::Vec<_> = (0..length).map(|place| (place * 7) as u8).collect();
            let mut registers = [&[0; REGISTER][..], &data].concat();
            wrap(&kek, &mut registers);
            let mut expected = vec![0; length + REGISTER];
            library.wrap_key(&data, &mut expected).unwrap();
            assert_eq!(registers, expected);
            let (first, rest) = registers.split_first_chunk_mut().unwrap();
            assert_eq!((unwrap(&kek, *first, rest), &*rest), (Some(()), &*data));
            for place in 0..expected.len() {
                let mut changed = expected.clone();
                changed[place] ^= 1;
                let (first, rest) = changed.split_first_chunk_mut().unwrap();
                assert_eq!(unwrap(&kek, *first, rest), None);
            }
        }
    }
}
