//! Identities: keys of Ed25519 (RFC 8032), in suite `pq` beside keys of ML-DSA-65 (FIPS 204).

#[cfg(feature = "suite-pq")]
#[path = "hybrid.rs"]
mod hybrid;
mod signing_key;

use core::fmt;

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::ed25519::signature::MultipartVerifier;

#[cfg(feature = "suite-pq")]
use self::hybrid::{LatticePublic, LatticeSecret};
use self::signing_key::SigningKey;
use super::encoded::{IdentityBytes, SignatureBytes};
use crate::crypto::{Signing, Suite};

/// A party's signing key, for one kind of signatures.
pub struct Identity {
    key: SigningKey,
    /// The other half of a hybrid.
    #[cfg(feature = "suite-pq")]
    lattice: Option<LatticeSecret>,
}

/// A party's verifying key, for one kind of signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicIdentity {
    key: VerifyingKey,
    /// The other half of a hybrid.
    #[cfg(feature = "suite-pq")]
    lattice: Option<LatticePublic>,
}

impl Identity {
    /// Creates the identity of a secret of 32 random bytes, for groups with this suite's kind of
    /// signatures. Identities of one secret for two kinds have nothing in common.
    pub fn for_suite(suite: Suite, secret: &[u8; 32]) -> Self {
        match suite.signing() {
            Signing::Ed25519 => Self::from_secret(secret),
            #[cfg(feature = "suite-pq")]
            Signing::Hybrid => {
                let (lattice, curve) = hybrid::seeds(secret);
                Self { lattice: Some(lattice), ..Self::from_secret(&curve) }
            }
        }
    }

    /// Creates the Ed25519 identity of a secret of 32 random bytes: that of every suite but `pq`.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self {
            key: SigningKey::from_bytes(secret),
            #[cfg(feature = "suite-pq")]
            lattice: None,
        }
    }

    /// Returns the public part.
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity {
            key: self.key.verifying_key(),
            #[cfg(feature = "suite-pq")]
            lattice: self.lattice.as_ref().map(LatticeSecret::public),
        }
    }

    /// Returns which signatures it makes.
    pub const fn signing(&self) -> Signing {
        #[cfg(feature = "suite-pq")]
        if self.lattice.is_some() {
            return Signing::Hybrid;
        }
        Signing::Ed25519
    }

    /// Does nothing: in a build without signatures it tells the compiler that nothing comes after it.
    pub(crate) const fn exists(&self) {}

    /// Signs these parts, one after the other.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> SignatureBytes {
        #[cfg(feature = "suite-pq")]
        if let Some(lattice) = &self.lattice {
            let representative = hybrid::representative(parts);
            let one = lattice.sign(&representative);
            let other = self.key.sign(&[&representative]);
            return SignatureBytes::hybrid([one.as_ref(), &other]);
        }
        SignatureBytes::ed25519(self.key.sign(parts))
    }
}

