//! What can be recommended: a scheme with its parameters, its algorithms and its service quality.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A scheme with all that can be chosen for it, in its sound form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Candidate {
    /// What decides on its counts.
    #[serde(flatten)]
    pub variant: Variant,
    /// Quality of service of its messages: 0, 1 or 2.
    pub qos: u8,
}

/// A scheme with its parameters, algorithms and protection. Its counts do not depend on the
/// network.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Variant {
    /// The scheme's id in the catalogue.
    pub scheme: String,
    /// The parameters that differ from the sound profile's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, u32>,
    /// The suite of algorithms, by its name.
    pub suite: String,
    /// The protection of messages: `mac` or `signature`.
    pub guard: String,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))?;
        write!(f, ", {}, {}", self.suite, self.guard)
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, QoS {}", self.variant, self.qos)
    }
}
