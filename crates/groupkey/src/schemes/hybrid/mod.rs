//! Schemes with a controller, controllers of subgroups under it, and members below those.

pub(crate) mod domain;
pub mod igkmp;
pub mod lnt;
pub(crate) mod relay;
pub mod riseg;
pub(crate) mod subgroup;
