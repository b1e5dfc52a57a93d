//! A membership in raw NOR flash: a log over some sectors, for devices without a file system.
//!
//! ```text
//! record:  "GKM1", number (4 bytes), length (4 bytes), the first 8 bytes of a SHA-256 of all that follows
//!          the magic, 12 bytes for later use, the membership, and erased bytes up to a multiple of 32
//! ```
//!
//! Numbers are little-endian. The whole record with the highest number counts. A write that is cut off
//! leaves the one before. A sector is erased when the one before it is full, so the sectors wear out alike.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use embedded_storage::nor_flash::{NorFlash, NorFlashError};
use sha2::{Digest, Sha256};

use crate::store::{MembershipStore, StoreError};

/// A membership in NOR flash. It is encrypted under a key of the device's identity, which must be
/// elsewhere. Earlier memberships stay in the flash until their sector is erased.
///
/// In two sectors of 4 KiB and with records of 512 bytes there is one erasure in eight memberships.
/// Messages, and changes of the key, write nothing.
pub struct MembershipFlash<F> {
    flash: F,
    /// Where the first sector begins, and the last one ends.
    region: Range<u32>,
}

struct FoundRecord {
    number: u32,
    at: u32,
    content: Vec<u8>,
    /// Where the next record goes, unless that part of the sector is not erased.
    end: u32,
}

impl<F: NorFlash> MembershipFlash<F> {
    /// The membership in these bytes of a flash. Nothing else may use them. Fails if they are not two
    /// whole sectors or more, or if the flash cannot be read and written 32 bytes at a time.
    pub fn new(flash: F, region: Range<u32>) -> Result<Self, StoreError> {
        let sector = F::ERASE_SIZE;
        let is_aligned =
            [region.start, region.end].iter().all(|&end| (end as usize).is_multiple_of(sector));
        let is_long = region.len() >= 2 * sector && region.end as usize <= flash.capacity();
        let units = [F::READ_SIZE, F::WRITE_SIZE].iter().all(|&size| UNIT.is_multiple_of(size));
        if !(is_aligned && is_long && units && sector.is_multiple_of(UNIT)) {
            let problem = format!("a membership needs two sectors of {sector} bytes, or more");
            return Err(StoreError::Failed(problem));
        }
        Ok(Self { flash, region })
    }

    /// Returns the flash.
    pub fn into_inner(self) -> F {
        self.flash
    }

    fn latest(&mut self) -> Result<Option<FoundRecord>, StoreError> {
        let mut latest: Option<FoundRecord> = None;
        for sector in self.region.clone().step_by(F::ERASE_SIZE) {
            let (mut at, end) = (sector, self.end_of(sector));
            while let Some(record) = self.record(at, end)? {
                at = record.end;
                if latest.as_ref().is_none_or(|latest| latest.number <= record.number) {
                    latest = Some(record);
                }
            }
        }
        Ok(latest)
    }

    /// Reads the record at this place, if there is a whole one before `end`.
    fn record(&mut self, at: u32, end: u32) -> Result<Option<FoundRecord>, StoreError> {
        if (end - at) as usize <= UNIT {
            return Ok(None);
        }
        let mut header = [0; UNIT];
        self.read(at, &mut header)?;
        let number = |from: usize| {
            let bytes = header[from..from + 4].try_into().expect("they are four");
            u32::from_le_bytes(bytes)
        };
        let length = number(8) as usize;
        if header[..4] != MAGIC || length > (end - at) as usize - UNIT {
            return Ok(None);
        }
        let mut content = vec![0; length.next_multiple_of(UNIT)];
        self.read(at + UNIT as u32, &mut content)?;
        let next = at + (UNIT + content.len()) as u32;
        content.truncate(length);
        let is_whole = header[12..20] == checksum(number(4), &content);
        Ok(is_whole.then_some(FoundRecord { number: number(4), at, content, end: next }))
    }

    /// Makes room for a record behind the latest one. Returns its place.
    fn make_room(
        &mut self,
        latest: Option<&FoundRecord>,
        length: usize,
    ) -> Result<u32, StoreError> {
        let next = match latest {
            None => self.region.start,
            Some(latest) => {
                let end = self.end_of(latest.at);
                if (end - latest.end) as usize >= length && self.is_erased(latest.end, end)? {
                    return Ok(latest.end);
                }
                if end == self.region.end { self.region.start } else { end }
            }
        };
        self.erase(next)?;
        Ok(next)
    }

