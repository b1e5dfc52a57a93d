//! Contributory schemes: the members make the key among themselves.

pub mod bd;
pub mod cka;
pub mod ckd;
pub mod d_lkh;
pub mod d_oft;
pub mod dh_lkh;
pub(crate) mod dh_tree;
mod early;
pub(crate) mod gdh;
pub mod gdh1;
pub mod gdh2;
pub mod gdh3;
pub(crate) mod member_tree;
pub(crate) mod membership;
pub mod order;
pub(crate) mod pairs;
mod round;
pub mod skinny;
pub mod tgdh;
