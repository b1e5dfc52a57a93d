//! Records for many receivers in one packed byte string. Each record begins with an id of four
//! bytes, and the records are sorted by id. A receiver among 55,000 finds its own by binary search.

use core::cmp::Ordering;

use crate::error::{Error, Misbehaviour};

/// Records of one length, as received, not copied.
#[derive(Clone, Copy)]
pub(crate) struct SortedRecords<'a> {
    packed: &'a [u8],
    length: usize,
}

impl<'a> SortedRecords<'a> {
    /// Reads records with this many bytes after their id.
    pub(crate) fn parse(packed: &'a [u8], content: usize) -> Result<Self, Error> {
        let length = ID + content;
        if !packed.len().is_multiple_of(length) {
            return Err(Misbehaviour::Malformed.into());
        }
        Ok(Self { packed, length })
    }

    /// Reads records like [`Self::parse`], but refuses an empty string.
    pub(crate) fn parse_some(packed: &'a [u8], content: usize) -> Result<Self, Error> {
        if packed.is_empty() {
            return Err(Misbehaviour::Malformed.into());
        }
        Self::parse(packed, content)
    }

    /// The bytes after an id. If the sender did not sort the records, the search may miss the id.
    pub(crate) fn find(self, id: u32) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.packed.len() / self.length);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (found, content) = split(&self.packed[middle * self.length..][..self.length])?;
            match found.cmp(&id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(content),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// All ids, in the order received.
    pub(crate) fn ids(self) -> impl Iterator<Item = u32> {
        self.packed.chunks(self.length).filter_map(split).map(|(id, _)| id)
    }
}

const ID: usize = 4;

fn split(record: &[u8]) -> Option<(u32, &[u8])> {
    let (id, content) = record.split_first_chunk::<ID>()?;
    Some((u32::from_be_bytes(*id), content))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn each_is_found_and_nothing_else() {
        for count in 0..20u32 {
            let record = |id: u32| [id.to_be_bytes(), [id as u8; 4]].concat();
            let packed: Vec<u8> = (0..count).flat_map(|index| record(2 * index + 1)).collect();
            let records = SortedRecords::parse(&packed, 4).unwrap();
            assert!(records.ids().eq((0..count).map(|index| 2 * index + 1)));
            for id in 0..2 * count + 2 {
                let expected = (id % 2 == 1 && id < 2 * count).then_some([id as u8; 4]);
                assert_eq!(records.find(id), expected.as_ref().map(|content| &content[..]));
            }
            assert_eq!(SortedRecords::parse_some(&packed, 4).is_ok(), count > 0);
            assert_eq!(SortedRecords::parse(&packed, 5).is_ok(), packed.len().is_multiple_of(9));
        }
    }
}
