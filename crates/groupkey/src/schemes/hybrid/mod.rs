//! Schemes with a controller, controllers of subgroups under it, and members below those.

pub mod alohali_r;
pub(crate) mod area;
pub mod dep;
pub(crate) mod distributor;
pub(crate) mod domain;
pub mod igkmp;
pub mod iolus;
pub mod kronos;
pub mod lnt;
pub mod marks;
pub(crate) mod relay;
pub(crate) mod resumption;
pub mod riseg;
pub mod segcom;
pub(crate) mod subgroup;
pub mod tkh;
