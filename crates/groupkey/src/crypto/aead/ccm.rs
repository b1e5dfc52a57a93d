//! AES-CCM (RFC 3610) with AES-128, a tag of 16 bytes and a nonce of 13: COSE's AES-CCM-16-128-128.
//!
//! The library `ccm` calls the cipher for each block, and that call takes as long as the block itself.
//! Here the cipher runs over a whole message in one call. The tests compare with the library.

use aes::cipher::consts::U16;
use aes::cipher::{
    Array, Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
    KeyInit, ParBlocks,
};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::TAG_BYTES;
use crate::crypto::hardware::Aes128;
use crate::secret::Key;

/// The length of a nonce in bytes. Two bytes are left for the length of the content.
pub(super) const NONCE_BYTES: usize = 13;

/// Encrypts content of up to 65,535 bytes in place. Returns the tag, which also covers `covered`.
pub(super) fn encrypt(
    key: &Key,
    nonce: &[u8; NONCE_BYTES],
    covered: &[u8],
    content: &mut [u8],
) -> [u8; TAG_BYTES] {
    run(Direction::Encrypt, key, nonce, covered, content)
}

/// Decrypts in place. Returns `None` if this is not the tag; the content is then worthless.
pub(super) fn decrypt(
    key: &Key,
    nonce: &[u8; NONCE_BYTES],
    covered: &[u8],
    content: &mut [u8],
    tag: &[u8; TAG_BYTES],
) -> Option<()> {
    let expected = run(Direction::Decrypt, key, nonce, covered, content);
    bool::from(expected.ct_eq(tag)).then_some(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

fn run(
    direction: Direction,
    key: &Key,
    nonce: &[u8; NONCE_BYTES],
    covered: &[u8],
    content: &mut [u8],
) -> [u8; TAG_BYTES] {
    let mut tag = [0; TAG_BYTES];
    let work = Work { direction, nonce, covered, content, tag: &mut tag };
    Aes128::new(key.as_bytes().into()).encrypt_with_backend(work);
    tag
}

/// What the cipher does in one call.
struct Work<'w> {
    direction: Direction,
    nonce: &'w [u8; NONCE_BYTES],
    covered: &'w [u8],
    content: &'w mut [u8],
    tag: &'w mut [u8; TAG_BYTES],
}

impl BlockSizeUser for Work<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Work<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Self { direction, nonce, covered, content, tag } = self;
        if direction == Direction::Decrypt {
            add_key_stream(backend, nonce, content);
        }
        let mut mac = CbcMac { backend, state: 0, filled: 0 };
        mac.update(&first_block(nonce, covered.len(), content.len()));
        mac.update_with_length(covered);
        mac.pad();
        mac.update(content);
        mac.pad();
        if direction == Direction::Encrypt {
            add_key_stream(backend, nonce, content);
        }
        let mut mask: Block<B> = counter_block(nonce, 0).into();
        backend.encrypt_block((&mut mask).into());
        *tag = (mac.state ^ u128::from_be_bytes(mask.into())).to_be_bytes();
    }
}

/// CBC-MAC over what it gets, padded with zeros where it is told (RFC 3610 section 2.2).
struct CbcMac<'b, B> {
    backend: &'b B,
    state: u128,
    /// How many bytes of the present block were added, below 16.
    filled: usize,
}

impl<B: BlockCipherEncBackend<BlockSize = U16>> CbcMac<'_, B> {
    #[inline(always)]
    fn update(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(16 - self.filled));
            self.add_some(head);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<16>();
        for block in blocks {
            self.state ^= u128::from_be_bytes(*block);
            self.encrypt();
        }
        self.add_some(rest);
    }

    /// Adds data that the tag covers, with the length before it.
    #[inline(always)]
    fn update_with_length(&mut self, covered: &[u8]) {
        match covered.len() {
            0 => return,
            length @ 1..0xff00 => self.update(&(length as u16).to_be_bytes()),
            length => {
                self.update(&[0xff, 0xfe]);
                self.update(&(length as u32).to_be_bytes());
            }
        }
        self.update(covered);
    }

    /// Adds less than what fills a block, or just that.
    #[inline(always)]
    fn add_some(&mut self, bytes: &[u8]) {
        let mut block = [0; 16];
        block[self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.state ^= u128::from_be_bytes(block);
        self.filled += bytes.len();
        if self.filled == 16 {
            self.filled = 0;
            self.encrypt();
        }
    }

    /// Adds zeros until the block is full.
    #[inline(always)]
    fn pad(&mut self) {
        if self.filled > 0 {
            self.filled = 0;
            self.encrypt();
        }
    }

    #[inline(always)]
    fn encrypt(&mut self) {
        let mut block: Block<B> = self.state.to_be_bytes().into();
        self.backend.encrypt_block((&mut block).into());
        self.state = u128::from_be_bytes(block.into());
    }
}

