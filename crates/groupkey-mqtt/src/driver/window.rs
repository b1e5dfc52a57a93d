//! How many publishes may be in flight to a broker that does not announce a limit.

/// The number of publishes that may be in flight. It is unlimited until a broker stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    size: usize,
    /// Acknowledgements since the window last grew.
    acknowledged: usize,
}

impl Window {
    /// Returns whether one more publish may be in flight.
    pub(super) const fn has_room(self, in_flight: usize) -> bool {
        in_flight < self.size
    }

    /// Shrinks the window after a stall to a quarter of the publishes that were in flight.
    pub(super) fn stalled(&mut self, in_flight: usize) {
        *self = Self { size: (in_flight / 4).max(1), acknowledged: 0 };
    }

    /// Counts an acknowledgement. A full window of acknowledgements makes the window larger by one.
    /// The window thus grows towards the broker's limit, so slowly that a broker with a low limit
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
        // The window grows from its smallest size to more publishes than a link ever has in flight.
        window.stalled(3);
        assert!(window.has_room(0) && !window.has_room(1));
        (0..2_080).for_each(|_| window.acknowledged());
        assert!(window.has_room(64));
    }
}
