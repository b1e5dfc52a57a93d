//! Keys wrapped by AES-128-CBC with a random IV: no integrity.

use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::NoPadding};
use alloc::vec::Vec;
use rand_core::CryptoRng;

use crate::crypto::hardware::Aes128;
use crate::secret::Key;

pub(super) fn encrypt<'k>(
    rng: &mut dyn CryptoRng,
    kek: &Key,
    keys: impl ExactSizeIterator<Item = &'k Key>,
    out: &mut Vec<u8>,
) {
    let mut iv = [0; 16];
    rng.fill_bytes(&mut iv);
    // A buffer that grew would leave keys behind.
    out.reserve(iv.len() + keys.len() * Key::BYTES);
    out.extend_from_slice(&iv);
    let start = out.len();
    keys.for_each(|key| out.extend_from_slice(key.as_bytes()));
    let (cipher, plain) =
        (cbc::Encryptor::<Aes128>::new(kek.as_bytes().into(), &iv.into()), &mut out[start..]);
    let encrypted = cipher.encrypt_padded::<NoPadding>(plain, plain.len());
    debug_assert!(encrypted.is_ok(), "whole blocks need no padding");
}

pub(super) fn decrypt(kek: &Key, wrapped: &[u8], plain: &mut [u8]) -> Option<()> {
    let (iv, cipher) = wrapped.split_at(16);
    plain.copy_from_slice(cipher);
    let iv = iv.try_into().ok()?;
    let cipher = cbc::Decryptor::<Aes128>::new(kek.as_bytes().into(), iv);
    cipher.decrypt_padded::<NoPadding>(plain).map(drop).ok()
}