impl PublicIdentity {
    /// Reads a public key: 32 bytes of Ed25519, or in a build with suite `pq` 1,984. Returns `None` for
    /// another length, or if the bytes of Ed25519 are not a point, or a point of small order.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        #[cfg(feature = "suite-pq")]
        if let Some((lattice, curve)) = bytes.split_at_checked(LatticePublic::BYTES) {
            let lattice = LatticePublic::from_bytes(lattice);
            return Some(Self { lattice, ..Self::ed25519(curve)? });
        }
        Self::ed25519(bytes)
    }

    fn ed25519(bytes: &[u8]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok();
        Some(Self {
            key: key.filter(|key| !key.is_weak())?,
            #[cfg(feature = "suite-pq")]
            lattice: None,
        })
    }

    /// Returns the 32 bytes of RFC 8032 section 5.1.5, in a hybrid behind those of FIPS 204.
    pub fn to_bytes(&self) -> IdentityBytes {
        let curve = self.key.to_bytes();
        #[cfg(feature = "suite-pq")]
        if let Some(lattice) = &self.lattice {
            return IdentityBytes::hybrid([lattice.as_bytes(), &curve]);
        }
        IdentityBytes::ed25519(curve)
    }

    /// Returns the 32 bytes of RFC 8032 section 5.1.5, for protocols that know no others. `None` for a
    /// hybrid: half of it is no key.
    pub fn to_ed25519_bytes(&self) -> Option<[u8; 32]> {
        matches!(self.signing(), Signing::Ed25519).then(|| self.key.to_bytes())
    }

    /// Returns which signatures it checks.
    pub const fn signing(&self) -> Signing {
        #[cfg(feature = "suite-pq")]
        if self.lattice.is_some() {
            return Signing::Hybrid;
        }
        Signing::Ed25519
    }

    /// Returns whether this party signed these parts, one after the other.
    pub(crate) fn verifies(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        #[cfg(feature = "suite-pq")]
        if let Some(lattice) = &self.lattice {
            let Some((rest, curve)) = signature.split_last_chunk::<64>() else { return false };
            let representative = hybrid::representative(parts);
            // The cheaper one first. Both must hold.
            return self.verifies_ed25519(&[&representative], curve)
                && lattice.verifies(&representative, rest);
        }
        signature.try_into().is_ok_and(|signature| self.verifies_ed25519(parts, signature))
    }

    fn verifies_ed25519(&self, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        // The library's strict check does not take parts. So check here that the signature's point
        // is not of small order either.
        let point = signature.first_chunk::<32>().and_then(|point| Self::ed25519(point));
        point.is_some() && self.key.multipart_verify(parts, &signature.into()).is_ok()
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

    #[test]
    #[cfg(feature = "suite-pq")]
    fn both_halves_of_a_hybrid_must_hold() {
        let [ours, other] =
            [[7; 32], [8; 32]].map(|secret| Identity::for_suite(Suite::Pq, &secret));
        let (signature, others) = (ours.sign(&[b"sa", b"id"]), other.sign(&[b"sa", b"id"]));
        let (signature, others) = (signature.as_ref(), others.as_ref());
        assert_eq!(signature.len(), Signing::Hybrid.signature_bytes());
        let public = ours.public();
        assert!(public.verifies(&[b"said"], signature));
        assert!(!public.verifies(&[b"says"], signature));
        let rest = LatticePublic::BYTES;
        let halves = signature.split_at(signature.len() - 64);
        let of_other = others.split_at(others.len() - 64);
        for mixed in [[halves.0, of_other.1], [of_other.0, halves.1], [&[], halves.1]] {
            assert!(!public.verifies(&[b"said"], &mixed.concat()));
        }
        // Half a key is another one, and signs nothing of this one's.
        let encoded = public.to_bytes();
        assert_eq!(encoded.as_ref().len(), Signing::Hybrid.public_bytes());
        assert_eq!(PublicIdentity::from_bytes(encoded.as_ref()), Some(public.clone()));
        assert_eq!(PublicIdentity::from_bytes(&encoded.as_ref()[1..]), None);
        assert_eq!(PublicIdentity::from_bytes(&encoded.as_ref()[..rest]), None);
        let half = PublicIdentity::from_bytes(&encoded.as_ref()[rest..]).unwrap();
        assert_eq!((half.signing(), public.to_ed25519_bytes()), (Signing::Ed25519, None));
        assert!(!half.verifies(&[b"said"], halves.1));
        assert!(!half.verifies(&[b"said"], signature));
    }

    /// A secret gives the same keys in every build and forever, and another kind of identity others.
    #[test]
    #[cfg(feature = "suite-pq")]
    fn the_identity_of_a_secret_stays() {
        let identity = Identity::for_suite(Suite::Pq, &[7; 32]);
        let (public, signature) = (identity.public().to_bytes(), identity.sign(&[b"said"]));
        let recorded = [public.as_ref(), signature.as_ref()].map(fingerprint);
        assert_eq!(recorded, [0xb7f8_26c1_d818_6f05, 0x0c91_b459_561b_a9fe]);
        let other = Identity::from_secret(&[7; 32]).public().to_bytes();
        assert_ne!(other.as_ref(), &public.as_ref()[LatticePublic::BYTES..]);
    }

    /// The first bytes of SHA-512.
    #[cfg(feature = "suite-pq")]
    fn fingerprint(bytes: &[u8]) -> u64 {
        use sha2::{Digest, Sha512};
        u64::from_be_bytes(*Sha512::digest(bytes).first_chunk().unwrap())
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
        let response = challenge * ed25519_dalek::SigningKey::from_bytes(&[7; 32]).to_scalar();
        signature[32..].copy_from_slice(response.as_bytes());
        assert!(public.key.multipart_verify(&[b"said"], &signature.into()).is_ok());
        assert!(!public.verifies(&[b"said"], &signature));
    }
}
