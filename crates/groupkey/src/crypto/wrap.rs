//! Key wrapping: one or several keys under a key-encryption key.

#[cfg(feature = "research")]
mod cbc;
mod key_wrap;

use alloc::vec::Vec;
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::aead::TAG_BYTES;
use super::{GroupContext, Suite, Wrapping, derive};
use crate::secret::Key;

/// What wrapped keys are for. They open with the same binding only, except under CBC, which has no
/// integrity.
///
/// - RFC 3394 has no place for it. So the key that wraps is a hash of the key-encryption key and the
///   binding.
/// - With Ascon, the tag covers the group's context, and epoch and label are its nonce.
///
/// Both are deterministic and have no nonce to lose: two sets of keys under one key-encryption key and
/// one binding show whether they are equal, and nothing else. A copy of a controller makes such sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding<'a> {
    pub(crate) group: &'a GroupContext,
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
            _ => 16,
        }
}

/// Returns whether a wrap opens with its binding only.
pub(crate) const fn is_bound(suite: Suite) -> bool {
    matches!(suite.wrapping(), Wrapping::AesKeyWrap | Wrapping::Ascon)
}

/// Appends the wrapped keys to `out`.
///
/// # Panics
///
/// With more than [`MAX_KEYS`] keys, or none.
// CBC alone draws at random.
#[cfg_attr(not(feature = "research"), allow(unused_variables))]
pub(crate) fn wrap<'k>(
    suite: Suite,
    kek: &Key,
    binding: Binding<'_>,
    keys: impl ExactSizeIterator<Item = &'k Key>,
    rng: &mut dyn CryptoRng,
    out: &mut Vec<u8>,
) {
    let length = keys.len() * Key::BYTES;
    assert!((1..=MAX_KEYS).contains(&keys.len()), "a wrap takes 1 to {MAX_KEYS} keys");
    let start = out.len();
    match suite.wrapping() {
        Wrapping::AesKeyWrap => {
            // A buffer that grew while it has keys would leave them behind.
            out.reserve(key_wrap::REGISTER + length);
            out.extend_from_slice(&[0; key_wrap::REGISTER]);
            keys.for_each(|key| out.extend_from_slice(key.as_bytes()));
            key_wrap::wrap(&binding.one_time_key(suite, kek), &mut out[start..]);
        }
        Wrapping::Ascon => {
            out.reserve(length + TAG_BYTES);
            keys.for_each(|key| out.extend_from_slice(key.as_bytes()));
            let (cipher, plain) = (AsconAead128::new(kek.as_bytes().into()), &mut out[start..]);
            let tag = binding.tag(&cipher, plain);
            mask(&cipher, &tag, plain);
            out.extend_from_slice(&tag);
        }
        #[cfg(feature = "research")]
        Wrapping::AesCbc => cbc::encrypt(rng, kek, keys, out),
    }
}

/// Unwraps as many keys as `keys` has places for. Returns `None` if the integrity check fails (CBC
/// has none) or the length is wrong. `keys` is then unchanged.
pub(crate) fn unwrap(
    suite: Suite,
    kek: &Key,
    binding: Binding<'_>,
    wrapped: &[u8],
    keys: &mut [Key],
) -> Option<()> {
    let length = keys.len() * Key::BYTES;
    if wrapped.len() != wrapped_length(suite, keys.len()) || !(1..=MAX_KEYS).contains(&keys.len()) {
        return None;
    }
    let mut opened = None;
    with_zeros(length, &mut |plain| {
        opened = open(suite, kek, binding, wrapped, plain);
        if opened.is_some() {
            for (key, chunk) in keys.iter_mut().zip(plain.chunks_exact(Key::BYTES)) {
                key.as_bytes_mut().copy_from_slice(chunk);
            }
        }
    });
    opened
}

impl Binding<'_> {
    fn one_time_key(&self, suite: Suite, kek: &Key) -> Key {
        derive::hash(suite, self.group, kek, "groupkey wrap", &self.number())
    }

    /// Returns a tag that depends on every bit of the keys and of the binding: the synthetic IV of
    /// Rogaway and Shrimpton 2006, section 4. Ascon encrypts context and keys for it. That ciphertext
    /// must not leave, because its nonce may come again.
    fn tag(&self, cipher: &AsconAead128, keys: &[u8]) -> [u8; TAG_BYTES] {
        let mut tag = None;
        with_zeros(GroupContext::BYTES + keys.len(), &mut |covered| {
            let (group, rest) = covered.split_at_mut(GroupContext::BYTES);
            group.copy_from_slice(self.group.as_bytes());
            rest.copy_from_slice(keys);
            tag = cipher.encrypt_inout_detached(&self.number().into(), &[], covered.into()).ok();
        });
        // A message of this length is far below the cipher's limit.
        tag.map_or_else(Default::default, Into::into)
    }

    /// Returns epoch and label in 16 bytes.
    fn number(&self) -> [u8; 16] {
        let mut number = [0; 16];
        number[..8].copy_from_slice(&self.epoch.to_be_bytes());
        number[8..].copy_from_slice(&self.label.to_be_bytes());
        number
    }
}

