//! What all key servers have in common, and what the members that they serve have in common.

pub(crate) mod enrolment;
mod individual_keys;
mod member;
#[cfg(feature = "centralized")]
mod server;
pub(crate) mod slot_index;

pub(crate) use self::member::{Continuation, ServedMembership};
#[cfg(feature = "centralized")]
pub(crate) use self::server::{KeyServer, ServedGroup};
