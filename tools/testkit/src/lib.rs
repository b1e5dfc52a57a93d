//! What checks the schemes and measures them, and what no device links.
//!
//! - [`rig`]: a whole group in virtual time, with an adversary on the wire if a test wants one;
//! - [`law`]: what a scheme must show before it is compared with others;
//! - [`workbench`]: what each primitive costs by itself;
//! - [`replay`]: one member alone, on the inputs that were recorded in a group;
//! - [`credentials`]: the keys of a whole deployment, made from one seed.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod credentials;
pub mod law;
pub mod replay;
pub mod rig;
pub mod workbench;
