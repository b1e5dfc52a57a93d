//! Groups in which Diffie-Hellman is hard: ristretto255 (RFC 9496), and the subgroups of the
//! integers modulo a prime (MODP) that the papers used.
//!
//! | group | source | order of the generator | element | exponent | bits |
//! |---|---|---|--:|--:|--:|
//! | `Ristretto255` | RFC 9496 | 252 bits | 32 | 32 | 128 |
//! | `Modp1024Order160` | RFC 5114 section 2.1 | 160 bits | 128 | 20 | 80 |
//! | `Modp2048Order256` | RFC 5114 section 2.3 | 256 bits | 256 | 32 | 112 |
//! | `Modp2048` | RFC 3526 section 3, group 14 | (p - 1) / 2 | 256 | 256 | 112 |
//! | `Modp3072` | RFC 3526 section 4, group 15 | (p - 1) / 2 | 384 | 384 | 128 |
//! | `Ffdhe2048` | RFC 7919 appendix A.1 | (p - 1) / 2 | 256 | 256 | 112 |
//! | `Ffdhe3072` | RFC 7919 appendix A.2 | (p - 1) / 2 | 384 | 384 | 128 |
//!
//! Lengths are in bytes; bits are those of NIST SP 800-57 part 1, table 2. Exponents are as long as
//! the order, never shortened. An exponent that is derived from bytes is their hash, reduced modulo
//! the order. In every group, the hash is longer than the order by enough bits that the remainder
//! has no visible bias.

#[cfg(feature = "distributed")]
mod element;
mod kind;
#[cfg(feature = "distributed")]
mod modp;

#[cfg(feature = "distributed")]
pub use self::element::{Element, Exponent};
pub use self::kind::ElementCheck;
pub use self::kind::PrimeGroup;
