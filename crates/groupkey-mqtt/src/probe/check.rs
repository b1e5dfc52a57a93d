//! What a check is.

use crate::probe::bench::Bench;
use crate::probe::stop::Stop;
use crate::version::Version;

/// One rule, and what tests it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Short, with hyphens.
    pub name: &'static str,
    /// What is done, and what must come of it.
    pub about: &'static str,
    /// Clauses of MQTT 3.1.1; nothing where only version 5 has the rule.
    pub clauses_v3: Option<&'static str>,
    /// Clauses of MQTT 5.
    pub clauses_v5: &'static str,
    pub(super) run: fn(&Bench<'_>) -> Result<String, Stop>,
}

impl Check {
    /// The clauses that it tests in this version.
    pub const fn clauses(&self, version: Version) -> Option<&'static str> {
        match version {
            Version::V3 => self.clauses_v3,
            Version::V5 => Some(self.clauses_v5),
        }
    }
}
