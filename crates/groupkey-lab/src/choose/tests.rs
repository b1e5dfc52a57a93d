mod answers;
mod counts;
mod models;
mod races;

use std::sync::atomic::AtomicBool;

/// Nothing is stopped.
static GOING_ON: AtomicBool = AtomicBool::new(false);
