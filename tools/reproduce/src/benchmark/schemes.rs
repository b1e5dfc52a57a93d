//! The schemes of S002, by class.

/// The centralized schemes of S002.
pub(crate) const CENTRALIZED: [&str; 11] = [
    "skdc",
    "gkmp",
    "lkh-group",
    "lkh-plus",
    "oft",
    "ofct",
    "cfkm",
    "s2rp",
    "sbsa-r",
    "sgcsh",
    "xfks-r",
];

/// The hybrid schemes of S002.
pub(super) const HYBRID: [&str; 7] =
    ["alohali-r", "dep", "igkmp", "kronos", "lnt", "marks", "riseg"];

/// The distributed schemes of S002.
pub(crate) const DISTRIBUTED: [&str; 6] = ["bd", "cka", "d-lkh", "d-oft", "dh-lkh", "gdh2"];
