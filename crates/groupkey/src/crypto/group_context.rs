//! The hash of everything that the parties of a group must agree on. It goes into every signature,
//! MAC, derivation, wrap and message, so that nothing from another group, or from an earlier
//! founding of the same group, counts. MLS calls it the group context (RFC 9420 section 8.1).

use sha2::Digest;
use zeroize::Zeroize;

use super::hardware::{INITIAL, Sha256, compress256};

/// A group context: 32 bytes, and the state of SHA-256 after a block with them. The state saves
/// that block in every one of a controller's thousands of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupContext {
    hash: [u8; Self::BYTES],
    state: [u32; 8],
}

impl GroupContext {
    /// The length of a context.
    pub const BYTES: usize = 32;

    /// Returns the context of these values: SHA-256 over each value, preceded by its length.
    pub fn of(values: &[&[u8]]) -> Self {
        let hash = values.iter().fold(Sha256::new(), |digest, value| {
            digest.chain_update((value.len() as u64).to_be_bytes()).chain_update(value)
        });
        let hash = hash.finalize().into();
        let mut state = INITIAL;
        compress256(&mut state, &[padded(&hash)]);
        Self { hash, state }
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.hash
    }

    /// Returns SHA-256 over the context, padded with zeros to a block of 64 bytes, and the parts.
    /// Parts of up to 55 bytes together take one more block.
    pub(crate) fn sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > LAST_BLOCK {
            let digest = Sha256::new().chain_update(padded(&self.hash));
            return parts.iter().fold(digest, Digest::chain_update).finalize().into();
        }
        let mut block = [0; BLOCK];
        let mut rest = &mut block[..];
        for part in parts {
            let (place, others) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = others;
        }
        block[length] = 0x80;
        let bits = 8 * (BLOCK + length) as u64;
        block[BLOCK - 8..].copy_from_slice(&bits.to_be_bytes());
        let mut state = self.state;
        compress256(&mut state, &[block]);
        let mut hash = [0; 32];
        for (bytes, word) in hash.chunks_exact_mut(4).zip(&state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        block.zeroize();
        state.zeroize();
        hash
    }
}

impl Default for GroupContext {
    /// Returns the context of no group.
    fn default() -> Self {
        Self::of(&[])
    }
}

/// The bytes that SHA-256 hashes at a time.
const BLOCK: usize = 64;

/// How many bytes fit the last block beside the padding.
const LAST_BLOCK: usize = BLOCK - 9;

fn padded(hash: &[u8; 32]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..32].copy_from_slice(hash);
    block
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn the_saved_state_gives_the_same_hash_as_the_whole_input() {
        let context = GroupContext::of(&[b"a", b"group"]);
        for length in 0..130 {
            let content = vec![7; length];
            let (one, other) = content.split_at(length / 3);
            let whole = Sha256::new().chain_update(padded(context.as_bytes()));
            let whole: [u8; 32] = whole.chain_update(&content).finalize().into();
            assert_eq!(context.sha256(&[one, other]), whole, "{length} bytes");
        }
    }

    #[test]
    fn values_do_not_run_into_each_other() {
        let contexts = [&[&b"ab"[..], b"c"][..], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[]];
        for (place, values) in contexts.iter().enumerate() {
            for others in &contexts[place + 1..] {
                assert_ne!(GroupContext::of(values), GroupContext::of(others));
            }
        }
    }
}
