//! Schemes without a controller: the members agree on the group key among themselves.

pub mod bd;
pub mod cka;
pub mod ckd;
pub mod d_lkh;
pub mod d_oft;
pub mod dh_lkh;
pub mod gdh1;
pub mod gdh2;
pub mod gdh3;
pub mod skinny;
pub mod tgdh;

use crate::scheme::Scheme;

/// The schemes of this class, in the order in which tables show them.
pub(super) const SCHEMES: &[Scheme] = &[
    gdh1::SCHEME,
    gdh2::BROADCAST,
    gdh2::RELAY,
    gdh3::SCHEME,
    tgdh::SCHEME,
    skinny::SCHEME,
    dh_lkh::SCHEME,
    bd::SCHEME,
    cka::SCHEME,
    ckd::SCHEME,
    d_lkh::SCHEME,
    d_oft::SCHEME,
];
