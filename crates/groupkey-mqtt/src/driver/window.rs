//! How many publishes may be in flight to a broker that does not announce a limit.

/// A number of publishes. It is unlimited until a broker stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    size: usize,
    /// Acknowledgements since it last grew.
    acknowledged: usize,
}

impl Window {
    /// Whether one more publish may be in flight.
    pub(super) const fn has_room(self, flying: usize) -> bool {
        flying < self.size
    }

    /// The broker stalled with this many in flight. It gets a quarter of them from now on.
    pub(super) fn stalled(&mut self, flying: usize) {
        *self = Self { size: (flying / 4).max(1), acknowledged: 0 };
    }

    /// The broker acknowledged one. A full window of acknowledgements makes the window larger by
    /// one. So it grows towards the broker's limit, slowly enough that a broker with a low limit
    /// seldom stalls.
    pub(super) const fn acknowledged(&mut self) {
        self.acknowledged += 1;
        if self.acknowledged >= self.size {
            *self = Self { size: self.size.saturating_add(1), acknowledged: 0 };
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self { size: usize::MAX, acknowledged: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_small_after_a_stall_and_grows_with_what_is_acknowledged() {
        let mut window = Window::default();
        assert!(window.has_room(1_000));
        window.stalled(40);
        assert!(window.has_room(9) && !window.has_room(10));
        (0..9).for_each(|_| window.acknowledged());
        assert!(!window.has_room(10));
        window.acknowledged();
        assert!(window.has_room(10) && !window.has_room(11));
        // From the smallest window to more than a link ever has in flight.
        window.stalled(3);
        assert!(window.has_room(0) && !window.has_room(1));
        (0..2_080).for_each(|_| window.acknowledged());
        assert!(window.has_room(64));
    }
}
