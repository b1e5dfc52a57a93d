//! Key derivation, one-way chains and MACs.

use ascon_hash256::{AsconHash256, Digest};
use hkdf::Hkdf;
use hmac::Mac;
use sha2::{Sha256, Sha512};
use zeroize::Zeroize;

use crate::crypto::suite::{Hashing, Suite};
use crate::protection::MacKey;
use crate::secret::Key;

/// Derives a key from secret input: HKDF-SHA-256 (RFC 5869) with an empty salt, or Ascon-Hash256
/// over the length-prefixed inputs. `label` states the purpose. `context` binds the key to group,
/// epoch and so on.
pub(crate) fn derive(suite: Suite, secret: &[u8], label: &str, context: &[u8]) -> Key {
    let mut key = Key::default();
    match suite.hashing() {
        Hashing::Sha2 => {
            let hkdf = Hkdf::<Sha256>::new(None, secret);
            // 16 bytes are far below HKDF's limit of 255 blocks.
            let _ = hkdf.expand_multi_info(&[label.as_bytes(), &[0], context], key.as_bytes_mut());
        }
        Hashing::Ascon => {
            let mut digest = ascon_keyed(b"derive", secret);
            digest.update((label.len() as u64).to_be_bytes());
            digest.update(label.as_bytes());
            digest.update(context);
            let mut output = digest.finalize();
            key.as_bytes_mut().copy_from_slice(&output[..Key::BYTES]);
            output.zeroize();
        }
    }
    key
}

/// Fills `wide` with bytes derived from secret input. An exponent made from them has no bias. Each
/// output of the hash covers its own number: SHA-512 over the number, `label`, a zero byte,
/// `context` and the secret, or Ascon-Hash256 over the same.
pub(crate) fn wide(suite: Suite, secret: &[u8], label: &str, context: &[u8], wide: &mut [u8]) {
    match suite.hashing() {
        Hashing::Sha2 => {
            for (number, part) in (0u8..).zip(wide.chunks_mut(64)) {
                let digest = Sha512::new().chain_update([number]).chain_update(label);
                let digest = digest.chain_update([0]).chain_update(context);
                let mut output = digest.chain_update(secret).finalize();
                part.copy_from_slice(&output[..part.len()]);
                output.zeroize();
            }
        }
        Hashing::Ascon => {
            for (number, part) in (0u8..).zip(wide.chunks_mut(32)) {
                let mut digest = ascon_keyed(b"wide", secret);
                digest.update([number]);
                digest.update((label.len() as u64).to_be_bytes());
                digest.update(label.as_bytes());
                digest.update(context);
                let mut output = digest.finalize();
                part.copy_from_slice(&output[..part.len()]);
                output.zeroize();
            }
        }
    }
}

