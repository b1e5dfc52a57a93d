//! Schemes with one controller that distributes keys.

#[cfg(feature = "pairing")]
pub mod boneh;
pub mod cfkm;
pub mod gkmp;
pub mod lkh;
pub mod lkh_plus;
#[cfg(feature = "pairing")]
pub mod nishat;
pub mod ofct;
pub mod oft;
pub mod s2rp;
pub mod sbsa_r;
pub mod sgcsh;
pub mod skdc;
pub mod xfks_r;

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
    cfkm::SCHEME,
    s2rp::SCHEME,
    sbsa_r::SCHEME,
    sgcsh::SCHEME,
    xfks_r::SCHEME,
    #[cfg(feature = "pairing")]
    boneh::FAT,
    #[cfg(feature = "pairing")]
    boneh::THIN,
    #[cfg(feature = "pairing")]
    nishat::SCHEME,
];
