//! Schemes with one controller that hands out keys.

pub(crate) mod enrolment;
pub(crate) mod key_server;
pub(crate) mod key_tree;
pub mod lkh;
pub(crate) mod path_update;
pub mod skdc;
