//! Subgroup controllers: their domain, their members, and how news travels between them.

pub(crate) mod area;
mod controller;
pub(crate) mod distributor;
pub(crate) mod domain;
pub(crate) mod notice;
pub(crate) mod relay;
pub(crate) mod resumption;

pub(crate) use self::controller::*;
pub(crate) use self::notice::{OPENING, is_opening, member_list};
