//! Finds a member's slot by its id. There is one entry for each member of a group, so an entry's
//! bytes count. The index is a table of slots and nothing else, three quarters full: five to six
//! bytes a member. Tables whose sizes are powers of two need up to eleven.
//!
//! Open addressing with linear probing. Removing a slot closes the gap, so no marks stay behind.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use crate::identity::MemberId;

/// The slots, found by their members. The index holds no ids.
#[derive(Debug, Default)]
pub(crate) struct SlotIndex {
    /// Each slot is at its member's home or, if that is taken, at the next free place after it.
    places: Vec<u32>,
    len: usize,
    hasher: DefaultHashBuilder,
}

/// A place without a slot. There are no groups of 2^32 members.
const FREE: u32 = u32::MAX;

impl SlotIndex {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn find(&self, members: &[MemberId], member: MemberId) -> Option<u32> {
        self.place_of(members, member).map(|place| self.places[place])
    }

    /// Adds a slot. Its member has no other slot.
    pub(crate) fn insert(&mut self, members: &[MemberId], slot: u32) {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.resize(members, capacity_for(self.len + 1 + self.len / 8));
        }
        self.put(members, slot);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, members: &[MemberId], member: MemberId) -> Option<u32> {
        let mut gap = self.place_of(members, member)?;
        let slot = core::mem::replace(&mut self.places[gap], FREE);
        self.len -= 1;
        let mut place = gap;
        loop {
            place = self.next(place);
            let other = self.places[place];
            if other == FREE {
                return Some(slot);
            }
            // The slot may move back as far as its home. The gap may lie before that.
            let home = self.home(members[other as usize]);
            if self.distance(home, place) >= self.distance(gap, place) {
                self.places.swap(gap, place);
                gap = place;
            }
        }
    }

    /// Makes room for this many more slots, and for some that come later one by one. Whenever there
    /// is no room, all slots move.
    pub(crate) fn reserve(&mut self, members: &[MemberId], additional: usize) {
        if capacity_for(self.len + additional) > self.places.len() {
            let room = room_for(additional).max(additional + self.len / 8);
            self.resize(members, capacity_for(self.len + room));
        }
    }

    fn place_of(&self, members: &[MemberId], member: MemberId) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let mut place = self.home(member);
        // The loop ends, because a quarter of the places is free.
        while self.places[place] != FREE {
            if members[self.places[place] as usize] == member {
                return Some(place);
            }
            place = self.next(place);
        }
        None
    }

    fn resize(&mut self, members: &[MemberId], capacity: usize) {
        let mut places = Vec::new();
        places.reserve_exact(capacity);
        places.resize(capacity, FREE);
        let old = core::mem::replace(&mut self.places, places);
        old.into_iter().filter(|&slot| slot != FREE).for_each(|slot| self.put(members, slot));
    }

    fn put(&mut self, members: &[MemberId], slot: u32) {
        let mut place = self.home(members[slot as usize]);
        while self.places[place] != FREE {
            place = self.next(place);
        }
        self.places[place] = slot;
    }

    /// Where the search for a member's slot begins.
    fn home(&self, member: MemberId) -> usize {
        let hash = self.hasher.hash_one(member) >> 32;
        // Less than the number of places, because the hash is less than 2^32.
        ((hash * self.places.len() as u64) >> 32) as usize
    }

    const fn next(&self, place: usize) -> usize {
        if place + 1 == self.places.len() { 0 } else { place + 1 }
    }

    /// How many places `to` is after `from`.
    const fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.places.len() - from }
    }
}

/// Room for this many members at once, and for some that join later one by one. Otherwise
/// everything moves when the first of those joins. A controller's memory is mostly this, so the
/// extra room is small.
pub(crate) const fn room_for(members: usize) -> usize {
    members + members / 64 + 1
}

/// Places for this many slots. A quarter of them stays free.
const fn capacity_for(slots: usize) -> usize {
    (4 * slots).div_ceil(3) + 1
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn who_comes_alone_seldom_moves_all_others() {
        let members: Vec<_> = (0..2_000).map(MemberId).collect();
        let mut index = SlotIndex::default();
        index.reserve(&members, 1_000);
        (0..1_000).for_each(|slot| index.insert(&members, slot));
        let mut moves = 0;
        for slot in 1_000..2_000 {
            let before = index.places.len();
            index.reserve(&members, 1);
            index.insert(&members, slot);
            moves += usize::from(index.places.len() != before);
        }
        assert!(moves < 8, "{moves} times");
    }

    #[test]
    fn it_finds_what_a_map_finds() {
        for seed in 0..20 {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let (mut index, mut map) = (SlotIndex::default(), BTreeMap::new());
            let mut members = Vec::new();
            for step in 0..3_000 {
                if step == 1_500 {
                    index.reserve(&members, 100);
                }
                let member = MemberId(rng.next_u32() % 400);
                let known = map.remove(&member);
                assert_eq!(index.remove(&members, member), known);
                if known.is_none() {
                    let slot = members.len() as u32;
                    members.push(member);
                    index.insert(&members, slot);
                    map.insert(member, slot);
                }
                assert_eq!(index.len(), map.len());
                if step % 50 == 0 {
                    for member in (0..400).map(MemberId) {
                        assert_eq!(index.find(&members, member), map.get(&member).copied());
                    }
                }
            }
        }
    }

    #[test]
    fn it_takes_at_most_six_bytes_a_member() {
        for count in [100, 1_000, 1_024, 55_000] {
            let members: Vec<_> = (0..count).map(MemberId).collect();
            let (mut grown, mut reserved) = (SlotIndex::default(), SlotIndex::default());
            reserved.reserve(&members, count as usize);
            for slot in 0..count {
                grown.insert(&members, slot);
                reserved.insert(&members, slot);
            }
            let bytes = |index: &SlotIndex| 4 * index.places.capacity();
            assert!(bytes(&reserved) <= 6 * count as usize && bytes(&grown) <= 7 * count as usize);
        }
    }
}
