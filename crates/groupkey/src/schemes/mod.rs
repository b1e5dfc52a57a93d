//! The schemes, one file each, and the catalogue of them all.

pub mod catalogue;
pub mod centralized;
pub mod distributed;
pub mod growth;
pub mod hybrid;
