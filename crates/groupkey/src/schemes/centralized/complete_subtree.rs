//! CS, complete subtree: every node of a binary tree has a key, and a member holds the keys on its path.
//! The controller sends the group key under the keys of the largest subtrees that have members only.
//! Members are stateless: what they hold never changes, and any message brings them up to date.
//!
//! Source: Naor, Naor, Lotspiech, "Revocation and tracing schemes for stateless receivers", CRYPTO
//! 2001, section 2.1. Class: centralized. Provenance: specified.
//!
//! The tree has 2^b slots (parameter `bits`), and m subtrees cover the n members. If the first n slots
//! have members, m is the number of ones in the binary form of n. Each hole adds b at most:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol | 1 confidential unicast | b + 1 derivations | none |
//! | create, add, remove, batch, rekey | 1 broadcast of m wrapped keys | m derivations, m wraps | 1 unwrap |
//! | catch up | 1 request, 1 unicast | 1 derivation, 1 wrap | 1 unwrap |
//!
//! Keys held: controller 2, member b + 2. Profiles: `sound` and `published` are the same.
//!
//! Bodies. Enrolment: the slot, and the keys of the path from the root down. Cover: a byte string of the
//! subtrees' roots, 4 bytes each, and a packed byte string of `{group key}_node` for each. An answer has
//! the one subtree of who asks.
//!
//! What breaks it: nothing found. Slots are never given out again, so the cover grows with all members
//! that ever left: at most b wrapped keys for each.
//!
//! Deviations: slots without a member count as revoked (`subset_cover`), so that a new member has no
//! earlier key. The node's keys are derived from one. A member may ask for the current key.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::mechanisms::subset_cover::occupancy::{Filling, Occupancy};
use crate::mechanisms::subset_cover::{
    BITS, StatelessController, StatelessMember, Subset, SubsetFamily, above, depth, is_within,
};
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Departures, Parties, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "cs",
    "CS, complete subtree",
    Provenance::Specified,
    "Naor, Naor and Lotspiech 2001, section 2.1",
    Parties::Centralized {
        controller: |configuration| {
            let bits = configuration.value(&BITS);
            Box::new(StatelessController::new(CompleteSubtrees { bits }, bits))
        },
        member: |configuration, _| {
            let bits = configuration.value(&BITS);
            Box::new(StatelessMember::new(CompleteSubtrees { bits }, bits))
        },
    },
)
.with_operations(&Operation::BATCHED_CHANGES)
.with_recovery(Recovery::Request)
.with_departures(Departures::Kept(BITS.name))
.with_claims(Claims::ALL)
.with_parameters(&[BITS])
.with_members((2, 1 << BITS.range.1))
.with_growth(&[
    Growth::of(Role::Controller, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// The subtrees of a tree, each with a key.
#[derive(Debug)]
struct CompleteSubtrees {
    bits: u32,
}

impl SubsetFamily for CompleteSubtrees {
    const NODES: usize = 1;

    fn secrets_held(&self) -> usize {
        self.bits as usize + 1
    }

    fn secrets(&self, cx: &mut Context<'_>, master: &Key, slot: u32) -> List<Key> {
        let leaf = 1 << self.bits | slot;
        (0..=self.bits).map(|depth| node_key(cx, master, above(leaf, depth))).collect()
    }

    fn cover(&self, occupancy: &Occupancy) -> Vec<Subset> {
        let mut cover = Vec::new();
        add_subtrees(occupancy, 1, &mut cover);
        cover
    }

    fn key(&self, cx: &mut Context<'_>, master: &Key, subset: Subset) -> Key {
        node_key(cx, master, subset.top)
    }

    fn has(&self, subset: Subset, slot: u32) -> bool {
        is_within(1 << self.bits | slot, subset.top)
    }

    fn key_of_member(&self, _: &mut Context<'_>, secrets: &[Key], _: u32, subset: Subset) -> Key {
        secrets[depth(subset.top) as usize].clone()
    }
}

/// Adds the largest subtrees below a node that have members only.
fn add_subtrees(occupancy: &Occupancy, node: u32, cover: &mut Vec<Subset>) {
    match occupancy.filling(node) {
        Filling::Empty => {}
        Filling::Full => cover.push(Subset { top: node, hole: 0 }),
        Filling::Mixed => {
            [2 * node, 2 * node + 1]
                .into_iter()
                .for_each(|below| add_subtrees(occupancy, below, cover));
        }
    }
}

fn node_key(cx: &mut Context<'_>, master: &Key, node: u32) -> Key {
    cx.derive(master, "groupkey cs node", &node.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mechanisms::subset_cover::tests::{DEPTH, cover, slots};

    proptest! {
        #[test]
        fn members_are_covered_and_nobody_else(occupied in slots()) {
            let cover = cover(&CompleteSubtrees { bits: DEPTH }, &occupied);
            // No two subtrees could be one.
            let has = |node| cover.iter().any(|subset| subset.top == node);
            let has_pair = cover.iter().any(|subset| has(subset.top ^ 1));
            prop_assert!(!has_pair);
        }
    }
}