/// Decrypts the wrapped keys. Returns `None` if the integrity check fails; `plain` is then worthless.
fn open(
    suite: Suite,
    kek: &Key,
    binding: Binding<'_>,
    wrapped: &[u8],
    plain: &mut [u8],
) -> Option<()> {
    match suite.wrapping() {
        Wrapping::AesKeyWrap => {
            let (first, rest) = wrapped.split_first_chunk()?;
            plain.copy_from_slice(rest);
            key_wrap::unwrap(&binding.one_time_key(suite, kek), *first, plain)
        }
        Wrapping::Ascon => {
            let (masked, tag) = wrapped.split_at(plain.len());
            let cipher = AsconAead128::new(kek.as_bytes().into());
            plain.copy_from_slice(masked);
            mask(&cipher, tag.try_into().ok()?, plain);
            bool::from(binding.tag(&cipher, plain).ct_eq(tag)).then_some(())
        }
        #[cfg(feature = "research")]
        Wrapping::AesCbc => cbc::decrypt(kek, wrapped, plain),
    }
}

/// Adds the key stream that belongs to a tag to keys, or takes it off again. The stream is a ciphertext
/// of zeros with the tag as nonce. That a tag equals the nonce of another tag is as likely as to guess a
/// key.
fn mask(cipher: &AsconAead128, tag: &[u8; TAG_BYTES], keys: &mut [u8]) {
    with_zeros(keys.len(), &mut |stream| {
        let _ = cipher.encrypt_inout_detached(tag.into(), &[], (&mut *stream).into());
        keys.iter_mut().zip(&*stream).for_each(|(key, stream)| *key ^= stream);
    });
}

/// Lends so many zeros, and wipes them. Mostly one key or two are wrapped, and a small processor takes
/// a thousand instructions to zero the room for as many as there may be.
fn with_zeros(length: usize, work: &mut dyn FnMut(&mut [u8])) {
    let few = &mut [0; GroupContext::BYTES + 2 * Key::BYTES][..];
    let (mut many, zeros);
    if length <= few.len() {
        zeros = &mut few[..length];
    } else {
        many = [0; GroupContext::BYTES + MAX_KEYS * Key::BYTES];
        zeros = &mut many[..length];
    }
    work(zeros);
    zeros.zeroize();
}

#[cfg(test)]
mod tests {
    use aes_kw::AesKw;

    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn group(name: &[u8]) -> GroupContext {
        GroupContext::of(&[name])
    }

    fn binding(group: &GroupContext) -> Binding<'_> {
        Binding { group, epoch: 3, label: 5 }
    }

    fn wrapped(suite: Suite, keys: &[Key]) -> Vec<u8> {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut out = Vec::new();
        let group = group(b"ours");
        wrap(suite, &Key::from_bytes([9; 16]), binding(&group), keys.iter(), &mut rng, &mut out);
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
                let (group, kek) = (group(b"ours"), Key::from_bytes([9; 16]));
                unwrap(suite, &kek, binding(&group), &bytes, &mut opened).unwrap();
                assert_eq!(opened, keys(count));
            }
        }
    }

    #[test]
    fn a_changed_byte_a_wrong_key_or_another_binding_is_refused() {
        let (group, other_group) = (group(b"ours"), group(b"another"));
        let binding = binding(&group);
        for suite in [Suite::Standard, Suite::Constrained] {
            let bytes = wrapped(suite, &keys(2));
            let mut opened = alloc::vec![Key::default(); 2];
            for index in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[index] ^= 1;
                let kek = Key::from_bytes([9; 16]);
                assert!(unwrap(suite, &kek, binding, &changed, &mut opened).is_none());
            }
            let wrong = Key::from_bytes([8; 16]);
            assert!(unwrap(suite, &wrong, binding, &bytes, &mut opened).is_none());
            for elsewhere in [
                Binding { group: &other_group, ..binding },
                Binding { epoch: 4, ..binding },
                Binding { label: 6, ..binding },
            ] {
                let kek = Key::from_bytes([9; 16]);
                assert!(unwrap(suite, &kek, elsewhere, &bytes, &mut opened).is_none());
            }
            assert_eq!(opened, alloc::vec![Key::default(); 2]);
        }
    }

    /// Two copies of a controller wrap two sets of keys under one key and one binding.
    #[test]
    fn two_sets_of_keys_under_one_binding_do_not_show_their_difference() {
        for suite in [Suite::Standard, Suite::Constrained] {
            let mut other = keys(2);
            other[1].as_bytes_mut()[0] ^= 1;
            let (one, other) = (wrapped(suite, &keys(2)), wrapped(suite, &other));
            for offset in 0..2 * Key::BYTES - 8 {
                let there = offset..offset + 8;
                assert!(one.get(there.clone()) != other.get(there), "{}", suite.name());
            }
        }
    }

    /// Under a hash of the key-encryption key and the binding, the keys are wrapped as in RFC 3394.
    #[test]
    fn keys_are_wrapped_under_a_key_of_their_own() {
        let (group, data) = (group(b"ours"), Key::from_bytes([4; 16]));
        let once = group.sha256(&[b"groupkey wrap\0", &[9; 16], &[0; 7], &[3], &[0; 7], &[5]]);
        let mut expected = [0; 24];
        AesKw::<aes::Aes128>::new_from_slice(&once[..16])
            .unwrap()
            .wrap_key(data.as_bytes(), &mut expected)
            .unwrap();
        assert_eq!(wrapped(Suite::Standard, &[data]), expected);
    }
}
