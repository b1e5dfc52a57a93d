//! The audit: what a scheme claims, beside what attacking it found.

pub mod attacks;
mod finding;

pub use self::finding::{Finding, Found, Method};
