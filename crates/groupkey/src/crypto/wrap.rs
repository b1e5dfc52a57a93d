//! Key wrapping: one or several keys under a key-encryption key.

use aes::Aes128;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::NoPadding};
use aes_kw::KwAes128;
use alloc::vec::Vec;
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use rand_core::CryptoRng;
use zeroize::Zeroize;

use super::{Suite, Wrapping};
use crate::secret::Key;

/// The purpose of wrapped keys. With Ascon it is the nonce, so a key-encryption key must wrap at
/// most one set of keys for a binding. RFC 3394 and CBC do not use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The epoch that the keys are for.
    pub(crate) epoch: u64,
    /// The number by which the scheme identifies the keys.
    pub(crate) label: u64,
}

/// The largest number of keys wrapped in one call: the path of a binary tree with 2^40 leaves is
/// shorter.
pub(crate) const MAX_KEYS: usize = 40;

/// Returns the length of `keys` wrapped keys in bytes.
pub(crate) const fn wrapped_length(suite: Suite, keys: usize) -> usize {
    keys * Key::BYTES
        + match suite.wrapping() {
            Wrapping::AesKeyWrap => 8,
            Wrapping::Ascon | Wrapping::AesCbc => 16,
        }
}

/// Appends the wrapped keys to `out`.
///
/// # Panics
///
/// With more than [`MAX_KEYS`] keys, or none.
pub(crate) fn wrap<'k>(
    suite: Suite,
    kek: &Key,
    binding: Binding,
    keys: impl ExactSizeIterator<Item = &'k Key>,
    rng: &mut dyn CryptoRng,
    out: &mut Vec<u8>,
) {
    let length = keys.len() * Key::BYTES;
    assert!((1..=MAX_KEYS).contains(&keys.len()), "a wrap takes 1 to {MAX_KEYS} keys");
    let mut buffer = [0; MAX_KEYS * Key::BYTES];
    let plain = &mut buffer[..length];
    for (chunk, key) in plain.chunks_exact_mut(Key::BYTES).zip(keys) {
        chunk.copy_from_slice(key.as_bytes());
    }
    let start = out.len();
    match suite.wrapping() {
        Wrapping::AesKeyWrap => {
            out.resize(start + length + 8, 0);
            let wrapped = KwAes128::new(kek.as_bytes().into()).wrap_key(plain, &mut out[start..]);
            debug_assert!(wrapped.is_ok(), "a multiple of eight bytes always wraps");
        }
        Wrapping::Ascon => {
            let cipher = AsconAead128::new(kek.as_bytes().into());
            let tag = cipher.encrypt_inout_detached(&nonce(binding).into(), b"", plain.into());
            out.extend_from_slice(plain);
            // A message of this length is far below the cipher's limit.
            out.extend_from_slice(&tag.unwrap_or_default());
        }
        Wrapping::AesCbc => {
            let mut iv = [0; 16];
            rng.fill_bytes(&mut iv);
            out.extend_from_slice(&iv);
            let cipher = cbc::Encryptor::<Aes128>::new(kek.as_bytes().into(), &iv.into());
            let encrypted = cipher.encrypt_padded::<NoPadding>(plain, length);
            debug_assert!(encrypted.is_ok(), "whole blocks need no padding");
            out.extend_from_slice(plain);
        }
    }
    buffer[..length].zeroize();
}

