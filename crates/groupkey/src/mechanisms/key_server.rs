//! What all key servers do alike, and all members that they serve.

pub(crate) mod enrolment;
mod individual_keys;
mod member;
#[cfg(feature = "centralized")]
mod server;
pub(crate) mod slot_index;

pub(crate) use self::member::{Admission, Membership};
#[cfg(feature = "centralized")]
pub(crate) use self::server::{KeyServer, ServedGroup};
