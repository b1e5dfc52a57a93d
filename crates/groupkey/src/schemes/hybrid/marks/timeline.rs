//! The keys of a session as a tree of one-way functions, and the part that a party holds.
//!
//! Periods count from 0 here: period t is epoch t + 1.

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::Epoch;
use crate::saved_state::saved;
use crate::scheme::Profile;
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

/// What all parties know about a session before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub(super) profile: Profile,
    depth: u32,
}

/// The part of the tree that a party holds.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The nodes above the keys that the party may have, latest first.
    seeds: List<Seed>,
    /// In `published`, all keys below these nodes, earliest first.
    leaves: List<Key>,
}

saved!(Timeline { seeds, leaves });

#[derive(Clone, Debug)]
struct Seed {
    node: Node,
    key: Key,
}

saved!(Seed { node, key });

/// A node of the tree, by the first of the 2^height periods below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    first: u32,
    height: u32,
}

saved!(Node { first, height });

/// Periods that follow each other, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) first: u32,
    pub(super) last: u32,
}

saved!(Span { first, last });

/// The interval that a member was promised, if any: four bytes, because each member has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    first: u16,
    /// Less than `first` if nothing was promised.
    last: u16,
}

saved!(Promise { first, last });

impl Session {
    /// Creates a session of 2^`depth` periods.
    ///
    /// # Panics
    ///
    /// If the depth is 0 or above 16.
    pub(crate) const fn new(profile: Profile, depth: u32) -> Self {
        assert!(1 <= depth && depth <= 16, "the number of a period has 1 to 16 bits");
        Self { profile, depth }
    }

    pub(super) const fn periods(self) -> u32 {
        1 << self.depth
    }

    /// Returns the span from this period to the last.
    pub(super) const fn rest(self, first: u32) -> Span {
        Span { first, last: self.periods() - 1 }
    }

    /// Returns the span of these epochs, if they are in the session and in this order.
    pub(super) fn span(self, first: Epoch, last: Epoch) -> Option<Span> {
        let ordered = Epoch(0) < first && first <= last && last.0 <= u64::from(self.periods());
        // Both are at most the number of periods, which has at most 32 bits.
        ordered.then(|| Span { first: (first.0 - 1) as u32, last: (last.0 - 1) as u32 })
    }

    pub(super) fn period(self, epoch: Epoch) -> Result<u32, Error> {
        let span = self.span(epoch, epoch).ok_or(Misbehaviour::Malformed)?;
        Ok(span.first)
    }

    /// Returns the period after an epoch.
    pub(super) fn next_period(self, epoch: Epoch) -> Result<u32, Error> {
        let span = self.span(epoch.next(), epoch.next()).ok_or(Misuse::SessionOver)?;
        Ok(span.first)
    }

    pub(super) const fn has(self, span: Span) -> bool {
        span.first <= span.last && span.last < self.periods()
    }

    /// Returns the bytes of the largest cover.
    pub(super) const fn cover_bytes(self) -> usize {
        2 * (self.depth as usize - 1) * Key::BYTES
    }
}

impl Timeline {
    pub(super) fn new(cx: &mut Context<'_>, profile: Profile, span: Span, seeds: &[Key]) -> Self {
        let mut timeline = Self { seeds: List::with_capacity(seeds.len()), leaves: List::new() };
        let seeds = span.cover().zip(seeds).map(|(node, key)| Seed { node, key: key.clone() });
        timeline.seeds.extend(seeds);
        if profile.is_published() {
            timeline.leaves.reserve_exact((span.last - span.first) as usize + 1);
            for seed in &timeline.seeds {
                expand(cx, seed, &mut timeline.leaves);
            }
        }
        timeline.seeds.reverse();
        timeline
    }

    pub(super) fn open(
        cx: &mut Context<'_>,
        profile: Profile,
        kek: &Key,
        message: &Message<'_>,
        span: Span,
        wrapped: &[u8],
    ) -> Result<Self, Error> {
        let mut seeds = List::zeros(span.cover().count());
        cx.unwrap_keys(kek, message.header().epoch, span.label(), wrapped, &mut seeds)?;
        Ok(Self::new(cx, profile, span, &seeds))
    }

    pub(super) fn is_of(&self, session: Session) -> bool {
        let is_node = |&Node { first, height }: &Node| {
            height <= session.depth
                && first < session.periods()
                && first.is_multiple_of(1 << height)
        };
        self.seeds.iter().all(|seed| is_node(&seed.node))
    }

    /// Returns the key of a period, if the party may have it. Wipes the keys before this period in
    /// `sound`, and keeps them in `published`.
    pub(super) fn enter(
        &mut self,
        cx: &mut Context<'_>,
        profile: Profile,
        period: u32,
    ) -> Option<Key> {
        if profile.is_published() {
            let first = self.seeds.last()?.node.first;
            self.leaves.get(period.checked_sub(first)? as usize).cloned()
        } else {
            self.wipe_before(cx, period);
            self.derive(cx, Node { first: period, height: 0 })
        }
    }

    /// Wipes the keys before a period. The minimal cover of the rest remains, so each node of any
    /// cover within the rest is below one of the remaining nodes.
    fn wipe_before(&mut self, cx: &mut Context<'_>, period: u32) {
        while let Some(seed) = self.seeds.last().filter(|seed| seed.node.first < period).cloned() {
            self.seeds.truncate(self.seeds.len() - 1);
            if seed.node.last() >= period {
                let [left, right] = seed.node.children();
                for (node, is_right) in [(right, true), (left, false)] {
                    let key = child(cx, &seed.key, is_right);
                    self.seeds.push(Seed { node, key });
                }
            }
        }
    }

