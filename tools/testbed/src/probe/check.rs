//! The type of a check, and the reasons for which a check ends early.

use groupkey_mqtt::Version;

use crate::probe::bench::Bench;

/// One rule, and the function that tests it.
#[derive(Clone, Copy, Debug)]
pub struct ProbeCheck {
    /// A short name with hyphens.
    pub name: &'static str,
    /// What the check does, and what the broker must do.
    pub about: &'static str,
    /// Clauses of MQTT 3.1.1; `None` if only version 5 has the rule.
    pub clauses_v3: Option<&'static str>,
    /// Clauses of MQTT 5.
    pub clauses_v5: &'static str,
    pub(super) run: fn(&Bench<'_>) -> Result<String, Stop>,
}

impl ProbeCheck {
    /// Returns the clauses that the check tests in this version.
    pub const fn clauses(&self, version: Version) -> Option<&'static str> {
        match version {
            Version::V3 => self.clauses_v3,
            Version::V5 => Some(self.clauses_v5),
        }
    }
}

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