/// Unwraps as many keys as `keys` has places for. Returns `None` if the integrity check fails (CBC
/// has none) or the length is wrong. `keys` is then unchanged.
pub(crate) fn unwrap(
    suite: Suite,
    kek: &Key,
    binding: Binding,
    wrapped: &[u8],
    keys: &mut [Key],
) -> Option<()> {
    let length = keys.len() * Key::BYTES;
    if wrapped.len() != wrapped_length(suite, keys.len()) || !(1..=MAX_KEYS).contains(&keys.len()) {
        return None;
    }
    let mut buffer = [0; MAX_KEYS * Key::BYTES];
    let plain = &mut buffer[..length];
    let opened = match suite.wrapping() {
        Wrapping::AesKeyWrap => {
            KwAes128::new(kek.as_bytes().into()).unwrap_key(wrapped, plain).map(drop).ok()
        }
        Wrapping::Ascon => {
            let (cipher, tag) = wrapped.split_at(length);
            plain.copy_from_slice(cipher);
            let tag = tag.try_into().ok()?;
            AsconAead128::new(kek.as_bytes().into())
                .decrypt_inout_detached(&nonce(binding).into(), b"", plain.into(), tag)
                .ok()
        }
        Wrapping::AesCbc => {
            let (iv, cipher) = wrapped.split_at(16);
            plain.copy_from_slice(cipher);
            let iv = iv.try_into().ok()?;
            cbc::Decryptor::<Aes128>::new(kek.as_bytes().into(), iv)
                .decrypt_padded::<NoPadding>(plain)
                .map(drop)
                .ok()
        }
    };
    if opened.is_some() {
        for (key, chunk) in keys.iter_mut().zip(plain.chunks_exact(Key::BYTES)) {
            key.as_bytes_mut().copy_from_slice(chunk);
        }
    }
    buffer[..length].zeroize();
    opened
}

fn nonce(binding: Binding) -> [u8; 16] {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&binding.epoch.to_be_bytes());
    nonce[8..].copy_from_slice(&binding.label.to_be_bytes());
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    const BINDING: Binding = Binding { epoch: 3, label: 5 };

    fn wrapped(suite: Suite, keys: &[Key]) -> Vec<u8> {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut out = Vec::new();
        wrap(suite, &Key::from_bytes([9; 16]), BINDING, keys.iter(), &mut rng, &mut out);
        out
    }

    fn keys(count: usize) -> Vec<Key> {
        (0..count).map(|i| Key::from_bytes([i as u8 + 1; 16])).collect()
    }

    #[test]
    fn wrapped_keys_unwrap() {
        for suite in Suite::ALL {
            for count in [1, 2, 7, MAX_KEYS] {
                let bytes = wrapped(suite, &keys(count));
                assert_eq!(bytes.len(), wrapped_length(suite, count));
                let mut opened = alloc::vec![Key::default(); count];
                unwrap(suite, &Key::from_bytes([9; 16]), BINDING, &bytes, &mut opened).unwrap();
                assert_eq!(opened, keys(count));
            }
        }
    }

    #[test]
    fn a_changed_byte_or_a_wrong_key_is_refused() {
        for suite in [Suite::Standard, Suite::Constrained] {
            let bytes = wrapped(suite, &keys(2));
            let mut opened = alloc::vec![Key::default(); 2];
            for index in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[index] ^= 1;
                let kek = Key::from_bytes([9; 16]);
                assert!(unwrap(suite, &kek, BINDING, &changed, &mut opened).is_none());
            }
            let wrong = Key::from_bytes([8; 16]);
            assert!(unwrap(suite, &wrong, BINDING, &bytes, &mut opened).is_none());
            assert_eq!(opened, alloc::vec![Key::default(); 2]);
        }
        let elsewhere = Binding { epoch: 4, ..BINDING };
        let bytes = wrapped(Suite::Constrained, &keys(1));
        let kek = Key::from_bytes([9; 16]);
        let mut opened = alloc::vec![Key::default()];
        assert!(unwrap(Suite::Constrained, &kek, elsewhere, &bytes, &mut opened).is_none());
    }

    /// RFC 3394 section 4.1: 128 bits of key data under a 128-bit key.
    #[test]
    fn aes_key_wrap_known_answer() {
        let kek = Key::from_bytes(core::array::from_fn(|i| i as u8));
        let data = Key::from_bytes(core::array::from_fn(|i| i as u8 * 0x11));
        let mut rng = ChaCha20Rng::from_seed([0; 32]);
        let mut out = Vec::new();
        wrap(Suite::Standard, &kek, BINDING, [&data].into_iter(), &mut rng, &mut out);
        let expected = [
            0x1f, 0xa6, 0x8b, 0x0a, 0x81, 0x12, 0xb4, 0x47, 0xae, 0xf3, 0x4b, 0xd8, 0xfb, 0x5a,
            0x7b, 0x82, 0x9d, 0x3e, 0x86, 0x23, 0x71, 0xd2, 0xcf, 0xe5,
        ];
        assert_eq!(out, expected);
    }
}