    fn is_erased(&mut self, from: u32, to: u32) -> Result<bool, StoreError> {
        let mut bytes = [0; UNIT];
        for at in (from..to).step_by(UNIT) {
            self.read(at, &mut bytes)?;
            if bytes != [ERASED; UNIT] {
                return Ok(false);
            }
        }
        Ok(true)
    }

    const fn end_of(&self, at: u32) -> u32 {
        at - at % F::ERASE_SIZE as u32 + F::ERASE_SIZE as u32
    }

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.flash.read(at, bytes).map_err(failed)
    }

    fn erase(&mut self, sector: u32) -> Result<(), StoreError> {
        self.flash.erase(sector, self.end_of(sector)).map_err(failed)
    }
}

impl<F: NorFlash + Send> MembershipStore for MembershipFlash<F> {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.latest()?.map(|record| record.content))
    }

    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError> {
        let length = UNIT + membership.len().next_multiple_of(UNIT);
        let (longest, has) = (F::ERASE_SIZE - UNIT, membership.len());
        if length > F::ERASE_SIZE {
            let problem =
                format!("the membership has {has} bytes, and a sector room for {longest}");
            return Err(StoreError::Failed(problem));
        }
        let latest = self.latest()?;
        let number = latest.as_ref().map_or(0, |latest| latest.number.wrapping_add(1));
        let mut record = vec![ERASED; length];
        record[..4].copy_from_slice(&MAGIC);
        record[4..8].copy_from_slice(&number.to_le_bytes());
        record[8..12].copy_from_slice(&(has as u32).to_le_bytes());
        record[12..20].copy_from_slice(&checksum(number, membership));
        record[UNIT..UNIT + has].copy_from_slice(membership);
        let at = self.make_room(latest.as_ref(), length)?;
        self.flash.write(at, &record).map_err(failed)?;
        let written = self.record(at, self.end_of(at))?;
        let is_kept = written.is_some_and(|written| written.content == membership);
        is_kept.then_some(()).ok_or(StoreError::Unreadable)
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        // The latest one goes last: a reset in between must bring back no earlier one.
        let latest = self.latest()?.map(|latest| self.end_of(latest.at) - F::ERASE_SIZE as u32);
        let sectors = self.region.clone().step_by(F::ERASE_SIZE);
        let others: Vec<_> = sectors.filter(|&sector| Some(sector) != latest).collect();
        others.into_iter().chain(latest).try_for_each(|sector| self.erase(sector))
    }
}

impl<F> fmt::Debug for MembershipFlash<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MembershipFlash").field("region", &self.region).finish_non_exhaustive()
    }
}

/// The header, and the unit in which records are written.
const UNIT: usize = 32;

const MAGIC: [u8; 4] = *b"GKM1";

const ERASED: u8 = 0xFF;

fn checksum(number: u32, content: &[u8]) -> [u8; 8] {
    let hash = Sha256::new()
        .chain_update(number.to_le_bytes())
        .chain_update((content.len() as u32).to_le_bytes())
        .chain_update(content)
        .finalize();
    core::array::from_fn(|place| hash[place])
}

fn failed(error: impl NorFlashError) -> StoreError {
    StoreError::Failed(format!("the flash: {:?}", error.kind()))
}

