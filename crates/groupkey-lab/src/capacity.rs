//! What a board can hold, and how long its battery lasts: schemes against memory and energy.
//!
//! Counts of what a member does in a change come from the evidence of
//! [`groupkey_choose`]; a [`Board`](crate::device::Board) makes times and joules of them. Both are a
//! **model**. A scheme that a board cannot hold is listed with what is short.

mod battery;
mod change;
mod fit;

pub use self::battery::{Battery, BatteryError, Drain, Life, lives};
pub use self::change::{Change, Circumstances, Obstacle, changes};
pub use self::fit::{Endurance, Fit, Need, Resource, Shortage, Verdict, fits};
