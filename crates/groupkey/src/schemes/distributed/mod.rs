//! Contributory schemes: the members make the key among themselves.

pub mod bd;
pub mod ckd;
pub mod dh_lkh;
pub(crate) mod dh_tree;
pub(crate) mod gdh;
pub mod gdh1;
pub mod gdh2;
pub mod gdh3;
pub mod order;
pub mod skinny;
pub mod tgdh;
