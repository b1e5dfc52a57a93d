//! groupkey for programs in C. `include/groupkey.h` is made from this crate and has its
//! documentation for C.
//!
//! | module | what it is |
//! |---|---|
//! | `interface` | the functions of the header: turns pointers into slices and back; has unsafe code |
//! | `types`, `error` | the types of the header, and its error codes |
//! | `library` | the devices behind the handles |
//! | `need` | how much memory a call may take |
//! | `memory` | the pool that the caller hands over, and the rule of one call at a time; has unsafe code |
//! | `randomness` | the caller's random bytes, drawn before anything changes |
//! | `panics` | no panic crosses the border |
//!
//! All other modules forbid unsafe code.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod error;
mod interface;
mod library;
mod memory;
mod need;
mod panics;
mod randomness;
mod types;

pub use error::Error;
pub use interface::*;
pub use types::*;
