//! How much of the tests that run every scheme a scheme gets. Pairings take milliseconds where
//! other schemes take microseconds: those have smaller groups and fewer histories here. Attacks,
//! costs and odd sizes of such a scheme are in tests of its own.

use groupkey::catalogue::Scheme;

/// So many of the usual number of histories, one at least.
pub(crate) fn share_of(scheme: &Scheme, usual: u32) -> u32 {
    if is_slow(scheme) { usual.div_ceil(3) } else { usual }
}

pub(crate) fn largest(scheme: &Scheme, usual: u32) -> u32 {
    if is_slow(scheme) { usual.min(9) } else { usual }
}

/// Both ends of a parameter's range. A fat client of Boneh+ checks twice its capacity of elements.
pub(crate) fn range(scheme: &Scheme, (low, high): (u32, u32)) -> (u32, u32) {
    if scheme.id == "boneh-fat" { (low, high.min(low + 128)) } else { (low, high) }
}

fn is_slow(scheme: &Scheme) -> bool {
    ["boneh-fat", "boneh-thin", "fame", "nishat"].contains(&scheme.id)
}
