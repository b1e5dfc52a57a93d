//! Suites: sets of algorithms that are used together.

use crate::crypto::group::PrimeGroup;
use crate::error::{Error, Misbehaviour};
use crate::saved_state::{Saved, SavedState};
use crate::wire::Reader;

#[cfg(not(any(feature = "suite-constrained", feature = "suite-pq", feature = "suite-standard")))]
compile_error!(
    "groupkey needs a suite: one of the features suite-standard, suite-constrained and suite-pq"
);

/// Makes the type [`Suite`] of a table: a suite's number in saved states, the feature that brings it,
/// its name, how it wraps keys, its hash functions, its Diffie-Hellman group and its pairing. These two
/// are in brackets, which are empty if the suite has none.
macro_rules! suites {
    ($(
        $(#[doc = $meaning:literal])+
        $suite:ident = $number:literal if $present:meta:
            $name:literal, $wrapping:ident, $hashing:ident, [$($group:ident)?], [$($pairing:ident)?];
    )+) => {
        /// A set of algorithms.
        ///
        /// A device needs one: the features `suite-standard`, `suite-constrained` and `suite-pq` choose.
        /// Features only add suites. `published` and those that differ from it in the group alone are
        /// for reproducing papers: the feature `research` adds them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Suite {
            $($(#[doc = $meaning])+ #[cfg($present)] $suite = $number,)+
        }

        impl Suite {
            /// All suites that were compiled in.
            pub const ALL: [Self; COUNT] = [$(#[cfg($present)] Self::$suite,)+];

            /// Returns the name used on the command line and in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(#[cfg($present)] Self::$suite => $name,)+
                }
            }

            /// Returns the suite with this name, if it was compiled in.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|suite| suite.name() == name)
            }

            /// Returns how keys are wrapped.
            pub const fn wrapping(self) -> Wrapping {
                match self {
                    $(#[cfg($present)] Self::$suite => Wrapping::$wrapping,)+
                }
            }

            /// Returns the hash functions for key derivation and MACs.
            pub const fn hashing(self) -> Hashing {
                match self {
                    $(#[cfg($present)] Self::$suite => Hashing::$hashing,)+
                }
            }

            /// Returns the Diffie-Hellman group, if it has one.
            pub const fn group(self) -> Option<PrimeGroup> {
                match self {
                    $(#[cfg($present)] Self::$suite => {
                        let group: &[PrimeGroup] = &[$(PrimeGroup::$group)?];
                        group.first().copied()
                    })+
                }
            }

            const fn pairing_if_any(self) -> Option<Pairing> {
                match self {
                    $(#[cfg($present)] Self::$suite => {
                        let pairing: &[Pairing] = &[$(Pairing::$pairing)?];
                        pairing.first().copied()
                    })+
                }
            }
        }

        const COUNT: usize = [$(#[cfg($present)] $number,)+].len();
    };
}

suites! {
    /// Runs well on any device with 32 bits and AES.
    Standard = 0 if feature = "suite-standard":
        "standard", AesKeyWrap, Sha2, [Ristretto255], [Bls12381];
    /// Runs well on a small device without AES.
    Constrained = 1 if feature = "suite-constrained":
        "constrained", Ascon, Ascon, [Ristretto255], [Bls12381];
    /// The algorithms of the papers.
    Published = 2 if feature = "research":
        "published", AesCbc, Sha2, [Modp1024Order160], [TypeA];
    /// As `Published`, in the group of 2048 bits whose exponents are short.
    Published2048 = 3 if feature = "research":
        "published-2048", AesCbc, Sha2, [Modp2048Order256], [Bls12381];
    /// As `Published`, in IKE's group of 2048 bits.
    Modp2048 = 4 if feature = "research":
        "modp-2048", AesCbc, Sha2, [Modp2048], [Bls12381];
    /// As `Published`, in IKE's group of 3072 bits.
    Modp3072 = 5 if feature = "research":
        "modp-3072", AesCbc, Sha2, [Modp3072], [Bls12381];
    /// As `Published`, in TLS's group of 2048 bits.
    Ffdhe2048 = 6 if feature = "research":
        "ffdhe2048", AesCbc, Sha2, [Ffdhe2048], [Bls12381];
    /// As `Published`, in TLS's group of 3072 bits.
    Ffdhe3072 = 7 if feature = "research":
        "ffdhe3072", AesCbc, Sha2, [Ffdhe3072], [Bls12381];
    /// As `Standard`, without what a quantum computer breaks: signatures are of ML-DSA-65 (FIPS 204)
    /// and Ed25519 together, and there is no Diffie-Hellman group and no pairing.
    Pq = 8 if feature = "suite-pq":
        "pq", AesKeyWrap, Sha2, [], [];
}

/// Its number, which is the same in every build.
impl Saved for Suite {
    fn save(&self, state: &mut SavedState) {
        state.number(*self as u64);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let number = state.number32()?;
        let suite = Self::ALL.into_iter().find(|suite| *suite as u32 == number);
        suite.ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// How keys are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// AES-128-CBC with a random IV: no integrity.
    #[cfg(feature = "research")]
    AesCbc,
    /// AES-128 key wrap (RFC 3394).
    AesKeyWrap,
    /// Ascon-AEAD128 (SP 800-232) with a synthetic IV.
    Ascon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// BLS12-381.
    Bls12381,
    /// Type A of PBC.
    // Without `research` no suite has it.
    #[cfg_attr(not(feature = "research"), allow(dead_code))]
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

/// Which signatures parties make, where signatures protect messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// Ed25519 (RFC 8032).
    Ed25519,
    /// ML-DSA-65 (FIPS 204) and Ed25519, both of which must hold.
    #[cfg(feature = "suite-pq")]
    Hybrid,
}

impl Suite {
    /// Returns the security strength of the Diffie-Hellman group in bits (NIST SP 800-57 part 1,
    /// table 2). Compare only within one level. Type A, the pairing of `published`, has 80 bits, as
    /// that suite's group. BLS12-381 has about 126 (Barbulescu and Duquesne, J. Cryptology 32,
    /// 2019), so pairings in suites of 128 bits have a little less. Everything symmetric has 128,
    /// and so has a suite without a group.
    pub const fn security_bits(self) -> u32 {
        match self.group() {
            Some(group) => group.security_bits(),
            None => 128,
        }
    }

    /// Returns whether a quantum computer breaks nothing of it.
    pub const fn is_post_quantum(self) -> bool {
        self.group().is_none() && !self.has_pairing()
    }

    /// Returns whether it has a pairing.
    pub const fn has_pairing(self) -> bool {
        self.pairing_if_any().is_some()
    }

    /// Returns which signatures parties make.
    pub const fn signing(self) -> Signing {
        match self {
            #[cfg(feature = "suite-pq")]
            Self::Pq => Signing::Hybrid,
            // Without other suites nothing is left.
            #[allow(unreachable_patterns)]
            _ => Signing::Ed25519,
        }
    }

    /// Returns the Diffie-Hellman group, for what computes in it.
    ///
    /// # Panics
    ///
    /// If it has none. [`Scheme::unsuited_to`](crate::catalogue::Scheme::unsuited_to) tells before.
    pub(crate) const fn prime_group(self) -> PrimeGroup {
        self.group().expect("a scheme that needs a group is not run in a suite without one")
    }

    /// Returns which pairing is used.
    ///
    /// # Panics
    ///
    /// If it has none, as [`Self::prime_group`] does.
    pub(crate) const fn pairing(self) -> Pairing {
        self.pairing_if_any()
            .expect("a scheme that needs a pairing is not run in a suite without one")
    }
}

impl Signing {
    /// Returns the length of a public key in bytes.
    pub const fn public_bytes(self) -> usize {
        match self {
            Self::Ed25519 => 32,
            #[cfg(feature = "suite-pq")]
            Self::Hybrid => 1_952 + 32,
        }
    }

    /// Returns the length of a signature in bytes.
    pub const fn signature_bytes(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            #[cfg(feature = "suite-pq")]
            Self::Hybrid => 3_309 + 64,
        }
    }
}
