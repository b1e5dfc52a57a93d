//! Fault points: places at which a test can make a service crash.

use crate::runtime::Fatal;

#[derive(Default)]
pub(super) struct FaultPoints {
    /// How many points are passed before the service crashes.
    left: Option<u64>,
    passed: u64,
    is_dead: bool,
}

impl FaultPoints {
    pub(super) const fn crash_at(&mut self, point: u64) {
        self.left = Some(point);
    }

    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Ends the service.
    pub(super) const fn die(&mut self) {
        self.is_dead = true;
    }

    pub(super) const fn alive(&self) -> Result<(), Fatal> {
        if self.is_dead { Err(Fatal::Crashed) } else { Ok(()) }
    }

    pub(super) fn pass(&mut self) -> Result<(), Fatal> {
        self.is_dead |= self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.passed += 1;
        self.alive()
    }
}
