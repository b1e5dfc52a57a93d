//! What a member needs of working memory: counted, or modelled by what its signatures take.

use crate::decision::{Figure, Ground, Quantity, Variant};
use crate::evidence::{Estimate, POST_QUANTUM, Sample};
use crate::requirements::{Presence, Sleep};

/// Working memory of a member: stack, heap and static variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorkingMemory {
    /// Bytes.
    pub bytes: Estimate<f64>,
    /// [`Ground::Counted`] or [`Ground::Modelled`].
    ground: Ground,
}

impl WorkingMemory {
    pub(crate) const fn counted(bytes: Estimate<f64>) -> Self {
        Self { bytes, ground: Ground::Counted }
    }

    /// What signatures of suite `pq` take, of a member that sends or of one that does not, with what it
    /// has beside them (bytes). `None` for other variants, whose signatures take little.
    pub(crate) fn of_signatures(variant: &Variant, sends: bool, beside: f64) -> Option<Self> {
        let is_hybrid = variant.suite == POST_QUANTUM && variant.guard != "mac";
        let value = beside + if sends { HYBRID_SIGNATURE } else { HYBRID_CHECK };
        let bytes = Estimate { value, is_extrapolated: false };
        is_hybrid.then_some(Self { bytes, ground: Ground::Modelled })
    }

    pub(crate) const fn figure(self) -> Figure {
        let Estimate { value, is_extrapolated } = self.bytes;
        let (quantity, interval) = (Quantity::Memory, (value, value));
        Figure { quantity, value, interval, ground: self.ground, is_extrapolated }
    }
}

/// Returns whether a member of a group sends anything, in one of these changes or to ask for what it
/// missed. Acknowledgements of packets are not signed.
pub(crate) fn sends<'s>(
    presence: &Presence,
    mut changes: impl Iterator<Item = &'s Sample>,
) -> bool {
    presence.sleep != Sleep::Rejoin || changes.any(|sample| sample.busiest.sent.messages > 0.0)
}

/// Heap and stack that a member needs while it signs in suite `pq`, and while it checks and opens a
/// message (bytes), on a Cortex-M4, and its static variables: those of the members in
/// `docs/post-quantum.md` without their keys and the message.
const HYBRID_SIGNATURE: f64 = 116_000.0 + 214_000.0 + STATIC;
const HYBRID_CHECK: f64 = 56_000.0 + 83_000.0 + STATIC;
const STATIC: f64 = 4_096.0;
