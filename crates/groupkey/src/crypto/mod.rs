//! All cryptography that schemes use. They reach it through [`Context`](crate::Context) only, which
//! counts every operation; nothing here keeps state.
//!
//! | suite | wrapping | derivation and MAC | group | pairing | bits |
//! |---|---|---|---|---|---|
//! | `standard` | AES-128 key wrap (RFC 3394) | HKDF- and HMAC-SHA-256 | ristretto255 | BLS12-381 | 128 |
//! | `constrained` | Ascon-AEAD128 (SP 800-232) | Ascon-Hash256, keyed | ristretto255 | BLS12-381 | 128 |
//! | `published` | AES-128-CBC, random IV | HKDF- and HMAC-SHA-256 | MODP 1024/160 (RFC 5114) | Type A, 512/160 | 80 |
//!
//! BLS12-381 is somewhat weaker than the rest: about 126 bits (RFC 9380 section 8.8 and its references
//! count it as 128).

pub(crate) mod derive;
pub mod group;
pub mod integer;
pub mod meter;
pub mod pairing;
pub(crate) mod wrap;

/// A set of algorithms. `published` is for reproducing papers only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Suite {
    /// What runs well on anything with 32 bits and AES.
    #[default]
    Standard,
    /// What runs well on a small device without AES.
    Constrained,
    /// What the papers used.
    Published,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Constrained, Self::Published];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Constrained => "constrained",
            Self::Published => "published",
        }
    }

    /// Security strength in bits (NIST SP 800-57 part 1, table 2). Compare only within one level.
    pub const fn security_bits(self) -> u32 {
        match self {
            Self::Standard | Self::Constrained => 128,
            Self::Published => 80,
        }
    }
}
