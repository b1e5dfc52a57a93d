//! The audit: what a scheme claims, beside what attacking it found.

pub mod attacks;
mod finding;
pub mod published_features;

pub use self::finding::{Finding, Found, Method};
