//! Schemes with one controller that distributes keys. Stand-ins are there for reproductions of papers alone.

#[cfg(feature = "pairing")]
pub(crate) mod boneh;
pub(crate) mod cfkm;
pub(crate) mod complete_subtree;
pub(crate) mod elk;
#[cfg(feature = "pairing")]
pub(crate) mod fame;
pub(crate) mod gkmp;
pub(crate) mod lkh;
pub(crate) mod lkh_plus;
#[cfg(feature = "pairing")]
pub(crate) mod nishat;
pub(crate) mod ofct;
pub(crate) mod oft;
pub(crate) mod s2rp;
#[cfg(feature = "research")]
pub(crate) mod sbsa_r;
pub(crate) mod sgcsh;
pub(crate) mod skdc;
pub(crate) mod subset_difference;
#[cfg(feature = "research")]
pub(crate) mod xfks_r;

use crate::scheme::Scheme;

/// The schemes of this class, in the order in which tables show them.
pub(super) const SCHEMES: &[Scheme] = &[
    skdc::SCHEME,
    gkmp::SCHEME,
    lkh::USER,
    lkh::KEY,
    lkh::GROUP,
    lkh_plus::SCHEME,
    oft::SCHEME,
    ofct::SCHEME,
    elk::SCHEME,
    cfkm::SCHEME,
    complete_subtree::SCHEME,
    subset_difference::SD,
    subset_difference::LSD,
    s2rp::SCHEME,
    #[cfg(feature = "research")]
    sbsa_r::SCHEME,
    sgcsh::SCHEME,
    #[cfg(feature = "research")]
    xfks_r::SCHEME,
    #[cfg(feature = "pairing")]
    boneh::FAT,
    #[cfg(feature = "pairing")]
    boneh::THIN,
    #[cfg(feature = "pairing")]
    nishat::SCHEME,
    #[cfg(feature = "pairing")]
    fame::SCHEME,
];
