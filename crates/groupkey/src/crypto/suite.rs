//! Suites: sets of algorithms that are used together.

use crate::crypto::group::Group;
use crate::error::{Error, Misbehaviour};
use crate::saved_state::{Saved, SavedState};
use crate::wire::Reader;

/// A set of algorithms. `published` and the suites after it are for reproducing papers only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Runs well on any device with 32 bits and AES.
    #[default]
    Standard,
    /// Runs well on a small device without AES.
    Constrained,
    /// The algorithms of the papers.
    Published,
    /// As `Published`, in the group of 2048 bits whose exponents are short.
    Published2048,
    /// As `Published`, in IKE's group of 2048 bits.
    Modp2048,
    /// As `Published`, in IKE's group of 3072 bits.
    Modp3072,
    /// As `Published`, in TLS's group of 2048 bits.
    Ffdhe2048,
    /// As `Published`, in TLS's group of 3072 bits.
    Ffdhe3072,
}

/// Its place in [`Suite::ALL`].
impl Saved for Suite {
    fn save(&self, state: &mut SavedState) {
        let place = Self::ALL.iter().position(|suite| suite == self);
        state.number(place.unwrap_or_default() as u64);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let place = state.number32()? as usize;
        Self::ALL.get(place).copied().ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// How keys are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// AES-128-CBC with a random IV: no integrity.
    AesCbc,
    /// AES-128 key wrap (RFC 3394).
    AesKeyWrap,
    /// Ascon-AEAD128 (SP 800-232).
    Ascon,
}

/// Which pairing is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// BLS12-381.
    Bls12381,
    /// Type A of PBC.
    TypeA,
}

/// The hash functions for key derivation and MACs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// Ascon-Hash256 (SP 800-232), keyed.
    Ascon,
    /// SHA-256 with HKDF and HMAC; SHA-512 for exponents.
    Sha2,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 8] = [
        Self::Standard,
        Self::Constrained,
        Self::Published,
        Self::Published2048,
        Self::Modp2048,
        Self::Modp3072,
        Self::Ffdhe2048,
        Self::Ffdhe3072,
    ];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Constrained => "constrained",
            Self::Published => "published",
            Self::Published2048 => "published-2048",
            Self::Modp2048 => "modp-2048",
            Self::Modp3072 => "modp-3072",
            Self::Ffdhe2048 => "ffdhe2048",
            Self::Ffdhe3072 => "ffdhe3072",
        }
    }

    /// Returns how keys are wrapped.
    pub const fn wrapping(self) -> Wrapping {
        match self {
            Self::Standard => Wrapping::AesKeyWrap,
            Self::Constrained => Wrapping::Ascon,
            _ => Wrapping::AesCbc,
        }
    }

    /// Returns which pairing is used.
    pub(crate) const fn pairing(self) -> Pairing {
        match self {
            Self::Published => Pairing::TypeA,
            _ => Pairing::Bls12381,
        }
    }

    /// Returns the hash functions for key derivation and MACs.
    pub const fn hashing(self) -> Hashing {
        match self {
            Self::Constrained => Hashing::Ascon,
            _ => Hashing::Sha2,
        }
    }

    /// Returns the Diffie-Hellman group.
    pub const fn group(self) -> Group {
        match self {
            Self::Standard | Self::Constrained => Group::Ristretto255,
            Self::Published => Group::Modp1024Order160,
            Self::Published2048 => Group::Modp2048Order256,
            Self::Modp2048 => Group::Modp2048,
            Self::Modp3072 => Group::Modp3072,
            Self::Ffdhe2048 => Group::Ffdhe2048,
            Self::Ffdhe3072 => Group::Ffdhe3072,
        }
    }

    /// Returns the security strength of the Diffie-Hellman group in bits (NIST SP 800-57 part 1,
    /// table 2). Compare only within one level. Type A, the pairing of `published`, has 80 bits, as
    /// that suite's group. BLS12-381 has about 126 (Barbulescu and Duquesne, J. Cryptology 32,
    /// 2019), so pairings in suites of 128 bits have a little less. Everything symmetric has 128.
    pub const fn security_bits(self) -> u32 {
        self.group().security_bits()
    }
}
