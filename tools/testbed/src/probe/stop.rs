//! The reasons for which a check ends early.

/// The reason why a check ends without a pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rule was broken, as the text describes.
    Broken(String),
    /// The rule cannot be tested, for this reason.
    Skipped(String),
}

/// Fails unless the rule has held so far.
pub(crate) fn require(held: bool, seen: impl FnOnce() -> String) -> Result<(), Stop> {
    if held { Ok(()) } else { Err(Stop::Broken(seen())) }
}
