//! Without the feature `tracing` nobody sees anything, and the compiler removes the calls.

use groupkey::Error;

use crate::event::MemberEvent;
use crate::service::ServiceEvent;

pub(crate) const fn member(_: &MemberEvent) {}

pub(crate) const fn service(_: &ServiceEvent) {}

pub(crate) const fn refused(_: &Error) {}

#[cfg(feature = "std")]
pub(crate) const fn connected(_: &str, _: u64) {}

#[cfg(feature = "std")]
pub(crate) const fn disconnected(_: &str, _: &str, _: core::time::Duration) {}

#[cfg(feature = "std")]
pub(crate) const fn lost(_: &str) {}

#[cfg(feature = "std")]
pub(crate) const fn in_span<F: Future>(_: &str, driver: F) -> F {
    driver
}
