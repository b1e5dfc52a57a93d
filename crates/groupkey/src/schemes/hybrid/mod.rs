//! Schemes with a controller, controllers of subgroups under it, and members below those.

pub mod dep;
pub(crate) mod domain;
pub mod igkmp;
pub mod iolus;
pub mod kronos;
pub mod marks;
pub mod segcom;
pub(crate) mod subgroup;
pub mod tkh;
