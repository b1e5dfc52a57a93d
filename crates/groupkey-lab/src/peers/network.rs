//! The three networks.

use crate::conditions::Conditions;
use crate::device::Radio;

/// A network in which groups are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerNetwork {
    /// A local network.
    Lan,
    /// The worst network of S000.
    Lossy,
    /// A narrow band.
    Narrow,
}

impl PeerNetwork {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Lan, Self::Lossy, Self::Narrow];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Lossy => "lossy",
            Self::Narrow => "nb-iot",
        }
    }

    /// Returns what it does to packets, in words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Lan => "1 ms each way, nothing is lost",
            Self::Lossy => "10 % of all packets are lost and 100 ms each way, the worst of S000",
            Self::Narrow => {
                "the rate of the radio nb-iot for each client, and 800 ms each way, which is assumed"
            }
        }
    }

    /// Returns the conditions of each client's link.
    pub fn conditions(self) -> Conditions {
        match self {
            Self::Lan => Conditions::of(0.0, 1.0),
            Self::Lossy => Conditions::of(10.0, 100.0),
            Self::Narrow => {
                let radio = Radio::named("nb-iot").expect("it is built in");
                Conditions {
                    bandwidth_kbit_s: Some(radio.bits_per_second as f64 / 1e3),
                    ..Conditions::of(0.0, 800.0)
                }
            }
        }
    }

    /// Whether two runs differ.
    pub(super) const fn is_of_chance(self) -> bool {
        matches!(self, Self::Lossy)
    }
}
