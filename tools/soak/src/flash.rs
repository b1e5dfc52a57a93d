//! The memory of a device: it can be full, fail in the middle of a write, and be replaced by an old copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use groupkey_mqtt::store::{MembershipStore, StoreError};

/// What a device keeps. Clones share their content, which outlives the process.
#[derive(Clone, Default)]
pub(crate) struct DeviceFlash(Arc<Mutex<FlashContent>>);

#[derive(Default)]
struct FlashContent {
    /// All that was ever written, in order; nothing where the device forgot.
    versions: Vec<Option<Vec<u8>>>,
    present: Option<Vec<u8>>,
    /// Whether that is what the device wrote last, or wanted to.
    is_latest: bool,
    is_full: bool,
    /// The fault points until the device dies, if it does.
    dies_in: Option<u64>,
    is_dead: bool,
    /// What was encrypted since it was last asked.
    made: Vec<Vec<u8>>,
}

impl DeviceFlash {
    /// Refuses writes, or takes them again.
    pub(crate) fn fill(&self, is_full: bool) {
        self.content().is_full = is_full;
    }

    /// Lets the device die at its fault point of this number from now. Fault points are before and after
    /// each input, write and message.
    pub(crate) fn die_at(&self, point: u64) {
        self.content().dies_in = Some(point);
    }

    pub(crate) fn reach(&self) -> bool {
        self.content().reach()
    }

    /// The next process begins.
    pub(crate) fn revive(&self) {
        let mut content = self.content();
        (content.is_dead, content.dies_in) = (false, None);
    }

    /// Replaces the content by what it was some writes ago, if there are so many.
    pub(crate) fn put_back(&self, age: usize) -> bool {
        let mut content = self.content();
        let Some(place) = content.versions.len().checked_sub(1 + age) else { return false };
        content.present = content.versions[place].clone();
        content.is_latest = age == 0;
        true
    }

    /// Loses everything.
    pub(crate) fn erase(&self) {
        let mut content = self.content();
        (content.present, content.is_latest) = (None, true);
    }

    /// Returns whether a membership is there, and the device kept none since.
    pub(crate) fn has_latest(&self) -> bool {
        let content = self.content();
        content.is_latest && content.present.is_some()
    }

    /// Takes what was encrypted since this was last called.
    pub(crate) fn take_made(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.content().made)
    }

    fn content(&self) -> MutexGuard<'_, FlashContent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, membership: Option<&[u8]>) -> Result<(), StoreError> {
        let mut content = self.content();
        content.is_latest = false;
        content.made.extend(membership.map(<[u8]>::to_vec));
        if content.reach() || content.is_full {
            return Err(StoreError::Failed("no space left on device".to_owned()));
        }
        let kept = membership.map(<[u8]>::to_vec);
        content.versions.push(kept.clone());
        (content.present, content.is_latest) = (kept, true);
        content.reach();
        Ok(())
    }
}

impl FlashContent {
    fn reach(&mut self) -> bool {
        match &mut self.dies_in {
            Some(0) => self.is_dead = true,
            Some(left) => *left -= 1,
            None => {}
        }
        self.is_dead
    }
}

impl MembershipStore for DeviceFlash {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content().present.clone())
    }

    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError> {
        self.write(Some(membership))
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        self.write(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_dies_before_or_after_a_write() {
        for (point, kept) in [(0, None), (1, Some(vec![7]))] {
            let mut flash = DeviceFlash::default();
            flash.die_at(point);
            assert_eq!(flash.keep(&[7]).is_ok(), kept.is_some());
            assert!(flash.reach());
            assert_eq!(flash.load().unwrap(), kept);
            flash.revive();
            assert!(!flash.reach());
            assert_eq!(flash.take_made(), [[7]]);
        }
    }

    #[test]
    fn an_old_copy_takes_the_place_of_the_last_write() {
        let mut flash = DeviceFlash::default();
        flash.keep(&[1]).unwrap();
        flash.keep(&[2]).unwrap();
        assert!(flash.has_latest() && !flash.put_back(2));
        assert!(flash.put_back(1) && !flash.has_latest());
        assert_eq!(flash.load().unwrap(), Some(vec![1]));
        flash.fill(true);
        assert!(flash.keep(&[3]).is_err());
        assert_eq!(flash.load().unwrap(), Some(vec![1]));
        flash.fill(false);
        flash.forget().unwrap();
        assert_eq!(flash.load().unwrap(), None);
    }
}
