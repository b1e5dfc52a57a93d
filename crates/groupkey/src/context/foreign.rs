//! What a party does that computes by a library of somebody else: the library's cryptography does not go
//! through the context, so the party tells the context of it.

use crate::context::state::Context;
use crate::crypto::meter::Primitive;

impl Context<'_> {
    /// Counts one call of a primitive that a foreign library computed, on this many units. Prices and
    /// pauses follow from the count, as they do for the context's own operations.
    pub fn count(&mut self, primitive: Primitive, amount: usize) {
        self.probe.record(primitive, amount);
    }
}
