//! A program around the command: it says when to stop, and hears of progress and remarks.
//!
//! A command that was started from a terminal has none. It listens for Ctrl-C, and writes to
//! standard error.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A program that calls the command as a library.
pub struct Host {
    ears: HostEars,
}

/// What a command tells its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostNotice<'a> {
    /// How far the work is.
    Progress {
        /// Units done.
        done: usize,
        /// Units in all; 0 if that is not known yet.
        total: usize,
        /// What is counted, in words: `runs`.
        unit: &'a str,
    },
    /// A sentence or two about the results, or about the work.
    Remark(&'a str),
}

/// What the work of a host knows of it.
#[derive(Clone)]
pub(crate) struct HostEars {
    stop: &'static AtomicBool,
    hear: Arc<dyn Fn(HostNotice<'_>) + Send + Sync>,
}

impl Host {
    /// Creates a host. `hear` may be called from any thread.
    pub fn new(hear: impl Fn(HostNotice<'_>) + Send + Sync + 'static) -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stop = free.unwrap_or_else(|| Box::leak(Box::default()));
        stop.store(false, Ordering::Relaxed);
        Self { ears: HostEars { stop, hear: Arc::new(hear) } }
    }

    /// Asks the work to stop and to keep what is whole. It does within a second.
    pub fn stop(&self) {
        self.ears.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the work must stop. For work that is no command.
    pub fn is_stopping(&self) -> bool {
        self.ears.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let outer = HOST.replace(Some(self.ears.clone()));
        let done = work();
        HOST.set(outer);
        done
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.ears.stop);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("stop", self.ears.stop).finish_non_exhaustive()
    }
}

impl HostEars {
    pub(crate) fn tell(&self, notice: HostNotice<'_>) {
        (self.hear)(notice);
    }

    /// Returns the flag that becomes true when the host wants the work to stop.
    pub(crate) const fn stop(&self) -> &'static AtomicBool {
        self.stop
    }
}

pub(crate) fn present() -> Option<HostEars> {
    HOST.with_borrow(Clone::clone)
}

thread_local! {
    static HOST: RefCell<Option<HostEars>> = const { RefCell::new(None) };
}

/// Flags of hosts that are gone. Commands hold flags for as long as the process lives, so they are
/// used again.
static FREE: Mutex<Vec<&'static AtomicBool>> = Mutex::new(Vec::new());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interruption;
    use crate::progress::ProgressBar;

    #[test]
    fn work_hears_its_own_host_alone() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let host = Host::new(move |notice| ear.lock().expect("whole").push(format!("{notice:?}")));
        host.run(|| {
            let stop = interruption::requested();
            assert!(!stop.load(Ordering::Relaxed));
            host.stop();
            assert!(stop.load(Ordering::Relaxed));
            ProgressBar::counting("steps").advance(1, 2);
            Host::new(|_| ()).run(|| assert!(!interruption::requested().load(Ordering::Relaxed)));
            crate::output::remark("slow");
        });
        assert!(present().is_none());
        let heard = heard.lock().expect("whole");
        let expected = ["Progress { done: 1, total: 2, unit: \"steps\" }", "Remark(\"slow\")"];
        assert_eq!(heard[..], expected);
    }
}
