//! Long-term keys for key agreement, as a driver hands them to a step.

use crate::crypto::group::{Element, Exponent};
use crate::identity::PartyId;

/// A party's own long-term key for key agreement, and the certified public ones of others. All of
/// them are of the suite's group. The implementer answers for the certificates.
pub trait PeerKeys {
    /// This party's secret exponent.
    fn secret(&self) -> Exponent;

    /// The public element of a party, or `None` if the party is unknown.
    fn public(&self, party: PartyId) -> Option<Element>;
}
