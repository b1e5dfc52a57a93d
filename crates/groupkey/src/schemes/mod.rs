//! The schemes by class, one file or folder each, and the catalogue of all schemes.

pub mod catalogue;
#[cfg(feature = "centralized")]
pub mod centralized;
#[cfg(feature = "distributed")]
pub mod distributed;
#[cfg(feature = "hybrid")]
pub mod hybrid;
