//! What checks the schemes and measures them, and what no device links.
//!
//! - [`rig`]: a whole group in virtual time, with an adversary on the wire if a test wants one;
//! - [`workbench`]: what each primitive costs by itself;
//! - [`replay`]: one member alone, on the inputs that were recorded in a group;
//! - [`credentials`]: the keys of a whole deployment, made from one seed.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod credentials;
pub mod replay;
pub mod rig;
pub mod workbench;
