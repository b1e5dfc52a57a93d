//! Identities: keys of Ed25519 (RFC 8032).

use core::fmt;

use ed25519_dalek::ed25519::signature::{MultipartSigner, MultipartVerifier};
use ed25519_dalek::{SigningKey, VerifyingKey};

/// A party's signing key.
pub struct Identity(SigningKey);

/// A party's verifying key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicIdentity(VerifyingKey);

impl Identity {
    /// Creates the identity of a secret of 32 random bytes.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// Returns the public part.
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity(self.0.verifying_key())
    }

    /// Signs these parts, one after the other.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
        self.0.multipart_sign(parts).to_bytes()
    }
}

impl PublicIdentity {
    /// Reads a public key. Returns `None` if the bytes are not a point, or a point of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// Returns the 32 bytes of RFC 8032 section 5.1.5.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Returns whether this party signed these parts, one after the other.
    pub(crate) fn verifies(&self, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        // The library's strict check does not take parts. So check here that the signature's point
        // is not of small order either.
        let point = signature.first_chunk().and_then(Self::from_bytes);
        point.is_some() && self.0.multipart_verify(parts, &signature.into()).is_ok()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points of order 1, 2 and 4. Such a key verifies signatures that nobody made.
    #[test]
    fn points_of_small_order_are_no_keys() {
        let (mut first, mut second) = ([0; 32], [0xff; 32]);
        first[0] = 1;
        (second[0], second[31]) = (0xec, 0x7f);
        for weak in [first, second, [0; 32]] {
            assert!(VerifyingKey::from_bytes(&weak).is_ok());
            assert_eq!(PublicIdentity::from_bytes(&weak), None);
        }
    }

    /// The signature's point is the neutral element, and the equation of RFC 8032 holds.
    #[test]
    #[cfg(feature = "distributed")]
    fn a_signature_with_a_point_of_small_order_is_refused() {
        use curve25519_dalek::Scalar;
        use sha2::{Digest, Sha512};

        let identity = Identity::from_secret(&[7; 32]);
        let public = identity.public();
        let mut signature = [0; 64];
        signature[0] = 1;
        let challenge = Sha512::new()
            .chain_update(&signature[..32])
            .chain_update(public.to_bytes())
            .chain_update(b"said")
            .finalize();
        let challenge = Scalar::from_bytes_mod_order_wide(&challenge.into());
        let response = challenge * identity.0.to_scalar();
        signature[32..].copy_from_slice(response.as_bytes());
        assert!(public.0.multipart_verify(&[b"said"], &signature.into()).is_ok());
        assert!(!public.verifies(&[b"said"], &signature));
    }
}
