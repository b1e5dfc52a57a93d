//! How a check ends early.

/// Why a check ends without a pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rule was broken; what was seen.
    Broken(String),
    /// It cannot be tested; why.
    Skipped(String),
}

/// Goes on only if the rule held so far.
pub(crate) fn require(held: bool, seen: impl FnOnce() -> String) -> Result<(), Stop> {
    if held { Ok(()) } else { Err(Stop::Broken(seen())) }
}