/// Adds the key stream (RFC 3610 section 2.3), many blocks at a time.
#[inline(always)]
fn add_key_stream<B: BlockCipherEncBackend<BlockSize = U16>>(
    backend: &B,
    nonce: &[u8; NONCE_BYTES],
    content: &mut [u8],
) {
    let mut stream = ParBlocks::<B>::default();
    let mut counter = 0;
    for part in content.chunks_mut(16 * stream.len()) {
        let blocks = part.len().div_ceil(16);
        for block in &mut stream[..blocks] {
            counter += 1;
            *block = counter_block(nonce, counter).into();
        }
        match blocks == stream.len() {
            true => backend.encrypt_par_blocks((&mut stream).into()),
            false => backend.encrypt_tail_blocks((&mut stream[..blocks]).into()),
        }
        let key_stream = Array::slice_as_flattened(&stream);
        part.iter_mut().zip(key_stream).for_each(|(byte, key)| *byte ^= key);
        stream[..blocks].iter_mut().for_each(|block| block.as_mut_slice().zeroize());
    }
}

/// Returns the first block of the MAC: the lengths and the nonce (RFC 3610 section 2.2).
#[inline(always)]
fn first_block(nonce: &[u8; NONCE_BYTES], covered: usize, content: usize) -> [u8; 16] {
    let is_covering = u8::from(covered > 0);
    let flags = (is_covering << 6) | (((TAG_BYTES as u8 - 2) / 2) << 3) | LENGTH_FLAG;
    block(flags, nonce, content as u16)
}

#[inline(always)]
fn counter_block(nonce: &[u8; NONCE_BYTES], counter: u16) -> [u8; 16] {
    block(LENGTH_FLAG, nonce, counter)
}

#[inline(always)]
fn block(flags: u8, nonce: &[u8; NONCE_BYTES], last: u16) -> [u8; 16] {
    let mut block = [flags; 16];
    block[1..14].copy_from_slice(nonce);
    block[14..].copy_from_slice(&last.to_be_bytes());
    block
}

/// The length of the content takes two bytes.
const LENGTH_FLAG: u8 = 1;

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use ::ccm::aead::{AeadInOut, KeyInit as _};
    use ::ccm::consts::{U13, U16};
    use aes::Aes128 as SoftwareAes;

    use super::*;

    /// Lengths around the blocks of the cipher, those of several blocks at once, and the most there is.
    #[test]
    fn it_is_what_the_library_computes() {
        let library = ::ccm::Ccm::<SoftwareAes, U16, U13>::new(&[7; 16].into());
        let (key, nonce) = (Key::from_bytes([7; 16]), core::array::from_fn(|place| place as u8));
        let bytes: Vec<_> = (0..70_000_u32).map(|number| (number * 31) as u8).collect();
        for length in (0..70).chain([255, 1_000, 1_024, 1_025, 2_047, 65_535]) {
            for covered in [0, 1, 13, 14, 15, 60, 0xfeff, 0xff00, 70_000] {
                let (mut ours, mut theirs) = (bytes[..length].to_vec(), bytes[..length].to_vec());
                let tag = encrypt(&key, &nonce, &bytes[..covered], &mut ours);
                let content = theirs.as_mut_slice().into();
                let expected =
                    library.encrypt_inout_detached(&nonce.into(), &bytes[..covered], content);
                assert_eq!((&ours, tag), (&theirs, expected.unwrap().into()), "{length} {covered}");
                let opened = decrypt(&key, &nonce, &bytes[..covered], &mut ours, &tag);
                assert_eq!((opened, &ours[..]), (Some(()), &bytes[..length]));
            }
        }
    }

    #[test]
    fn a_changed_bit_is_noticed() {
        let (key, nonce) = (Key::from_bytes([7; 16]), [3; NONCE_BYTES]);
        let mut sealed = vec![5; 40];
        let tag = encrypt(&key, &nonce, b"covered", &mut sealed);
        let opens = |nonce, covered: &[u8], mut content: Vec<u8>, tag| {
            decrypt(&key, &nonce, covered, &mut content, &tag).is_some()
        };
        assert!(opens(nonce, b"covered", sealed.clone(), tag));
        assert!(!opens([2; NONCE_BYTES], b"covered", sealed.clone(), tag));
        assert!(!opens(nonce, b"uncovered", sealed.clone(), tag));
        for bit in 0..8 * TAG_BYTES {
            let mut other = tag;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!opens(nonce, b"covered", sealed.clone(), other));
        }
        for bit in 0..8 * sealed.len() {
            let mut other = sealed.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!opens(nonce, b"covered", other, tag));
        }
    }
}
