//! Reverse hash chains, many of one length, in flat arrays.
//!
//! A chain's top is random, and each key below it is the hash of the key above. Keys are given out
//! upwards from the bottom, the anchor. Each key is a pre-image of the previous one. A party that
//! holds a key recognises the next one, and cannot make it. From a key, all keys below it can be
//! computed.
//!
//! Either all keys of a chain are stored, or only its top. Then each key is computed from the top.

use alloc::vec::Vec;

use crate::context::Context;
use crate::identity::Epoch;
use crate::saved_state::state;
use crate::secret::{Key, List};

#[derive(Debug)]
pub(crate) struct Chains {
    length: u16,
    stored: bool,
    /// For each chain, the keys above the anchor, lowest first, or only its top.
    keys: List<Key>,
    /// Number of keys above the anchor that were given out.
    used: Vec<u16>,
    anchored: Vec<Epoch>,
}

state!(Chains { keys, used, anchored } if is_whole);

impl Chains {
    /// Creates storage without chains. Each chain will have `length` keys above its anchor.
    pub(crate) const fn new(length: u16, stored: bool) -> Self {
        Self { length, stored, keys: List::new(), used: Vec::new(), anchored: Vec::new() }
    }

    pub(crate) fn anchor(&mut self, cx: &mut Context<'_>, place: usize, epoch: Epoch) -> Key {
        self.extend_to(place);
        self.used[place] = 0;
        self.anchored[place] = epoch;
        let room = self.room();
        let own = &mut self.keys[place * room..][..room];
        let mut key = cx.random_key();
        for kept in own.iter_mut().rev() {
            let below = step(cx, &key);
            *kept = core::mem::replace(&mut key, below);
        }
        // Keys that are not stored are computed all the same, down to the anchor.
        (room..usize::from(self.length)).fold(key, |key, _| step(cx, &key))
    }

    /// Returns the next key of a chain, unless the chain is used up.
    pub(crate) fn next(&mut self, cx: &mut Context<'_>, place: usize) -> Option<Key> {
        if self.is_used_up(place) {
            return None;
        }
        self.used[place] += 1;
        let used = self.used[place];
        if self.stored {
            let start = place * self.room();
            return Some(core::mem::take(&mut self.keys[start + usize::from(used) - 1]));
        }
        let top = self.keys[place].clone();
        Some((used..self.length).fold(top, |key, _| step(cx, &key)))
    }

    /// Returns whether no key of a chain is left.
    pub(crate) fn is_used_up(&self, place: usize) -> bool {
        self.used[place] == self.length
    }

    pub(crate) fn anchored(&self, place: usize) -> Epoch {
        self.anchored[place]
    }

    pub(crate) fn clear(&mut self, place: usize) {
        let room = self.room();
        self.keys[place * room..][..room].fill(Key::default());
    }

    pub(crate) fn has(&self, place: usize) -> bool {
        place < self.used.len()
    }

    fn is_whole(&self) -> bool {
        let count = self.used.len();
        self.used.iter().all(|&used| used <= self.length)
            && self.anchored.len() == count
            && self.keys.len() == count * self.room()
    }

    /// Returns the number of keys held for each chain, besides the one given out last.
    pub(crate) fn room(&self) -> usize {
        if self.stored { usize::from(self.length) } else { 1 }
    }

    fn extend_to(&mut self, place: usize) {
        let count = place + 1;
        if count <= self.used.len() {
            return;
        }
        // Grows by an eighth at most, because chains may be most of a controller's memory.
        let spare = if count > self.used.capacity() { self.used.len() / 8 } else { 0 };
        let more = count - self.used.len() + spare;
        let room = self.room();
        self.keys.reserve_exact(more * room);
        self.used.reserve_exact(more);
        self.anchored.reserve_exact(more);
        self.keys.extend_to(count * room);
        self.used.resize(count, 0);
        self.anchored.resize(count, Epoch::default());
    }
}

pub(crate) fn step(cx: &mut Context<'_>, key: &Key) -> Key {
    cx.hash(key, "groupkey chain")
}

/// Returns whether a chain leads from a key down to the held key in at most this many steps.
pub(crate) fn leads_to(cx: &mut Context<'_>, key: &Key, held: &Key, steps: u16) -> bool {
    let mut reached = key.clone();
    for _ in 0..steps {
        if reached == *held {
            return true;
        }
        reached = step(cx, &reached);
    }
    reached == *held
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::context::Setting;
    use crate::crypto::Suite;
    use crate::identity::{GroupId, PartyId};
    use crate::outbox::Outbox;
    use crate::protection::Protection;

    fn with_context(act: impl FnOnce(&mut Context<'_>)) {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(1), Outbox::new());
        let (setting, me) = (Setting::new(GroupId(0), Suite::Standard), PartyId::Controller);
        act(&mut Context::new(setting, me, Protection::None, &mut rng, 0, &mut outbox, &mut ()));
    }

    /// Returns all keys of the chains at places 2 and 0, in turns.
    fn keys(length: u16, stored: bool) -> Vec<Key> {
        let mut keys = Vec::new();
        with_context(|cx| {
            let mut chains = Chains::new(length, stored);
            keys.push(chains.anchor(cx, 2, Epoch(1)));
            keys.push(chains.anchor(cx, 0, Epoch(5)));
            assert_eq!((chains.anchored(2), chains.anchored(0)), (Epoch(1), Epoch(5)));
            for _ in 0..length {
                assert!(!chains.is_used_up(0));
                keys.extend(chains.next(cx, 2));
                keys.extend(chains.next(cx, 0));
            }
            assert!(chains.is_used_up(0) && chains.next(cx, 0).is_none());
            assert!(chains.keys.iter().all(|key| !stored || *key == Key::default()), "wiped");
        });
        keys
    }

    #[test]
    fn every_key_hashes_to_the_one_before_stored_or_not() {
        for length in [1, 2, 14] {
            let stored = keys(length, true);
            assert_eq!(stored, keys(length, false));
            assert_eq!(stored.len(), 2 * (usize::from(length) + 1));
            with_context(|cx| {
                for place in 2..stored.len() {
                    assert_eq!(step(cx, &stored[place]), stored[place - 2]);
                }
            });
        }
    }

    #[test]
    fn a_chain_is_followed_so_far_and_no_farther() {
        let keys = keys(14, true);
        with_context(|cx| {
            let (anchor, tenth) = (&keys[0], &keys[20]);
            assert!(leads_to(cx, tenth, anchor, 10) && leads_to(cx, tenth, anchor, 14));
            assert!(!leads_to(cx, tenth, anchor, 9) && !leads_to(cx, anchor, tenth, 14));
            assert!(leads_to(cx, anchor, anchor, 0));
        });
    }
}
