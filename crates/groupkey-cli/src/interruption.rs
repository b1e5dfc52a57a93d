//! Ctrl-C: the first asks the command to stop and keep what is whole, the second ends the process at
//! once. The first is answered within a second.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::{host, output};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Returns a flag that becomes true when the user presses Ctrl-C (or the system asks the
/// process to end), or when the [host](crate::Host) of the work wants it to stop.
///
/// Without a host, until the first call, Ctrl-C ends the process at once: nothing is worth keeping yet.
pub(crate) fn requested() -> &'static AtomicBool {
    if let Some(host) = host::present() {
        return host.stop();
    }
    // The only possible error is that a handler is already set, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
        // The process is gone by then, unless a piece of work cannot be left in its middle.
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            output::remark("stopping after the present piece of work; Ctrl-C again ends at once");
        });
    });
    &REQUESTED
}

/// Work that ends sooner needs no word.
const PATIENCE: Duration = Duration::from_millis(500);
