//! X-Wing: ML-KEM-768 (FIPS 203) and X25519 (RFC 7748) in one key encapsulation
//! (draft-connolly-cfrg-xwing-kem-06). A key is secret as long as one of the two is.
//!
//! ```text
//! private key  = 32 bytes, from which SHAKE-256 makes those of both
//! public key   = that of ML-KEM-768 (1,184 bytes) || that of X25519 (32)
//! encapsulated = a ciphertext of ML-KEM-768 (1,088 bytes) || an ephemeral public key of X25519 (32)
//! shared       = SHA3-256(both shared secrets || both public keys of X25519 || label)
//! ```
//!
//! A public key of ML-KEM-768 is refused whose numbers are not reduced (FIPS 203 section 7.2). Any bytes
//! of the right length open to some key (section 6.3, implicit rejection): who has not the private key
//! learns nothing from an answer.

use rand_core::CryptoRng;
use x_wing::{Ciphertext, DecapsulationKey, EncapsulationKey};
use x_wing::{Decapsulate, Decapsulator, Encapsulate, KeyExport};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::KemLengths;

/// A private key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Seed([u8; Self::BYTES]);

pub(crate) type Shared = Zeroizing<[u8; 32]>;

pub(crate) const LENGTHS: KemLengths =
    KemLengths { public: x_wing::ENCAPSULATION_KEY_SIZE, encapsulated: x_wing::CIPHERTEXT_SIZE };

impl Seed {
    /// The length of a private key.
    pub(crate) const BYTES: usize = x_wing::DECAPSULATION_KEY_SIZE;

    pub(crate) fn filled_by(fill: impl FnOnce(&mut [u8; Self::BYTES])) -> Self {
        let mut seed = Self([0; Self::BYTES]);
        fill(&mut seed.0);
        seed
    }

    /// Returns the bytes that represent it in a trace.
    pub(crate) const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    #[inline(never)]
    pub(crate) fn public(&self) -> impl AsRef<[u8]> + use<> {
        self.key().encapsulation_key().to_bytes()
    }

    /// Returns the shared secret that [`encapsulate`] returned with these bytes. `None` if they have
    /// another length.
    #[inline(never)]
    pub(crate) fn decapsulate(&self, encapsulated: &[u8]) -> Option<Shared> {
        let ciphertext = Ciphertext::try_from(encapsulated).ok()?;
        Some(Zeroizing::new(self.key().decapsulate(&ciphertext).into()))
    }

    fn key(&self) -> DecapsulationKey {
        DecapsulationKey::from(self.0)
    }
}

/// Returns whether these bytes are a public key.
#[inline(never)]
pub(crate) fn is_public(public: &[u8]) -> bool {
    EncapsulationKey::try_from(public).is_ok()
}

/// Draws a shared secret for the owner of a public key. Returns what carries it, and the secret. `None` if
/// the bytes are no public key.
#[inline(never)]
pub(crate) fn encapsulate(
    public: &[u8],
    rng: &mut dyn CryptoRng,
) -> Option<(impl AsRef<[u8]> + use<>, Shared)> {
    let key = EncapsulationKey::try_from(public).ok()?;
    let (ciphertext, shared) = key.encapsulate_with_rng(rng);
    Some((ciphertext, Zeroizing::new(shared.into())))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn the_owner_alone_has_the_shared_secret() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let [ours, other] = [[1; 32], [2; 32]].map(|bytes| Seed::filled_by(|seed| *seed = bytes));
        let public = ours.public();
        let public = public.as_ref();
        let (encapsulated, shared) = encapsulate(public, &mut rng).unwrap();
        let encapsulated = encapsulated.as_ref();
        let lengths = KemLengths { public: public.len(), encapsulated: encapsulated.len() };
        assert_eq!(lengths, LENGTHS);
        assert_eq!(ours.decapsulate(encapsulated), Some(shared.clone()));
        assert_ne!(other.decapsulate(encapsulated), Some(shared.clone()));
        // A byte of either half.
        for place in [0, 700, encapsulated.len() - 1] {
            let mut changed = encapsulated.to_vec();
            changed[place] ^= 1;
            assert_ne!(ours.decapsulate(&changed), Some(shared.clone()));
        }
        assert_eq!(ours.decapsulate(&encapsulated[1..]), None);
    }

    #[test]
    fn what_is_no_public_key_is_refused() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let public = Seed::filled_by(|seed| *seed = [1; 32]).public();
        let mut public = public.as_ref().to_vec();
        assert!(is_public(&public));
        assert!(!is_public(&public[1..]) && !is_public(&[]));
        // The first number is 4,095, and the modulus 3,329.
        (public[0], public[1]) = (0xff, public[1] | 0x0f);
        assert!(!is_public(&public));
        assert!(encapsulate(&public, &mut rng).is_none());
    }
}
