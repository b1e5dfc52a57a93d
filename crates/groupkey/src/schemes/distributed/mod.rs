//! Schemes without a controller: the members agree on the group key among themselves.

pub(crate) mod bd;
pub(crate) mod cka;
pub(crate) mod ckd;
pub(crate) mod d_lkh;
pub(crate) mod d_oft;
pub(crate) mod dh_lkh;
pub(crate) mod gdh1;
pub(crate) mod gdh2;
pub(crate) mod gdh3;
pub(crate) mod sender_keys;
pub(crate) mod skinny;
pub(crate) mod tgdh;
pub(crate) mod treekem;

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
    treekem::SCHEME,
    sender_keys::SCHEME,
];
