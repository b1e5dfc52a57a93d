//! Ctrl-C: the first asks the running campaign to stop after its current work, the second ends the
//! process at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Returns a flag that becomes true when the user presses Ctrl-C (or the system asks the
/// process to end).
///
/// Until the first call, Ctrl-C ends the process at once: nothing is worth keeping yet.
pub(crate) fn requested() -> &'static AtomicBool {
    // The only possible error is that a handler is already set, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
    &REQUESTED
}
