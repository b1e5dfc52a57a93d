//! What groups over MQTT are tested with. No service and no device links this crate.
//!
//! | module | what it is |
//! |---|---|
//! | [`broker`] | a broker in this process |
//! | [`demo`] | a whole group in this process, for a first look |
//! | `impairment` (Linux) | delay and loss on a real network |
//! | `study` (Linux) | the simulator's groups through a real broker |

#![forbid(unsafe_code)]

pub mod broker;
#[cfg(any(target_os = "linux", test))]
mod client;
pub mod demo;
#[cfg(target_os = "linux")]
pub mod impairment;
mod packet;
#[cfg(target_os = "linux")]
pub mod study;
