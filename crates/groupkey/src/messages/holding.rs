//! A key that members have and do not send under yet. A change of the key takes a while until it has
//! reached everybody. Until then members go on under the key before, and nobody gets a message that it
//! cannot read. Whoever distributes the key says when they change over.

use super::{Messenger, Period};
use crate::identity::Epoch;

impl Messenger {
    /// Goes on sending under the present key while later ones come, until [`Self::activate`]. Messages under
    /// the latest key and under the held one are accepted. Of keys that come in between only the latest
    /// stays.
    pub const fn hold(&mut self) {
        self.holds = true;
    }

    /// Sends under the latest key from now on. The grace period of the held key begins at the time `from`,
    /// in ns.
    pub fn activate(&mut self, from: u64) {
        self.holds = false;
        if let Some(period) = self.held.take() {
            self.previous = Some((*period, from.saturating_add(self.settings.grace)));
        }
    }

    /// Returns the epoch of the held key, if a later one waits.
    pub fn held(&self) -> Option<Epoch> {
        self.held.as_ref().map(|period| period.epoch)
    }

    /// Returns the epoch of the key that this member sends under.
    pub fn sending_epoch(&self) -> Option<Epoch> {
        self.sending().map(|period| period.epoch)
    }

    pub(super) fn sending(&self) -> Option<&Period> {
        self.held.as_deref().or(self.current.as_ref())
    }
}
