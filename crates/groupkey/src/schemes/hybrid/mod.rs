//! Schemes with a controller, subgroup controllers under it, and members below these.

pub mod alohali_r;
pub mod dep;
pub mod igkmp;
pub mod iolus;
pub mod kronos;
pub mod lnt;
pub mod marks;
pub mod riseg;
pub mod segcom;
pub mod tkh;

use crate::scheme::Scheme;

/// The schemes of this class, in the order in which tables show them.
pub(super) const SCHEMES: &[Scheme] = &[
    alohali_r::SCHEME,
    dep::SCHEME,
    igkmp::SCHEME,
    kronos::SCHEME,
    lnt::SCHEME,
    marks::SCHEME,
    riseg::SCHEME,
    segcom::SCHEME,
    tkh::SCHEME,
    iolus::SCHEME,
];
