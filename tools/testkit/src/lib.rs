//! What checks the schemes and measures them, and what no device links.
//!
//! - [`rig`]: a whole group in virtual time, with an adversary on the wire if a test wants one;
//! - [`law`]: what a scheme must show before it is compared with others;
//! - [`workbench`]: what each primitive costs by itself;
//! - [`replay`]: one member alone, on the inputs that were recorded in a group;
//! - [`sample`]: the cases of today, where all take too long;
//! - [`credentials`]: the keys of a whole deployment, made from one seed.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(not(target_os = "none"))]
extern crate std;

pub mod credentials;
pub mod law;
pub mod replay;
pub mod rig;
#[cfg(not(target_os = "none"))]
pub mod sample;
pub mod workbench;
