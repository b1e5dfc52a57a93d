//! The groups and their lengths.

/// A group of prime order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrimeGroup {
    /// The group of choice.
    Ristretto255,
    /// RFC 5114 section 2.1: the group that papers call a group of 1024 bits.
    Modp1024Order160,
    /// RFC 5114 section 2.3.
    Modp2048Order256,
    /// RFC 3526 group 14.
    Modp2048,
    /// RFC 3526 group 15.
    Modp3072,
    /// RFC 7919.
    Ffdhe2048,
    /// RFC 7919.
    Ffdhe3072,
}

impl PrimeGroup {
    /// Returns the length of an encoded element in bytes.
    pub const fn element_bytes(self) -> usize {
        match self {
            Self::Ristretto255 => 32,
            Self::Modp1024Order160 => 128,
            Self::Modp2048Order256 | Self::Modp2048 | Self::Ffdhe2048 => 256,
            Self::Modp3072 | Self::Ffdhe3072 => 384,
        }
    }

    /// Returns the length of an exponent in bytes: the length of the group's order.
    pub const fn exponent_bytes(self) -> usize {
        match self {
            Self::Ristretto255 | Self::Modp2048Order256 => 32,
            Self::Modp1024Order160 => 20,
            Self::Modp2048 | Self::Ffdhe2048 => 256,
            Self::Modp3072 | Self::Ffdhe3072 => 384,
        }
    }

    /// Returns the security strength in bits (NIST SP 800-57 part 1, table 2).
    pub const fn security_bits(self) -> u32 {
        match self {
            Self::Modp1024Order160 => 80,
            Self::Modp2048Order256 | Self::Modp2048 | Self::Ffdhe2048 => 112,
            Self::Ristretto255 | Self::Modp3072 | Self::Ffdhe3072 => 128,
        }
    }

    /// Returns how many random bytes a random exponent takes, not counting repetitions.
    pub(crate) const fn drawn_bytes(self) -> usize {
        match self {
            Self::Ristretto255 => 64,
            _ => self.exponent_bytes(),
        }
    }

    /// Returns how many bytes a number needs so that its remainder modulo the order has negligible
    /// bias: at least 128 bits more than the order has, in whole outputs of SHA-512.
    pub(crate) const fn wide_bytes(self) -> usize {
        (self.exponent_bytes() + 16).next_multiple_of(64)
    }
}

/// How strictly a received element is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementCheck {
    /// Canonical, in the range of the field, and not the identity. The papers' code can have
    /// checked this at no cost.
    Range,
    /// Also in the subgroup of prime order. This costs an exponentiation in the groups of RFC 5114.
    Subgroup,
}
