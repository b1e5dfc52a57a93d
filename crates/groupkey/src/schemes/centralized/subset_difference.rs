//! SD, subset difference, and LSD, its layered form: a subset is what is below one node of a binary tree
//! and not below another. Two subsets cover what is left when a member is evicted, wherever that is.
//! Members are stateless: what they hold never changes, and any message brings them up to date.
//!
//! Source: Naor, Naor, Lotspiech, "Revocation and tracing schemes for stateless receivers", CRYPTO
//! 2001, section 2.2; layers: Halevi, Shamir, "The LSD broadcast encryption scheme", CRYPTO 2002,
//! section 3. Class: centralized. Provenance: specified.
//!
//! The subset S(i, j) is below node i and not below node j. Node i has a label. A one-way function takes
//! a label to one for each node below, and so on down to j; another takes the label there to the key of
//! S(i, j). A member has, for each node i on its path, the labels of the nodes just beside its path. So
//! it gets to any j that it is not below. One more key is for everybody.
//!
//! In LSD, every ⌈√b⌉-th level is special. Member and controller use S(i, j) only if i is on a
//! special level, or if no special level is between i and j. Any other S(i, j) is two of these.
//!
//! The tree has 2^b slots (parameter `bits`), and m subsets cover the members. With r the number of
//! subtrees without a member, m is at most 2r - 1 in SD, and twice as many in LSD. d is how far j is below
//! i in the subset of a member, and at most b:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol | 1 confidential unicast | b(b + 1) + 1 derivations in SD | none |
//! | create, add, remove, batch, rekey | 1 broadcast of m wrapped keys | d + 2 derivations for each subset, m wraps | d derivations at most, 1 unwrap |
//! | catch up | 1 request, 1 unicast | d + 2 derivations, 1 wrap | d derivations at most, 1 unwrap |
//!
//! The subset of everybody takes one derivation at the controller, and none at a member. Keys held:
//! controller 2. A member of SD holds b(b + 1)/2 + 2, which is 155 for b = 17. In LSD it is 71.
//! Profiles: `sound` and `published` are the same.
//!
//! Bodies. Enrolment: the slot, the key for everybody, and for each node on the path, from the root down,
//! the labels beside the path below it. Cover: a byte string of the pairs i, j, 4 bytes each, and a packed
//! byte string of `{group key}_S(i, j)` for each. j is 0 for everybody. An answer has the one
//! subset of who asks.
//!
//! What breaks it: nothing found. Slots are never given out again, so the cover grows with all members
//! that ever left: at most two wrapped keys for each in SD.
//!
//! Deviations: slots without a member count as revoked (`subset_cover`), so that a new member has no
//! earlier key. The labels of nodes are derived from one key, the one-way functions are our key derivation. A
//! member may ask for the current key.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::mechanisms::subset_cover::occupancy::{Filling, Occupancy};
use crate::mechanisms::subset_cover::{
    BITS, StatelessController, StatelessMember, Subset, SubsetFamily, above, depth, is_within,
};
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Configuration, Departures, Parties, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};

/// Subset difference in the catalogue.
pub(crate) const SD: Scheme = entry(
    "sd",
    "SD, subset difference",
    "Naor, Naor and Lotspiech 2001, section 2.2",
    Parties::Centralized {
        controller: |configuration| controller(Differences::unlayered(configuration)),
        member: |configuration, _| member(Differences::unlayered(configuration)),
    },
);

/// Layered subset difference in the catalogue.
pub(crate) const LSD: Scheme = entry(
    "lsd",
    "LSD, layered subset difference",
    "Halevi and Shamir 2002, section 3",
    Parties::Centralized {
        controller: |configuration| controller(Differences::layered(configuration)),
        member: |configuration, _| member(Differences::layered(configuration)),
    },
);

/// Builds a catalogue entry. The arguments are the values in which the two differ.
const fn entry(
    id: &'static str,
    name: &'static str,
    source: &'static str,
    parties: Parties,
) -> Scheme {
    Scheme::new(id, name, Provenance::Specified, source, parties)
        .with_operations(&Operation::BATCHED_CHANGES)
        .with_recovery(Recovery::Request)
        .with_departures(Departures::Kept(BITS.name))
        .with_claims(Claims::ALL)
        .with_parameters(&[BITS])
        .with_members((2, 1 << BITS.range.1))
        .with_growth(GROWTH)
}

