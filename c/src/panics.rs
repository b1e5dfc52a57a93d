//! No panic crosses the border. With `std`, a call that panics returns an error. Without, the caller's
//! handler ends the program.

use crate::error::Error;

#[cfg(feature = "std")]
pub(crate) use self::caught::{catch, silence};
#[cfg(not(feature = "std"))]
pub(crate) use self::fatal::{catch, silence};

/// Ends the program.
pub(crate) fn abort() -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    // SAFETY: the C library's function, which takes nothing and never returns.
    unsafe { abort() }
}

#[cfg(feature = "std")]
mod caught {
    use std::boxed::Box;
    use std::panic;

    use super::Error;

    /// Runs `act`. Returns an error if it panics.
    pub(crate) fn catch<T>(act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        // Whoever panicked is not used again: see `Library`.
        panic::catch_unwind(panic::AssertUnwindSafe(act)).unwrap_or(Err(Error::Panicked))
    }

    /// Keeps panics off the standard error.
    pub(crate) fn silence() {
        // A closure that captures nothing takes no memory.
        panic::set_hook(Box::new(|_| ()));
    }

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(catch(|| Ok(1)), Ok(1));
        assert_eq!(catch::<()>(|| panic!("on purpose")), Err(Error::Panicked));
    }
}

#[cfg(not(feature = "std"))]
mod fatal {
    use super::Error;

    pub(crate) fn catch<T>(act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        act()
    }

    pub(crate) const fn silence() {}

    #[cfg(not(test))]
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        crate::memory::POOL.fatal(Error::Panicked)
    }
}
