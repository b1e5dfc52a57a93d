//! Welcomes that may have to be published again.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The latest welcomes, encrypted as they were published.
#[derive(Default)]
pub(super) struct Welcomes {
    by_age: BTreeMap<u64, (u32, Vec<u8>)>,
    ages: BTreeMap<u32, u64>,
    next: u64,
    bytes: usize,
}

impl Welcomes {
    /// Keeps a member's welcome in place of its earlier welcome. Drops the oldest welcomes if there
    /// is no room.
    pub(super) fn keep(&mut self, member: u32, welcome: Vec<u8>) {
        if let Some(age) = self.ages.insert(member, self.next) {
            self.drop_aged(age);
        }
        self.bytes += welcome.len();
        self.by_age.insert(self.next, (member, welcome));
        self.next += 1;
        while self.bytes > ROOM
            && let Some((&oldest, &(member, _))) = self.by_age.first_key_value()
        {
            self.ages.remove(&member);
            self.drop_aged(oldest);
        }
    }

    pub(super) fn of(&self, member: u32) -> Option<&[u8]> {
        let (_, welcome) = self.by_age.get(self.ages.get(&member)?)?;
        Some(welcome)
    }

    fn drop_aged(&mut self, age: u64) {
        if let Some((_, welcome)) = self.by_age.remove(&age) {
            self.bytes -= welcome.len();
        }
    }
}

/// The maximum number of bytes to keep: some 30,000 welcomes of LKH.
const ROOM: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_its_latest_welcome() {
        let mut welcomes = Welcomes::default();
        welcomes.keep(7, vec![1; 10]);
        welcomes.keep(8, vec![2; 10]);
        welcomes.keep(7, vec![3; 5]);
        assert_eq!(welcomes.of(7), Some(&[3; 5][..]));
        assert_eq!(welcomes.of(8), Some(&[2; 10][..]));
        assert_eq!(welcomes.of(9), None);
        assert_eq!((welcomes.bytes, welcomes.by_age.len()), (15, 2));
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room() {
        let mut welcomes = Welcomes::default();
        for member in 0..100 {
            welcomes.keep(member, vec![0; ROOM / 10]);
        }
        assert_eq!((welcomes.by_age.len(), welcomes.ages.len()), (10, 10));
        assert!(welcomes.bytes <= ROOM && welcomes.of(89).is_none() && welcomes.of(90).is_some());
        welcomes.keep(1, vec![0; ROOM + 1]);
        assert_eq!((welcomes.bytes, welcomes.ages.len()), (0, 0));
    }
}
