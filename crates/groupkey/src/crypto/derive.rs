//! Key derivation, one-way chains and MACs. Everything covers the context of the group.

use ascon_hash256::{AsconHash256, Digest};
use hkdf::Hkdf;
use hmac::Mac;
use sha2::Sha512;
use zeroize::Zeroize;

use crate::crypto::group_context::GroupContext;
use crate::crypto::hardware::Sha256;
use crate::crypto::suite::{Hashing, Suite};
use crate::protection::MacKey;
use crate::secret::Key;

/// Derives a key from secret input: HKDF-SHA-256 (RFC 5869) with the group's context as salt, or
/// Ascon-Hash256 over the length-prefixed inputs. `label` states the purpose. `context` binds the
/// key to the epoch and so on.
pub(crate) fn derive(
    suite: Suite,
    group: &GroupContext,
    secret: &[u8],
    label: &str,
    context: &[u8],
) -> Key {
    let mut key = Key::default();
    match suite.hashing() {
        Hashing::Sha2 => {
            let hkdf = Hkdf::<Sha256>::new(Some(group.as_bytes()), secret);
            // 16 bytes are far below HKDF's limit of 255 blocks.
            let _ = hkdf.expand_multi_info(&[label.as_bytes(), &[0], context], key.as_bytes_mut());
        }
        Hashing::Ascon => {
            let mut digest = ascon_keyed(b"derive", group, secret);
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

/// Fills `output`, of 8,160 bytes at most, with bytes derived from a key: HKDF-SHA-256 with the group's
/// context as salt, or blocks of Ascon-Hash256. `info` states everything that the bytes depend on.
pub(crate) fn export(
    suite: Suite,
    group: &GroupContext,
    key: &Key,
    info: &[&[u8]],
    output: &mut [u8],
) {
    const PURPOSE: &[u8] = b"groupkey export\0";
    match suite.hashing() {
        Hashing::Sha2 => {
            let hkdf = Hkdf::<Sha256>::new(Some(group.as_bytes()), key.as_bytes());
            let info: alloc::vec::Vec<_> = [&[PURPOSE], info].concat();
            let _ = hkdf.expand_multi_info(&info, output);
        }
        Hashing::Ascon => {
            for (number, part) in (0u16..).zip(output.chunks_mut(32)) {
                let mut digest = ascon_keyed(b"export", group, key.as_bytes());
                digest.update(number.to_be_bytes());
                info.iter().for_each(|part| digest.update(part));
                let mut block = digest.finalize();
                part.copy_from_slice(&block[..part.len()]);
                block.zeroize();
            }
        }
    }
}

/// Fills `wide` with bytes derived from secret input. An exponent made from them has no bias. Each
/// output of the hash covers its own number: SHA-512 over the group's context, the number, `label`,
/// a zero byte, `context` and the secret, or Ascon-Hash256 over the same.
pub(crate) fn wide(
    suite: Suite,
    group: &GroupContext,
    secret: &[u8],
    label: &str,
    context: &[u8],
    wide: &mut [u8],
) {
    match suite.hashing() {
        Hashing::Sha2 => {
            for (number, part) in (0u8..).zip(wide.chunks_mut(64)) {
                let digest = Sha512::new().chain_update(group.as_bytes()).chain_update([number]);
                let digest = digest.chain_update(label).chain_update([0]).chain_update(context);
                let mut output = digest.chain_update(secret).finalize();
                part.copy_from_slice(&output[..part.len()]);
                output.zeroize();
            }
        }
        Hashing::Ascon => {
            for (number, part) in (0u8..).zip(wide.chunks_mut(32)) {
                let mut digest = ascon_keyed(b"wide", group, secret);
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

/// Returns the hash of public data: SHA-256 or Ascon-Hash256 over the group's context, `label`, a
/// zero byte and the parts.
pub(crate) fn digest(suite: Suite, group: &GroupContext, label: &str, parts: &[&[u8]]) -> [u8; 32] {
    match suite.hashing() {
        Hashing::Sha2 => {
            let digest = Sha256::new().chain_update(group.as_bytes());
            let digest = digest.chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
        Hashing::Ascon => {
            let digest = AsconHash256::new().chain_update(group.as_bytes());
            let digest = digest.chain_update(label).chain_update([0]);
            parts.iter().fold(digest, Digest::chain_update).finalize().into()
        }
    }
}

/// Returns the first 16 bytes of SHA-256 or Ascon-Hash256 over the parts: public data of no group.
pub(crate) fn short_digest(suite: Suite, parts: &[&[u8]]) -> [u8; 16] {
    let hash: [u8; 32] = match suite.hashing() {
        Hashing::Sha2 => parts.iter().fold(Sha256::new(), Digest::chain_update).finalize().into(),
        Hashing::Ascon => {
            parts.iter().fold(AsconHash256::new(), Digest::chain_update).finalize().into()
        }
    };
    *hash.first_chunk().expect("it is longer")
}

/// Returns a key that follows from a uniform key: SHA-256 over the group's context, padded to a
/// block, `label`, a zero byte, the key and `context`, truncated to 16 bytes, or Ascon-Hash256 over
/// the same. A uniform key needs no extraction. A truncated output cannot be extended. With `label`
/// and `context` of up to 38 bytes together this takes one block of SHA-256, because the state after
/// the context is known. [`derive`] takes eight blocks.
pub(crate) fn hash(
    suite: Suite,
    group: &GroupContext,
    key: &Key,
    label: &str,
    context: &[u8],
) -> Key {
    debug_assert!(!label.contains('\0'), "what follows the label must not seem to be part of it");
    let mut next = Key::default();
    let mut output = match suite.hashing() {
        Hashing::Sha2 => group.sha256(&[label.as_bytes(), &[0], key.as_bytes(), context]),
        Hashing::Ascon => {
            let digest = ascon_keyed(b"hash", group, key.as_bytes()).chain_update(label);
            match context {
                [] => digest.finalize().into(),
                _ => digest.chain_update([0]).chain_update(context).finalize().into(),
            }
        }
    };
    next.as_bytes_mut().copy_from_slice(&output[..Key::BYTES]);
    output.zeroize();
    next
}

/// Returns a MAC of 16 bytes over the group's context and the message: HMAC-SHA-256 (RFC 2104),
/// truncated, or Ascon-Hash256 over context, key and message. A sponge permits the latter, because
/// its output does not reveal its state.
pub(crate) fn mac(suite: Suite, group: &GroupContext, key: &MacKey, message: &[u8]) -> [u8; 16] {
    let mut tag = [0; 16];
    match suite.hashing() {
        Hashing::Sha2 => {
            let mut hmac = key.hmac();
            hmac.update(group.as_bytes());
            hmac.update(message);
            tag.copy_from_slice(&hmac.finalize().into_bytes()[..16]);
        }
        Hashing::Ascon => {
            let mut digest = ascon_keyed(b"mac", group, key.as_bytes());
            digest.update(message);
            tag.copy_from_slice(&digest.finalize()[..16]);
        }
    }
    tag
}

fn ascon_keyed(purpose: &[u8], group: &GroupContext, secret: &[u8]) -> AsconHash256 {
    // The context has one length, so it needs none before it.
    let mut digest = AsconHash256::new().chain_update(group.as_bytes());
    for part in [purpose, secret] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No test case of RFC 5869 has our separator in its info. So this test compares with HKDF
    /// itself, with the separator written out.
    #[test]
    fn hkdf_is_used_as_written() {
        let secret = [0x0b; 22];
        let key = derive(Suite::Standard, &GroupContext::default(), &secret, "label", b"context");
        let mut expected = [0; 16];
        Hkdf::<Sha256>::new(Some(GroupContext::default().as_bytes()), &secret)
            .expand(b"label\0context", &mut expected)
            .unwrap();
        assert_eq!(key.as_bytes(), &expected);
    }

    #[test]
    fn every_input_matters() {
        let group = &GroupContext::default();
        let other_group = &GroupContext::of(&[b"other"]);
        for suite in Suite::ALL {
            let base = derive(suite, group, b"secret", "label", b"context");
            assert_ne!(base, derive(suite, group, b"secrex", "label", b"context"));
            assert_ne!(base, derive(suite, group, b"secret", "labex", b"context"));
            assert_ne!(base, derive(suite, group, b"secret", "label", b"contexx"));
            assert_ne!(base, derive(suite, group, b"secret", "labelc", b"ontext"));
            assert_ne!(base, derive(suite, other_group, b"secret", "label", b"context"));
            let wide_of = |group, secret, label, context| {
                let mut bytes = [0; 192];
                wide(suite, group, secret, label, context, &mut bytes);
                bytes
            };
            let wide = |secret, label, context| wide_of(group, secret, label, context);
            let base = wide(b"secret", "label", b"context");
            assert_ne!(base, wide_of(other_group, b"secret", "label", b"context"));
            assert_ne!(base, wide(b"secrex", "label", b"context"));
            assert_ne!(base, wide(b"secret", "labex", b"context"));
            assert_ne!(base, wide(b"secret", "label", b"contexx"));
            for (part, other) in [(0, 32), (0, 64), (32, 64), (64, 128)] {
                assert_ne!(base[part..][..32], base[other..][..32]);
            }
            let base = digest(suite, group, "label", &[b"one", b"other"]);
            assert_ne!(base, digest(suite, group, "labex", &[b"one", b"other"]));
            assert_ne!(base, digest(suite, group, "label", &[b"ane", b"other"]));
            assert_ne!(base, digest(suite, group, "label", &[b"one", b"othex"]));
            assert_ne!(base, digest(suite, other_group, "label", &[b"one", b"other"]));
            let key = Key::from_bytes([7; 16]);
            let base = hash(suite, group, &key, "label", b"context");
            assert_ne!(base, hash(suite, other_group, &key, "label", b"context"));
            assert_ne!(base, hash(suite, group, &Key::default(), "label", b"context"));
            assert_ne!(base, hash(suite, group, &key, "labex", b"context"));
            assert_ne!(base, hash(suite, group, &key, "label", b"contexx"));
            assert_ne!(base, hash(suite, group, &key, "labelc", b"ontext"));
            assert_ne!(
                hash(suite, group, &key, "label", b"\0"),
                hash(suite, group, &key, "label", b"")
            );
            let [one, other] = [1, 2].map(|byte| MacKey::from_bytes([byte; 32]));
            assert_ne!(mac(suite, group, &one, b"m"), mac(suite, group, &other, b"m"));
            assert_ne!(mac(suite, group, &one, b"m"), mac(suite, group, &one, b"n"));
            assert_ne!(mac(suite, group, &one, b"m"), mac(suite, other_group, &one, b"m"));
        }
    }
}
