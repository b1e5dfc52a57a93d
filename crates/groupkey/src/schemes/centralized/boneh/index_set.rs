//! A set of members' indices, from 1 on: one bit each in memory, and runs on the wire.

use alloc::vec::Vec;

use crate::context::Draft;
use crate::error::{Error, Misbehaviour};
use crate::saved_state::saved;
use crate::wire::Reader;

/// A set of indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexSet(Vec<u64>);

saved!(IndexSet { 0 });

impl IndexSet {
    pub(crate) fn insert(&mut self, index: u32) {
        let (word, bit) = place(index);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let (word, bit) = place(index);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !bit;
        }
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        let (word, bit) = place(index);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the indices in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |(number, &word): (usize, &u64)| {
            let mut rest = word;
            core::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(number as u32 * u64::BITS + bit)
            })
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// Appends the lengths of gaps and runs in turn. The gap before the first run comes first.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        let mut lengths = Vec::new();
        let mut next = 1;
        for index in self.iter() {
            match lengths.last_mut() {
                Some(run) if next == index => *run += 1,
                _ => lengths.extend([u64::from(index - next), 1]),
            }
            next = index + 1;
        }
        draft.array(lengths.len());
        for length in lengths {
            draft.number(length);
        }
    }

    /// Reads a set whose largest index is at most `limit`.
    pub(crate) fn read(body: &mut Reader<'_>, limit: u32) -> Result<Self, Error> {
        let lengths = body.array()?;
        let invalid = || Error::from(Misbehaviour::InvalidRoster);
        if !lengths.is_multiple_of(2) {
            return Err(invalid());
        }
        let mut set = Self::default();
        let mut next = 1u32;
        for run in 0..lengths / 2 {
            let (gap, length) = (body.number32()?, body.number32()?);
            let first = next.checked_add(gap).ok_or_else(invalid)?;
            next = first.checked_add(length).ok_or_else(invalid)?;
            // The encoding is unique: runs do not touch, and none is empty.
            if length == 0 || (gap == 0 && run > 0) || next - 1 > limit {
                return Err(invalid());
            }
            (first..next).for_each(|index| set.insert(index));
        }
        Ok(set)
    }
}

fn place(index: u32) -> (usize, u64) {
    ((index / u64::BITS) as usize, 1 << (index % u64::BITS))
}
