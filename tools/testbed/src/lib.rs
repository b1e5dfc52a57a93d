//! What groups over MQTT are tested with. No service and no device links this crate.
//!
//! | module | what it is |
//! |---|---|
//! | [`broker`] | a broker in this process |
//! | [`demo`] | a whole group in this process, for a first look |
//! | [`mosquitto`] | a Mosquitto of its own for a test |

#![forbid(unsafe_code)]

pub mod broker;
pub mod demo;
pub mod mosquitto;
mod packet;
