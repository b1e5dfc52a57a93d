//! The audit: what a scheme claims, beside what attacking it found.

mod finding;

pub use self::finding::{Finding, Found, Method};
