//! How strictly a received element is checked.

/// How strictly a received element is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Canonical, in the range of the field, and not the identity. The papers' code can have
    /// checked this at no cost.
    Range,
    /// Also in the subgroup of prime order. This costs an exponentiation in the groups of RFC 5114.
    Subgroup,
}