    /// Returns the seeds of the minimal cover of a span. The span must lie in the held part.
    pub(super) fn reveal(&self, cx: &mut Context<'_>, span: Span) -> List<Key> {
        span.cover().filter_map(|node| self.derive(cx, node)).collect()
    }

    fn derive(&self, cx: &mut Context<'_>, node: Node) -> Option<Key> {
        let above = self.seeds.iter().find(|seed| seed.node.is_above(node))?;
        let levels = (node.height..above.node.height).rev();
        Some(
            levels.fold(above.key.clone(), |key, level| {
                child(cx, &key, node.first >> level & 1 == 1)
            }),
        )
    }

    /// Returns the bytes of the keys held.
    pub(super) fn key_bytes(&self) -> usize {
        (self.seeds.len() + self.leaves.len()) * Key::BYTES
    }
}

impl Node {
    const fn last(self) -> u32 {
        self.first + ((1 << self.height) - 1)
    }

    const fn children(self) -> [Self; 2] {
        let height = self.height - 1;
        [Self { first: self.first, height }, Self { first: self.first + (1 << height), height }]
    }

    const fn is_above(self, other: Self) -> bool {
        self.first <= other.first && other.last() <= self.last()
    }
}

impl Span {
    /// Reads the first and the last epoch.
    pub(super) fn read(body: &mut Reader<'_>, session: Session) -> Result<Self, Error> {
        let (first, last) = (Epoch(body.number()?), Epoch(body.number()?));
        session.span(first, last).ok_or_else(|| Misbehaviour::Malformed.into())
    }

    /// Appends the first and the last epoch.
    pub(super) fn write(self, draft: &mut Draft<'_, '_>) {
        draft.number(epoch_of(self.first).0).number(epoch_of(self.last).0);
    }

    /// Returns a label that no other span has.
    pub(super) fn label(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.last)
    }

    pub(super) fn from(self, period: u32) -> Option<Self> {
        (period <= self.last).then(|| Self { first: self.first.max(period), last: self.last })
    }

    /// Returns the fewest nodes that have these periods below them and no others, earliest first.
    /// Each is the largest node that begins where the previous one ended.
    fn cover(self) -> impl Iterator<Item = Node> {
        let mut rest = Some(self);
        core::iter::from_fn(move || {
            let Self { first, last } = rest?;
            let height = first.trailing_zeros().min((last - first + 1).ilog2());
            let node = Node { first, height };
            rest = (node.last() < last).then(|| Self { first: node.last() + 1, last });
            Some(node)
        })
    }
}

impl Promise {
    pub(super) const NONE: Self = Self { first: 1, last: 0 };

    pub(super) fn span(self) -> Option<Span> {
        let (first, last) = (self.first.into(), self.last.into());
        (first <= last).then_some(Span { first, last })
    }
}

impl From<Span> for Promise {
    fn from(span: Span) -> Self {
        // A session has at most 2^16 periods.
        Self { first: span.first as u16, last: span.last as u16 }
    }
}

pub(super) const fn epoch_of(period: u32) -> Epoch {
    Epoch(period as u64 + 1)
}

/// Returns the key of a child. The keys of its parent and of the other child do not follow from it.
fn child(cx: &mut Context<'_>, key: &Key, right: bool) -> Key {
    cx.hash(key, if right { "groupkey marks right" } else { "groupkey marks left" })
}

fn expand(cx: &mut Context<'_>, seed: &Seed, leaves: &mut List<Key>) {
    let mut level = List::filled(seed.key.clone(), 1);
    for _ in 0..seed.node.height {
        let mut below = List::with_capacity(2 * level.len());
        for key in &level {
            below.extend([child(cx, key, false), child(cx, key, true)]);
        }
        level = below;
    }
    leaves.append(&level);
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    impl Timeline {
        pub(in super::super) fn all(&self, cx: &mut Context<'_>) -> List<Key> {
            let mut keys = self.leaves.clone();
            self.seeds.iter().rev().for_each(|seed| expand(cx, seed, &mut keys));
            keys
        }
    }

    /// Returns the cover by the algorithm of the literature, in levels and places from the root.
    fn cover_from_both_ends(depth: u32, mut low: u32, mut high: u32) -> Vec<Node> {
        if low == 0 && high == (1 << depth) - 1 {
            return vec![Node { first: 0, height: depth }];
        }
        let mut nodes = Vec::new();
        for height in 0..=depth {
            if low % 2 == 1 {
                nodes.push(Node { first: low << height, height });
                low += 1;
            }
            if low > high {
                break;
            }
            if high.is_multiple_of(2) {
                nodes.push(Node { first: high << height, height });
                if high == 0 {
                    break;
                }
                high -= 1;
            }
            if low > high {
                break;
            }
            (low, high) = (low / 2, high / 2);
        }
        nodes.sort_by_key(|node| node.first);
        nodes
    }

    #[test]
    fn covers_are_exact_and_minimal() {
        for depth in 1..=7 {
            let mut largest = 0;
            for first in 0..1 << depth {
                for last in first..1 << depth {
                    let cover: Vec<_> = Span { first, last }.cover().collect();
                    assert_eq!(cover, cover_from_both_ends(depth, first, last));
                    let periods = cover.iter().flat_map(|node| node.first..=node.last());
                    assert!(periods.eq(first..=last), "{first} to {last}");
                    largest = largest.max(cover.len() as u32);
                }
            }
            assert_eq!(largest, (2 * (depth - 1)).max(1));
        }
    }
}
