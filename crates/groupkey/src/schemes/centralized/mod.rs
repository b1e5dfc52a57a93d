//! Schemes with one controller that hands out keys.

pub mod cfkm;
pub(crate) mod enrolment;
pub mod gkmp;
pub(crate) mod individual_keys;
pub(crate) mod key_server;
pub(crate) mod key_tree;
pub mod lkh;
pub mod lkh_plus;
pub(crate) mod masking;
pub mod ofct;
pub(crate) mod path_update;
pub mod sbsa_r;
pub mod skdc;
pub mod xfks_r;
