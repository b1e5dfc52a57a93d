//! Fault points: places at which a test can make a service crash.

use crate::runtime::Fatal;

/// The fault points of a service.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) left: Option<u64>,
    pub(super) passed: u64,
    pub(super) dead: bool,
}

impl Faults {
    pub(super) const fn alive(&self) -> Result<(), Fatal> {
        if self.dead { Err(Fatal::Crashed) } else { Ok(()) }
    }

    pub(super) fn pass(&mut self) -> Result<(), Fatal> {
        self.dead |= self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.passed += 1;
        self.alive()
    }
}
