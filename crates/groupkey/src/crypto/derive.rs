//! Key derivation, one-way chains and MACs.

use ascon_hash256::{AsconHash256, Digest};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha512};
use zeroize::Zeroize;

use super::Suite;
use crate::secret::Key;

/// A key from secret input: HKDF-SHA-256 (RFC 5869) with an empty salt, or Ascon-Hash256 over the
/// length-prefixed inputs. `label` says what for, `context` binds it to group, epoch and so on.
pub(crate) fn derive(suite: Suite, secret: &[u8], label: &str, context: &[u8]) -> Key {
    let mut key = Key::default();
    match suite {
        Suite::Standard | Suite::Published => {
            let hkdf = Hkdf::<Sha256>::new(None, secret);
            // 16 bytes are far below HKDF's limit of 255 blocks.
            let _ = hkdf.expand_multi_info(&[label.as_bytes(), &[0], context], key.as_bytes_mut());
        }
        Suite::Constrained => {
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

/// 64 bytes that follow from secret input, from which an exponent without bias is made: SHA-512 over
/// `label`, a zero byte, `context` and the secret, or twice Ascon-Hash256, each half numbered.
pub(crate) fn wide(suite: Suite, secret: &[u8], label: &str, context: &[u8]) -> [u8; 64] {
    let mut wide = [0; 64];
    match suite {
        Suite::Standard | Suite::Published => {
            let digest = Sha512::new().chain_update(label).chain_update([0]);
            let mut output = digest.chain_update(context).chain_update(secret).finalize();
            wide.copy_from_slice(&output);
            output.zeroize();
        }
        Suite::Constrained => {
            for (number, half) in (0..).zip(wide.chunks_exact_mut(32)) {
                let mut digest = ascon_keyed(b"wide", secret);
                digest.update([number]);
                digest.update((label.len() as u64).to_be_bytes());
                digest.update(label.as_bytes());
                digest.update(context);
                let mut output = digest.finalize();
                half.copy_from_slice(&output);
                output.zeroize();
            }
        }
    }
    wide
}

/// The hash of public data: SHA-256 or Ascon-Hash256 over `label`, a zero byte and the parts.
pub(crate) fn digest(suite: Suite, label: &str, parts: &[&[u8]]) -> [u8; 32] {
    match suite {
        Suite::Standard | Suite::Published => {
            let digest = Sha256::new().chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
        Suite::Constrained => {
            let digest = AsconHash256::new().chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
    }
}

/// One step of a one-way chain: SHA-256 over `label`, a zero byte and the key, truncated to 16 bytes,
/// or Ascon-Hash256 over both. A chain may be long, so with a label of up to 38 bytes this is a single
/// block of SHA-256.
pub(crate) fn hash(suite: Suite, key: &Key, label: &str) -> Key {
    let mut next = Key::default();
    let mut output = match suite {
        Suite::Standard | Suite::Published => {
            let digest = Sha256::new().chain_update(label).chain_update([0]);
            digest.chain_update(key.as_bytes()).finalize()
        }
        Suite::Constrained => ascon_keyed(b"hash", key.as_bytes()).chain_update(label).finalize(),
    };
    next.as_bytes_mut().copy_from_slice(&output[..Key::BYTES]);
    output.zeroize();
    next
}

/// A MAC of 16 bytes: HMAC-SHA-256 (RFC 2104), truncated, or Ascon-Hash256 over key and message,
/// which a sponge permits because its output does not reveal its state.
pub(crate) fn mac(suite: Suite, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let mut tag = [0; 16];
    match suite {
        Suite::Standard | Suite::Published => {
            if let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(key) {
                hmac.update(message);
                tag.copy_from_slice(&hmac.finalize().into_bytes()[..16]);
            }
        }
        Suite::Constrained => {
            let mut digest = ascon_keyed(b"mac", key);
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

    /// RFC 5869 test case 3 has an empty salt and an empty info; ours always has the separator, so
    /// the vector is checked against HKDF itself and the separator against a second computation.
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
            let base = wide(suite, b"secret", "label", b"context");
            assert_ne!(base, wide(suite, b"secrex", "label", b"context"));
            assert_ne!(base, wide(suite, b"secret", "labex", b"context"));
            assert_ne!(base, wide(suite, b"secret", "label", b"contexx"));
            assert_ne!(base[..32], base[32..]);
            let base = digest(suite, "label", &[b"one", b"other"]);
            assert_ne!(base, digest(suite, "labex", &[b"one", b"other"]));
            assert_ne!(base, digest(suite, "label", &[b"ane", b"other"]));
            assert_ne!(base, digest(suite, "label", &[b"one", b"othex"]));
            let key = Key::from_bytes([7; 16]);
            assert_ne!(hash(suite, &key, "label"), hash(suite, &key, "labex"));
            assert_ne!(hash(suite, &key, "label"), hash(suite, &Key::default(), "label"));
            assert_ne!(mac(suite, &[1; 32], b"m"), mac(suite, &[2; 32], b"m"));
            assert_ne!(mac(suite, &[1; 32], b"m"), mac(suite, &[1; 32], b"n"));
        }
    }
}
