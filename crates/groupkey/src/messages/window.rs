//! A replay window: the newest counter and the 63 before it, one bit each (RFC 4303 section 3.4.3).

/// The counters received from one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayWindow {
    /// The newest counter plus one.
    next: u64,
    /// Bit i says whether the counter `next - 1 - i` was seen.
    seen: u64,
}

impl ReplayWindow {
    /// The number of counters in the window: the newest and the 63 before it.
    pub(super) const LENGTH: u64 = 64;

    /// Returns whether this counter is new. A counter older than the window does not count as new.
    pub(super) const fn takes(&self, counter: u64) -> bool {
        if counter >= self.next {
            return true;
        }
        let age = self.next - 1 - counter;
        age < Self::LENGTH && self.seen >> age & 1 == 0
    }

    /// Remembers a counter that [`Self::takes`] allowed.
    pub(super) const fn note(&mut self, counter: u64) {
        if counter >= self.next {
            let step = counter - self.next + 1;
            self.seen = if step < Self::LENGTH { self.seen << step } else { 0 };
            self.seen |= 1;
            self.next = counter + 1;
        } else {
            self.seen |= 1 << (self.next - 1 - counter);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_counter_may_be_any() {
        for first in [0, 1, 63, 64, 1 << 40] {
            let mut window = ReplayWindow::default();
            assert!(window.takes(first));
            window.note(first);
            assert!(!window.takes(first));
            assert!(window.takes(first + 1));
            assert!(first.checked_sub(1).is_none_or(|before| window.takes(before)));
            assert!(first.checked_sub(64).is_none_or(|before| !window.takes(before)));
        }
    }

    proptest! {
        #[test]
        fn each_counter_is_taken_once(counters in proptest::collection::vec(0u64..200, 0..100)) {
            let mut window = ReplayWindow::default();
            let mut seen = BTreeSet::new();
            for counter in counters {
                let newest = seen.last().copied().unwrap_or(0);
                let recent = counter + ReplayWindow::LENGTH > newest;
                prop_assert_eq!(window.takes(counter), recent && !seen.contains(&counter));
                if window.takes(counter) {
                    window.note(counter);
                    seen.insert(counter);
                }
            }
        }
    }
}
