//! The schemes of the study, by their ids in the catalogue.

/// G-DH, which is GDH.2 with the partial keys handed back.
pub(super) const GDH: &str = "gdh2-relay";
/// LKH in its three strategies.
pub(super) const LKH: [&str; 3] = ["lkh-group", "lkh-user", "lkh-key"];
/// All schemes of the study.
pub(super) const SCHEMES: [&str; 5] = ["skdc", "lkh-user", "lkh-key", "lkh-group", GDH];
