//! Long-term keys for key agreement, as a driver hands them to a step.

use crate::crypto::group::{Element, Exponent};
use crate::identity::PartyId;

/// A party's own long-term key for key agreement, and the certified public keys of others. All keys
/// are of the suite's group. The implementer is responsible for the certificates.
pub trait PeerKeys {
    /// Returns this party's secret exponent.
    fn secret(&self) -> Exponent;

    /// Returns the public element of a party, or `None` if the party is unknown.
    fn public(&self, party: PartyId) -> Option<Element>;
}