#[cfg(test)]
mod tests {
    use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash};

    use super::*;

    const SECTOR: usize = 256;

    /// Flash that clears bits, counts, and loses power after so many units of 4 bytes.
    #[derive(Clone)]
    struct Chip {
        bytes: Vec<u8>,
        erased: Vec<u32>,
        units: u32,
        power: u32,
    }

    impl Chip {
        fn new(sectors: usize) -> Self {
            let bytes = vec![ERASED; SECTOR * sectors];
            Self { bytes, erased: vec![0; sectors], units: 0, power: u32::MAX }
        }

        fn spend(&mut self) -> Result<(), NorFlashErrorKind> {
            self.power = self.power.checked_sub(1).ok_or(NorFlashErrorKind::Other)?;
            self.units += 1;
            Ok(())
        }
    }

    impl ErrorType for Chip {
        type Error = NorFlashErrorKind;
    }

    impl ReadNorFlash for Chip {
        const READ_SIZE: usize = 4;

        fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
            bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
            Ok(())
        }

        fn capacity(&self) -> usize {
            self.bytes.len()
        }
    }

    impl NorFlash for Chip {
        const WRITE_SIZE: usize = 4;
        const ERASE_SIZE: usize = SECTOR;

        fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
            for sector in (from as usize..to as usize).step_by(SECTOR) {
                // An erasure that is cut off leaves anything.
                self.bytes[sector..sector + SECTOR / 2].fill(0xA5);
                self.spend()?;
                self.bytes[sector..sector + SECTOR].fill(ERASED);
                self.erased[sector / SECTOR] += 1;
            }
            Ok(())
        }

        fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
            for (place, unit) in bytes.chunks_exact(4).enumerate() {
                self.spend()?;
                let at = offset as usize + 4 * place;
                for (cell, byte) in self.bytes[at..at + 4].iter_mut().zip(unit) {
                    assert_eq!(*cell, ERASED, "a cell is written once");
                    *cell &= byte;
                }
            }
            Ok(())
        }
    }

    fn store(chip: Chip) -> MembershipFlash<Chip> {
        let end = chip.bytes.len() as u32;
        MembershipFlash::new(chip, 0..end).unwrap()
    }

    #[test]
    fn the_last_membership_is_there_and_can_be_forgotten() {
        let mut kept = store(Chip::new(2));
        assert_eq!(kept.load(), Ok(None));
        for round in 0..40u8 {
            let membership = vec![round; 1 + usize::from(round) * 5];
            kept.keep(&membership).unwrap();
            kept = store(kept.into_inner());
            assert_eq!(kept.load(), Ok(Some(membership)));
        }
        let longest = vec![3; SECTOR - UNIT];
        kept.keep(&longest).unwrap();
        assert!(kept.keep(&[longest.clone(), vec![3]].concat()).is_err());
        assert_eq!(kept.load(), Ok(Some(longest)));
        kept.forget().unwrap();
        assert_eq!(kept.load(), Ok(None));
        assert!(kept.into_inner().bytes.iter().all(|&byte| byte == ERASED));
    }

    /// The power fails after every unit of a write, and of a forgetting.
    #[test]
    fn power_that_fails_leaves_the_old_membership_or_the_new_one() {
        for before in 0..7u8 {
            let mut kept = store(Chip::new(2));
            (0..=before).for_each(|round| kept.keep(&[round; 50]).unwrap());
            let chip = kept.into_inner();
            for power in 0..40 {
                let mut kept = store(Chip { power, ..chip.clone() });
                let new = [99; 50];
                let done = kept.keep(&new).is_ok();
                let mut kept = store(Chip { power: u32::MAX, ..kept.into_inner() });
                let there = kept.load().unwrap();
                assert!(there.as_deref() == Some(&new) || !done, "{before} {power}");
                assert!(there.is_some_and(|bytes| bytes == new || bytes == [before; 50]));
                kept.keep(&[100; 70]).unwrap();
                assert_eq!(kept.load(), Ok(Some(vec![100; 70])));
            }
            for power in 0..3 {
                let mut kept = store(Chip { power, ..chip.clone() });
                let done = kept.forget().is_ok();
                let mut kept = store(Chip { power: u32::MAX, ..kept.into_inner() });
                let there = kept.load().unwrap();
                assert!(there.is_none() || !done && there.as_deref() == Some(&[before; 50]));
                kept.forget().unwrap();
                assert_eq!(kept.load(), Ok(None));
            }
        }
    }

    #[test]
    fn sectors_wear_out_alike_and_seldom() {
        let mut kept = store(Chip::new(4));
        (0..1_000u32).for_each(|round| kept.keep(&round.to_le_bytes()).unwrap());
        let chip = kept.into_inner();
        // A record of 64 bytes: four in a sector.
        assert_eq!(chip.erased.iter().sum::<u32>(), 250);
        assert!(chip.erased.iter().all(|&times| (62..=63).contains(&times)), "{:?}", chip.erased);
        assert_eq!(chip.units, 250 + 1_000 * 16);
    }

    #[test]
    fn what_is_no_membership_is_none_and_in_nobodys_way() {
        for filling in [0, 0xA5] {
            let mut chip = Chip::new(2);
            chip.bytes.fill(filling);
            let mut kept = store(chip);
            assert_eq!(kept.load(), Ok(None));
            kept.keep(b"membership").unwrap();
            assert_eq!(kept.load().unwrap().as_deref(), Some(&b"membership"[..]));
            let chip = kept.into_inner();
            for place in 0..UNIT + 10 {
                let mut damaged = chip.clone();
                damaged.bytes[place] ^= 1;
                // The last bytes of a header are not used.
                let is_read = (20..UNIT).contains(&place);
                assert_eq!(store(damaged).load().unwrap().is_some(), is_read, "{place}");
            }
        }
        for region in [0..SECTOR as u32, 1..513, 0..1_024] {
            assert!(MembershipFlash::new(Chip::new(2), region).is_err());
        }
    }
}
