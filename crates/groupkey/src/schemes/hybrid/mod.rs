//! Schemes with a controller, controllers of subgroups under it, and members below those.

pub(crate) mod domain;
pub mod igkmp;
pub mod kronos;
pub mod marks;
pub(crate) mod subgroup;
