//! The supported versions of MQTT.

use core::fmt;

/// A version of MQTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1.1 (OASIS, 2014).
    V3,
    /// MQTT 5.0 (OASIS, 2019). The default: stale messages expire, sessions end, and refusals have
    /// reasons.
    #[default]
    V5,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::V3, Self::V5];

    /// Returns `3.1.1` or `5`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3 => "3.1.1",
            Self::V5 => "5",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
