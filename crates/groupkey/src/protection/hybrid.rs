//! The half of a hybrid identity that a quantum computer does not break: ML-DSA-65 (FIPS 204). With
//! Ed25519 it is the composite `id-MLDSA65-Ed25519-SHA512` of draft-ietf-lamps-pq-composite-sigs:
//!
//! ```text
//! representative = prefix || label || 0 || SHA-512(message)
//! signature      = ML-DSA-65.Sign(representative, ctx = label) || Ed25519.Sign(representative)
//! public key     = that of ML-DSA-65 (1,952 bytes) || that of Ed25519 (32 bytes)
//! ```
//!
//! The zero is the length of the application's context: what a signature is for is in the message. Both
//! signatures cover label and representative, and the message has neither form. So one of the two
//! halves alone is no signature of anything else.
//!
//! What computes with matrices is kept out of its callers, which would otherwise reserve its stack when
//! they sign with Ed25519, too.
//!
//! Signatures are deterministic (FIPS 204 section 3.4, `rnd` of zeros): a copy of a running device has
//! no randomness to repeat, and this library draws none outside of a step.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ml_dsa::{
    EncodedVerifyingKey, KeyExport, Keypair, MlDsa65, Signature, SigningKey, VerifyingKey,
};
use sha2::{Digest, Sha512};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The seed of a signing key of ML-DSA-65. The key itself, of 100 KiB with what follows from it, is made
/// for each signature: a controller's process may hold the identities of thousands of parties, and a
/// device has no room for it.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct LatticeSecret([u8; 32]);

/// A public key of ML-DSA-65, as it is encoded. Its matrix, 30 KiB, is made for each check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LatticePublic(Box<[u8]>);

/// The seeds of both halves of the identity of a secret: a hash of it, cut in two.
pub(super) fn seeds(secret: &[u8; 32]) -> (LatticeSecret, Zeroizing<[u8; 32]>) {
    let digest = Sha512::new().chain_update(b"groupkey hybrid identity\0").chain_update(secret);
    let mut both = digest.finalize();
    let (mut lattice, mut curve) = (LatticeSecret([0; 32]), Zeroizing::new([0; 32]));
    lattice.0.copy_from_slice(&both[..32]);
    curve.copy_from_slice(&both[32..]);
    both.zeroize();
    (lattice, curve)
}

/// Returns what both halves sign for these parts, one after the other.
pub(super) fn representative(parts: &[&[u8]]) -> Vec<u8> {
    let hash = parts.iter().fold(Sha512::new(), Digest::chain_update).finalize();
    [PREFIX, LABEL, &[0], &hash].concat()
}

impl LatticeSecret {
    #[inline(never)]
    pub(super) fn public(&self) -> LatticePublic {
        LatticePublic(self.key().verifying_key().to_bytes().as_slice().into())
    }

    /// Signs a [`representative`]: 3,309 bytes.
    #[inline(never)]
    pub(super) fn sign(&self, representative: &[u8]) -> impl AsRef<[u8]> + use<> {
        let key = self.key();
        let signature = key.expanded_key().sign_deterministic(representative, LABEL);
        signature.expect("the label is short, and one key in 2^128 or fewer signs nothing").encode()
    }

    fn key(&self) -> SigningKey<MlDsa65> {
        SigningKey::from_seed(&self.0.into())
    }
}

impl LatticePublic {
    /// The length of a public key.
    pub(super) const BYTES: usize = 1_952;

    /// Returns `None` for another length. Every string of this length is a public key.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == Self::BYTES).then(|| Self(bytes.into()))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline(never)]
    pub(super) fn verifies(&self, representative: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = Signature::<MlDsa65>::try_from(signature) else { return false };
        let Ok(key) = EncodedVerifyingKey::<MlDsa65>::try_from(self.as_bytes()) else {
            return false;
        };
        VerifyingKey::decode(&key).verify_with_context(representative, LABEL, &signature)
    }
}

/// Sections 2.2 and 6 of the draft.
const PREFIX: &[u8] = b"CompositeAlgorithmSignatures2025";
const LABEL: &[u8] = b"COMPSIG-MLDSA65-Ed25519-SHA512";

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|digits| (digits[0] << 4 | digits[1]) as u8).collect()
    }

    /// The draft's example for ML-DSA-65 with P-256 and SHA-512. Only the label differs.
    #[test]
    fn the_representative_is_that_of_the_draft() {
        let prefix = "436f6d706f73697465416c676f726974686d5369676e61747572657332303235";
        let hash = "0f89ee1fcb7b0a4f7809d1267a029719004c5a5e5ec323a7c3523a20974f9a3f\
                    202f56fadba4cd9e8d654ab9f2e96dc5c795ea176fa20ede8d854c342f903533";
        let expected = [&bytes(prefix)[..], LABEL, &[0], &bytes(hash)].concat();
        assert_eq!(representative(&[&[0, 1, 2, 3], &[4, 5, 6, 7, 8, 9]]), expected);
    }

    #[test]
    fn a_signature_is_for_one_key_and_one_representative() {
        let [(ours, _), (other, _)] = [[1; 32], [2; 32]].map(|secret| seeds(&secret));
        let said = representative(&[b"said"]);
        let signature = ours.sign(&said);
        let signature = signature.as_ref();
        assert_eq!(
            (signature.len(), ours.public().as_bytes().len()),
            (3_309, LatticePublic::BYTES)
        );
        assert_eq!(ours.sign(&said).as_ref(), signature, "it is deterministic");
        let public = ours.public();
        assert!(public.verifies(&said, signature));
        assert!(!other.public().verifies(&said, signature));
        assert!(!public.verifies(&representative(&[b"sais"]), signature));
        assert!(!public.verifies(&said, &signature[1..]));
        assert!(!public.verifies(&said, &[]));
        for place in (0..signature.len()).step_by(97) {
            let mut changed = signature.to_vec();
            changed[place] ^= 1;
            assert!(!public.verifies(&said, &changed), "{place}");
        }
        assert_eq!(LatticePublic::from_bytes(public.as_bytes()), Some(public.clone()));
        assert_eq!(LatticePublic::from_bytes(&public.as_bytes()[1..]), None);
    }
}