/// Returns the hash of public data: SHA-256 or Ascon-Hash256 over `label`, a zero byte and the
/// parts.
pub(crate) fn digest(suite: Suite, label: &str, parts: &[&[u8]]) -> [u8; 32] {
    match suite.hashing() {
        Hashing::Sha2 => {
            let digest = Sha256::new().chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
        Hashing::Ascon => {
            let digest = AsconHash256::new().chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
    }
}

/// Returns a key that follows from a uniform key: SHA-256 over `label`, a zero byte, the key and
/// `context`, truncated to 16 bytes, or Ascon-Hash256 over the same. A uniform key needs no
/// extraction. A truncated output cannot be extended. With `label` and `context` of up to 38 bytes
/// together this is a single block of SHA-256. [`derive`] takes eight blocks.
pub(crate) fn hash(suite: Suite, key: &Key, label: &str, context: &[u8]) -> Key {
    debug_assert!(!label.contains('\0'), "what follows the label must not seem to be part of it");
    let mut next = Key::default();
    let mut output = match suite.hashing() {
        Hashing::Sha2 => {
            let mut digest = Sha256::new();
            for part in [label.as_bytes(), &[0], key.as_bytes(), context] {
                digest.update(part);
            }
            digest.finalize()
        }
        Hashing::Ascon => {
            let digest = ascon_keyed(b"hash", key.as_bytes()).chain_update(label);
            match context {
                [] => digest.finalize(),
                _ => digest.chain_update([0]).chain_update(context).finalize(),
            }
        }
    };
    next.as_bytes_mut().copy_from_slice(&output[..Key::BYTES]);
    output.zeroize();
    next
}

/// Returns a MAC of 16 bytes: HMAC-SHA-256 (RFC 2104), truncated, or Ascon-Hash256 over key and
/// message. A sponge permits the latter, because its output does not reveal its state.
pub(crate) fn mac(suite: Suite, key: &MacKey, message: &[u8]) -> [u8; 16] {
    let mut tag = [0; 16];
    match suite.hashing() {
        Hashing::Sha2 => {
            let mut hmac = key.hmac();
            hmac.update(message);
            tag.copy_from_slice(&hmac.finalize().into_bytes()[..16]);
        }
        Hashing::Ascon => {
            let mut digest = ascon_keyed(b"mac", key.as_bytes());
            digest.update(message);
            tag.copy_from_slice(&digest.finalize()[..16]);
        }
    }
    tag
}

fn ascon_keyed(purpose: &[u8], secret: &[u8]) -> AsconHash256 {
    let mut digest = AsconHash256::new();
    for part in [purpose, secret] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869 test case 3 has an empty salt and an empty info, but our info always has the
    /// separator. So this test compares with HKDF itself, with the separator written out.
    #[test]
    fn hkdf_is_used_as_written() {
        let secret = [0x0b; 22];
        let key = derive(Suite::Standard, &secret, "label", b"context");
        let mut expected = [0; 16];
        Hkdf::<Sha256>::new(Some(&[]), &secret).expand(b"label\0context", &mut expected).unwrap();
        assert_eq!(key.as_bytes(), &expected);
    }

    #[test]
    fn every_input_matters() {
        for suite in Suite::ALL {
            let base = derive(suite, b"secret", "label", b"context");
            assert_ne!(base, derive(suite, b"secrex", "label", b"context"));
            assert_ne!(base, derive(suite, b"secret", "labex", b"context"));
            assert_ne!(base, derive(suite, b"secret", "label", b"contexx"));
            assert_ne!(base, derive(suite, b"secret", "labelc", b"ontext"));
            let wide = |secret, label, context| {
                let mut bytes = [0; 192];
                wide(suite, secret, label, context, &mut bytes);
                bytes
            };
            let base = wide(b"secret", "label", b"context");
            assert_ne!(base, wide(b"secrex", "label", b"context"));
            assert_ne!(base, wide(b"secret", "labex", b"context"));
            assert_ne!(base, wide(b"secret", "label", b"contexx"));
            for (part, other) in [(0, 32), (0, 64), (32, 64), (64, 128)] {
                assert_ne!(base[part..][..32], base[other..][..32]);
            }
            let base = digest(suite, "label", &[b"one", b"other"]);
            assert_ne!(base, digest(suite, "labex", &[b"one", b"other"]));
            assert_ne!(base, digest(suite, "label", &[b"ane", b"other"]));
            assert_ne!(base, digest(suite, "label", &[b"one", b"othex"]));
            let key = Key::from_bytes([7; 16]);
            let base = hash(suite, &key, "label", b"context");
            assert_ne!(base, hash(suite, &Key::default(), "label", b"context"));
            assert_ne!(base, hash(suite, &key, "labex", b"context"));
            assert_ne!(base, hash(suite, &key, "label", b"contexx"));
            assert_ne!(base, hash(suite, &key, "labelc", b"ontext"));
            assert_ne!(hash(suite, &key, "label", b"\0"), hash(suite, &key, "label", b""));
            let [one, other] = [1, 2].map(|byte| MacKey::from_bytes([byte; 32]));
            assert_ne!(mac(suite, &one, b"m"), mac(suite, &other, b"m"));
            assert_ne!(mac(suite, &one, b"m"), mac(suite, &one, b"n"));
        }
    }
}