const GROWTH: &[Growth] = &[
    Growth::of(Role::Controller, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
];

fn controller(family: Differences) -> Box<StatelessController<Differences>> {
    let bits = family.bits;
    Box::new(StatelessController::new(family, bits))
}

fn member(family: Differences) -> Box<StatelessMember<Differences>> {
    let bits = family.bits;
    Box::new(StatelessMember::new(family, bits))
}

/// The differences of subtrees of a tree.
#[derive(Debug)]
struct Differences {
    bits: u32,
    /// A level is special if its depth is a multiple of this.
    layer: u32,
}

/// The one subset that leaves nothing out.
const EVERYBODY: Subset = Subset { top: 1, hole: 0 };

impl SubsetFamily for Differences {
    const NODES: usize = 2;

    fn secrets_held(&self) -> usize {
        self.labels_above(self.bits) + 1
    }

    fn secrets(&self, cx: &mut Context<'_>, master: &Key, slot: u32) -> List<Key> {
        let leaf = self.leaf(slot);
        let mut secrets = List::with_capacity(self.secrets_held());
        secrets.push(everybodys_key(cx, master));
        for top in 0..self.bits {
            let mut label = label_of(cx, master, above(leaf, top));
            for at in top + 1..=self.layer_end(top) {
                if at > top + 1 {
                    label = label_below(cx, &label, above(leaf, at - 1));
                }
                secrets.push(label_below(cx, &label, above(leaf, at) ^ 1));
            }
        }
        secrets
    }

    fn cover(&self, occupancy: &Occupancy) -> Vec<Subset> {
        if occupancy.filling(1) == Filling::Full {
            return [EVERYBODY].into();
        }
        let mut cover = Vec::new();
        let hole = self.add_below(occupancy, 1, &mut cover);
        self.add(1, hole, &mut cover);
        cover
    }

    fn key(&self, cx: &mut Context<'_>, master: &Key, subset: Subset) -> Key {
        if subset == EVERYBODY {
            return everybodys_key(cx, master);
        }
        let label = label_of(cx, master, subset.top);
        key_below(cx, label, depth(subset.top), subset.hole)
    }

    fn has(&self, subset: Subset, slot: u32) -> bool {
        let Subset { top, hole } = subset;
        let leaf = self.leaf(slot);
        let is_difference = || {
            is_within(hole, top)
                && depth(hole) > depth(top)
                && depth(hole) <= self.layer_end(depth(top))
                && is_within(leaf, top)
                && !is_within(leaf, hole)
        };
        subset == EVERYBODY || hole != 0 && is_difference()
    }

    fn key_of_member(
        &self,
        cx: &mut Context<'_>,
        secrets: &[Key],
        slot: u32,
        subset: Subset,
    ) -> Key {
        if subset == EVERYBODY {
            return secrets[0].clone();
        }
        let (leaf, top) = (self.leaf(slot), depth(subset.top));
        // The hole is not above the leaf, so their paths part at some level.
        let common = above(leaf, depth(subset.hole)) ^ subset.hole;
        let parting = depth(subset.hole) - common.ilog2();
        let label = secrets[self.labels_above(top) + (parting - top) as usize].clone();
        key_below(cx, label, parting, subset.hole)
    }
}

impl Differences {
    fn unlayered(configuration: &Configuration) -> Self {
        let bits = configuration.value(&BITS);
        Self { bits, layer: 1 }
    }

    fn layered(configuration: &Configuration) -> Self {
        let bits = configuration.value(&BITS);
        Self { bits, layer: (bits - 1).isqrt() + 1 }
    }

    const fn leaf(&self, slot: u32) -> u32 {
        1 << self.bits | slot
    }

    /// The lowest level of a hole below a node on this level.
    fn layer_end(&self, top: u32) -> u32 {
        if top.is_multiple_of(self.layer) {
            self.bits
        } else {
            top.next_multiple_of(self.layer).min(self.bits)
        }
    }

    /// How many labels a member holds for the nodes on its path above a level.
    fn labels_above(&self, level: u32) -> usize {
        (0..level).map(|top| (self.layer_end(top) - top) as usize).sum()
    }

    /// Covers the members below a node that has a slot without one. They are all in the subsets that this
    /// adds, or in the difference of the node and the node that this returns.
    fn add_below(&self, occupancy: &Occupancy, node: u32, cover: &mut Vec<Subset>) -> u32 {
        if occupancy.filling(node) == Filling::Empty {
            return node;
        }
        let below = [2 * node, 2 * node + 1];
        match below.map(|node| occupancy.filling(node) == Filling::Full) {
            [true, _] => self.add_below(occupancy, below[1], cover),
            [_, true] => self.add_below(occupancy, below[0], cover),
            [false, false] => {
                for node in below {
                    let hole = self.add_below(occupancy, node, cover);
                    self.add(node, hole, cover);
                }
                node
            }
        }
    }

    /// Adds the difference of two nodes, in two parts if it must be.
    fn add(&self, top: u32, hole: u32, cover: &mut Vec<Subset>) {
        if top == hole {
            return;
        }
        let between = above(hole, self.layer_end(depth(top)).min(depth(hole)));
        cover.push(Subset { top, hole: between });
        if between != hole {
            cover.push(Subset { top: between, hole });
        }
    }
}

/// Derives the key of the subset whose hole is below the node of this label, which is at a depth.
fn key_below(cx: &mut Context<'_>, mut label: Key, at: u32, hole: u32) -> Key {
    for at in at + 1..=depth(hole) {
        label = label_below(cx, &label, above(hole, at));
    }
    cx.derive(&label, "groupkey sd key", &[])
}

fn label_below(cx: &mut Context<'_>, label: &Key, node: u32) -> Key {
    let side = if node.is_multiple_of(2) { "groupkey sd left" } else { "groupkey sd right" };
    cx.derive(label, side, &[])
}

fn label_of(cx: &mut Context<'_>, master: &Key, top: u32) -> Key {
    cx.derive(master, "groupkey sd label", &top.to_be_bytes())
}

fn everybodys_key(cx: &mut Context<'_>, master: &Key) -> Key {
    cx.derive(master, "groupkey sd everybody", &[])
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::mechanisms::subset_cover::tests::{DEPTH, cover, slots, subsets};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn members_are_covered_as_the_paper_has_it(occupied in slots()) {
            let whole = cover(&Differences { bits: DEPTH, layer: 1 }, &occupied);
            let key = |subset: &Subset| (subset.top, subset.hole);
            let found: BTreeSet<_> = whole.iter().map(key).collect();
            prop_assert_eq!(&found, &by_the_paper(&occupied));
            for layer in 2..DEPTH {
                let layered = cover(&Differences { bits: DEPTH, layer }, &occupied);
                prop_assert!(layered.len() <= 2 * whole.len());
            }
        }
    }

    #[test]
    fn one_hole_takes_one_subset_and_two_holes_take_three_at_most() {
        let family = Differences { bits: DEPTH, layer: 1 };
        let all: BTreeSet<_> = (0..1 << DEPTH).collect();
        assert_eq!(subsets(&family, &all), [EVERYBODY]);
        for one in &all {
            let left: BTreeSet<_> = all.iter().copied().filter(|slot| slot != one).collect();
            let hole = 1 << DEPTH | one;
            assert_eq!(subsets(&family, &left), [Subset { top: 1, hole }]);
            for other in all.range(one + 1..) {
                let left = left.iter().copied().filter(|slot| slot != other).collect();
                assert!(subsets(&family, &left).len() <= 3);
            }
        }
    }

    /// The cover as section 2.2 finds it: two holes that are next to each other become one, their lowest
    /// common node, until one hole is left.
    fn by_the_paper(occupied: &BTreeSet<u32>) -> BTreeSet<(u32, u32)> {
        let is_free = |slot: &u32| !occupied.contains(slot);
        let mut holes: Vec<u32> =
            (0..1 << DEPTH).filter(is_free).map(|slot| 1 << DEPTH | slot).collect();
        let mut cover = BTreeSet::new();
        let mut add = |top, hole| {
            if top != hole {
                cover.insert((top, hole));
            }
        };
        while holes.len() > 1 {
            let lowest = (1..holes.len()).max_by_key(|&at| depth(common(holes[at - 1], holes[at])));
            let at = lowest.unwrap();
            let (left, right) = (holes[at - 1], holes.remove(at));
            let top = common(left, right);
            add(2 * top, left);
            add(2 * top + 1, right);
            holes[at - 1] = top;
        }
        match holes.first() {
            Some(&hole) => add(1, hole),
            None => drop(cover.insert((1, 0))),
        }
        cover
    }

    fn common(mut one: u32, mut other: u32) -> u32 {
        while one != other {
            if one > other { one /= 2 } else { other /= 2 }
        }
        one
    }
}
