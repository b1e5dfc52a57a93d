//! Schemes with a controller, subgroup controllers under it, and members below these. The stand-in is
//! there for reproductions of papers alone.

#[cfg(feature = "research")]
pub(crate) mod alohali_r;
pub(crate) mod dep;
pub(crate) mod igkmp;
pub(crate) mod iolus;
pub(crate) mod kronos;
pub(crate) mod lnt;
pub(crate) mod marks;
pub(crate) mod riseg;
pub(crate) mod segcom;
pub(crate) mod tkh;

use crate::scheme::Scheme;

/// The schemes of this class, in the order in which tables show them.
pub(super) const SCHEMES: &[Scheme] = &[
    #[cfg(feature = "research")]
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
