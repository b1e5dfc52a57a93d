//! The schemes by class, one file or folder each, and the catalogue of all schemes.

pub mod catalogue;
#[cfg(feature = "centralized")]
pub(crate) mod centralized;
#[cfg(feature = "distributed")]
pub(crate) mod distributed;
#[cfg(feature = "hybrid")]
pub(crate) mod hybrid;
