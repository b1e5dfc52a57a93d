//! Authenticated encryption of messages: AES-CCM with a tag of 16 bytes and a nonce of 13 bytes, or
//! Ascon-AEAD128. The papers' suites used AES-CBC, which cannot cover associated data. Here they
//! get CCM.

use alloc::vec::Vec;
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use ccm::Ccm;
use ccm::consts::{U13, U16};

use super::hardware::Aes128;
use super::{Hashing, Suite};
use crate::secret::Key;

/// Length of a tag in bytes.
pub(crate) const TAG_BYTES: usize = 16;

/// A length that all suites accept: CCM's nonce of 13 bytes leaves two bytes for the length.
pub(crate) const MAX_BYTES: usize = u16::MAX as usize;

/// Encrypts in place and appends the tag. No two messages may have the same counter under a key.
///
/// # Panics
///
/// With more than [`MAX_BYTES`].
pub(crate) fn seal(suite: Suite, key: &Key, counter: u64, covered: &[u8], content: &mut Vec<u8>) {
    assert!(content.len() <= MAX_BYTES, "the caller has checked the length");
    let nonce = nonce(counter);
    let plain = content.as_mut_slice().into();
    let tag: [u8; TAG_BYTES] = match suite.hashing() {
        Hashing::Ascon => AsconAead128::new(key.as_bytes().into())
            .encrypt_inout_detached(&nonce.into(), covered, plain)
            .map(Into::into),
        Hashing::Sha2 => AesCcm::new(key.as_bytes().into())
            .encrypt_inout_detached(&ccm_nonce(nonce).into(), covered, plain)
            .map(Into::into),
    }
    // Both fail only because of lengths, and the lengths are checked.
    .unwrap_or_default();
    content.extend_from_slice(&tag);
}

/// Decrypts the output of [`seal`]. Returns `None` for other bytes; the content is then worthless.
pub(crate) fn open(
    suite: Suite,
    key: &Key,
    counter: u64,
    covered: &[u8],
    content: &mut Vec<u8>,
) -> Option<()> {
    let length = content.len().checked_sub(TAG_BYTES).filter(|&length| length <= MAX_BYTES)?;
    let nonce = nonce(counter);
    let (sealed, tag) = content.split_at_mut(length);
    let tag: [u8; TAG_BYTES] = (&*tag).try_into().ok()?;
    match suite.hashing() {
        Hashing::Ascon => AsconAead128::new(key.as_bytes().into())
            .decrypt_inout_detached(&nonce.into(), covered, sealed.into(), &tag.into())
            .ok()?,
        Hashing::Sha2 => AesCcm::new(key.as_bytes().into())
            .decrypt_inout_detached(&ccm_nonce(nonce).into(), covered, sealed.into(), &tag.into())
            .ok()?,
    }
    content.truncate(length);
    Some(())
}

/// COSE's AES-CCM-16-128-128.
type AesCcm = Ccm<Aes128, U16, U13>;

fn nonce(counter: u64) -> [u8; 16] {
    u128::from(counter).to_be_bytes()
}

/// Returns the last thirteen bytes: the counter with fewer leading zeros.
fn ccm_nonce(nonce: [u8; 16]) -> [u8; 13] {
    let mut short = [0; 13];
    short.copy_from_slice(&nonce[3..]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::from_bytes([5; 16]);

    #[test]
    fn only_what_was_sealed_opens() {
        for suite in [Suite::Standard, Suite::Constrained, Suite::Published] {
            for length in [0, 1, 16, 33, MAX_BYTES] {
                let plain = alloc::vec![7; length];
                let mut sealed = plain.clone();
                seal(suite, &KEY, 9, b"covered", &mut sealed);
                assert_eq!(sealed.len(), length + TAG_BYTES);
                let opens = |key: &Key, counter, covered: &[u8], mut content: Vec<u8>| {
                    open(suite, key, counter, covered, &mut content).map(|()| content)
                };
                assert_eq!(opens(&KEY, 9, b"covered", sealed.clone()), Some(plain));
                assert_eq!(opens(&KEY, 10, b"covered", sealed.clone()), None);
                assert_eq!(opens(&KEY, 9, b"uncovered", sealed.clone()), None);
                assert_eq!(opens(&Key::from_bytes([6; 16]), 9, b"covered", sealed.clone()), None);
                sealed[length / 2] ^= 1;
                assert_eq!(opens(&KEY, 9, b"covered", sealed), None);
            }
            assert!(open(suite, &KEY, 9, b"", &mut alloc::vec![0; TAG_BYTES - 1]).is_none());
        }
    }
}
