//! Authenticated encryption of messages: AES-CCM with a tag of 16 bytes and a nonce of 13 bytes, or
//! Ascon-AEAD128. The papers' suites used AES-CBC, which cannot cover associated data. Here they
//! get CCM.

mod ccm;

use alloc::vec::Vec;
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};

use super::{Hashing, Suite};
use crate::secret::Key;

/// Length of a tag in bytes.
pub(crate) const TAG_BYTES: usize = 16;

/// A length that all suites accept: CCM's nonce of 13 bytes leaves two bytes for the length.
pub(crate) const MAX_BYTES: usize = u16::MAX as usize;

/// The nonce of a message under its sender's key: a counter of five bytes, and what stands before it.
/// That is zeros, or bytes that depend on the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageNonce([u8; 16]);

/// Encrypts in place and appends the tag. No two messages may have the same nonce under a key.
///
/// # Panics
///
/// With more than [`MAX_BYTES`].
pub(crate) fn seal(
    suite: Suite,
    key: &Key,
    MessageNonce(nonce): MessageNonce,
    covered: &[u8],
    content: &mut Vec<u8>,
) {
    assert!(content.len() <= MAX_BYTES, "the caller has checked the length");
    let tag = match suite.hashing() {
        // It fails only because of lengths, and the lengths are checked.
        Hashing::Ascon => AsconAead128::new(key.as_bytes().into())
            .encrypt_inout_detached(&nonce.into(), covered, content.as_mut_slice().into())
            .map_or_else(|_| [0; TAG_BYTES], Into::into),
        Hashing::Sha2 => ccm::encrypt(key, &ccm_nonce(nonce), covered, content),
    };
    content.extend_from_slice(&tag);
}

/// Decrypts the output of [`seal`]. Returns `None` for other bytes; the content is then worthless.
pub(crate) fn open(
    suite: Suite,
    key: &Key,
    MessageNonce(nonce): MessageNonce,
    covered: &[u8],
    content: &mut Vec<u8>,
) -> Option<()> {
    let length = content.len().checked_sub(TAG_BYTES).filter(|&length| length <= MAX_BYTES)?;
    let (sealed, tag) = content.split_at_mut(length);
    let tag: [u8; TAG_BYTES] = (&*tag).try_into().ok()?;
    match suite.hashing() {
        Hashing::Ascon => AsconAead128::new(key.as_bytes().into())
            .decrypt_inout_detached(&nonce.into(), covered, sealed.into(), &tag.into())
            .ok()?,
        Hashing::Sha2 => ccm::decrypt(key, &ccm_nonce(nonce), covered, sealed, &tag)?,
    }
    content.truncate(length);
    Some(())
}

impl MessageNonce {
    /// Counters are below this: five bytes, as in OSCORE.
    pub const COUNTERS: u64 = 1 << (8 * COUNTER_BYTES);

    /// Returns the nonce with these bytes before the counter. CCM has room for the last eight.
    pub(crate) fn synthetic(counter: u64, before: &[u8; SYNTHETIC_BYTES]) -> Self {
        let mut nonce = Self::from(counter);
        nonce.0[..SYNTHETIC_BYTES].copy_from_slice(before);
        nonce
    }

    /// Returns the counter.
    pub fn counter(self) -> u64 {
        let [.., a, b, c, d, e] = self.0;
        u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
    }

    /// Returns the bytes that the suite's cipher takes.
    pub(crate) fn as_bytes(&self, suite: Suite) -> &[u8] {
        match suite.hashing() {
            Hashing::Ascon => &self.0,
            Hashing::Sha2 => &self.0[3..],
        }
    }

    /// Reads the output of [`Self::as_bytes`].
    pub(crate) fn of_bytes(suite: Suite, bytes: &[u8]) -> Option<Self> {
        let mut nonce = [0; 16];
        nonce[16_usize.checked_sub(bytes.len())?..].copy_from_slice(bytes);
        Some(Self(nonce)).filter(|nonce| nonce.as_bytes(suite).len() == bytes.len())
    }
}

/// The nonce with zeros before this counter, which is below [`MessageNonce::COUNTERS`].
impl From<u64> for MessageNonce {
    fn from(counter: u64) -> Self {
        debug_assert!(counter < Self::COUNTERS, "no messenger counts further");
        Self(u128::from(counter).to_be_bytes())
    }
}

/// Length of the counter in a nonce, in bytes.
const COUNTER_BYTES: usize = 5;

/// Length of what stands before the counter, in bytes.
pub(crate) const SYNTHETIC_BYTES: usize = 16 - COUNTER_BYTES;

/// Returns the last thirteen bytes: fewer of those before the counter.
fn ccm_nonce(nonce: [u8; 16]) -> [u8; ccm::NONCE_BYTES] {
    let mut short = [0; ccm::NONCE_BYTES];
    short.copy_from_slice(&nonce[3..]);
    short
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const KEY: Key = Key::from_bytes([5; 16]);

    #[test]
    fn only_what_was_sealed_opens() {
        for suite in [Suite::Standard, Suite::Constrained, Suite::Published] {
            for length in [0, 1, 16, 33, MAX_BYTES] {
                let plain = vec![7; length];
                let mut sealed = plain.clone();
                seal(suite, &KEY, 9.into(), b"covered", &mut sealed);
                assert_eq!(sealed.len(), length + TAG_BYTES);
                let opens = |key: &Key, counter: u64, covered: &[u8], mut content: Vec<u8>| {
                    open(suite, key, counter.into(), covered, &mut content).map(|()| content)
                };
                assert_eq!(opens(&KEY, 9, b"covered", sealed.clone()), Some(plain));
                assert_eq!(opens(&KEY, 10, b"covered", sealed.clone()), None);
                assert_eq!(opens(&KEY, 9, b"uncovered", sealed.clone()), None);
                assert_eq!(opens(&Key::from_bytes([6; 16]), 9, b"covered", sealed.clone()), None);
                sealed[length / 2] ^= 1;
                assert_eq!(opens(&KEY, 9, b"covered", sealed), None);
            }
            assert!(open(suite, &KEY, 9.into(), b"", &mut vec![0; TAG_BYTES - 1]).is_none());
        }
    }

    #[test]
    fn a_nonce_survives_its_encoding() {
        let before = core::array::from_fn(|place| place as u8 + 1);
        for counter in [0, 1, 255, 256, MessageNonce::COUNTERS - 1] {
            for suite in [Suite::Standard, Suite::Constrained] {
                let nonce = MessageNonce::synthetic(counter, &before);
                let bytes = nonce.as_bytes(suite);
                assert_eq!(bytes.len(), if suite == Suite::Standard { 13 } else { 16 });
                let read = MessageNonce::of_bytes(suite, bytes).unwrap();
                assert_eq!((read.as_bytes(suite), read.counter()), (bytes, counter));
                for length in (0..20).filter(|&length| length != bytes.len()) {
                    assert_eq!(MessageNonce::of_bytes(suite, &[0; 20][..length]), None);
                }
            }
        }
    }
}
