//! All cryptography that schemes use. Schemes reach it only through [`Context`](crate::Context),
//! which counts every operation. The only state of this module is the chip that a program installed
//! ([`hardware`]).
//!
//! | suite | wrapping | derivation and MAC | group | pairing | bits |
//! |---|---|---|---|---|--:|
//! | `standard` | AES-128 key wrap (RFC 3394) | HKDF- and HMAC-SHA-256 | ristretto255 | BLS12-381 | 128 |
//! | `constrained` | Ascon-AEAD128 (SP 800-232), synthetic IV | Ascon-Hash256, keyed | ristretto255 | BLS12-381 | 128 |
//! | `published` | AES-128-CBC, random IV | HKDF- and HMAC-SHA-256 | MODP 1024/160 (RFC 5114) | Type A, 512/160 | 80 |
//! | `published-2048` | as `published` | as `published` | MODP 2048/256 (RFC 5114) | BLS12-381 | 112 |
//! | `modp-2048` | as `published` | as `published` | MODP group 14 (RFC 3526) | BLS12-381 | 112 |
//! | `modp-3072` | as `published` | as `published` | MODP group 15 (RFC 3526) | BLS12-381 | 128 |
//! | `ffdhe2048` | as `published` | as `published` | ffdhe2048 (RFC 7919) | BLS12-381 | 112 |
//! | `ffdhe3072` | as `published` | as `published` | ffdhe3072 (RFC 7919) | BLS12-381 | 128 |
//! | `pq` | as `standard` | as `standard` | – | – | 128 |
//!
//! Parties sign with Ed25519 (RFC 8032), in `pq` with ML-DSA-65 (FIPS 204) and Ed25519 together. Key
//! encapsulation is over the group, in `pq` X-Wing: ML-KEM-768 (FIPS 203) and X25519 (RFC 7748) together.
//!
//! BLS12-381 is somewhat weaker than the rest: about 126 bits (RFC 9380 section 8.8 and its
//! references count it as 128).

pub(crate) mod aead;
pub(crate) mod derive;
pub mod group;
mod group_context;
pub mod hardware;
#[cfg(feature = "pairing")]
pub mod integer;
#[cfg(feature = "distributed")]
pub(crate) mod kem;
#[cfg(feature = "distributed")]
pub(crate) mod key_schedule;
#[cfg(feature = "distributed")]
pub(crate) mod labelled;
pub mod meter;
#[cfg(feature = "pairing")]
pub mod pairing;
mod suite;
pub(crate) mod wrap;

pub use self::aead::MessageNonce;
pub use self::group_context::GroupContext;
#[cfg(feature = "distributed")]
pub use self::kem::{KemLengths, KemPrivate};
#[cfg(feature = "distributed")]
pub use self::labelled::HpkeInfo;
pub(crate) use self::suite::Pairing;
pub use self::suite::{Hashing, Signing, Suite, Wrapping};
