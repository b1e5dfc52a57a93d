//! How much of a received element is checked.

/// How much of a received element is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Canonical, in the range of the field, and not the identity: what the papers' code can have
    /// done at no cost.
    Range,
    /// Also in the subgroup of prime order; costs an exponentiation in the groups of RFC 5114.
    Subgroup,
}
