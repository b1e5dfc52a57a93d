//! The schemes, one file or folder each, by class; and the catalogue of them all.

pub mod catalogue;
#[cfg(feature = "centralized")]
pub mod centralized;
#[cfg(feature = "distributed")]
pub mod distributed;
#[cfg(feature = "hybrid")]
pub mod hybrid;
