//! Ctrl-C: the first asks the running campaign to stop after what it is at, the second ends at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Becomes true when the user presses Ctrl-C (or the system asks the process to end).
///
/// Until the first call, Ctrl-C ends the process at once: nothing is worth keeping yet.
pub(crate) fn requested() -> &'static AtomicBool {
    // The only error is a handler that is set already, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
    &REQUESTED
}
