//! What primitives and bytes cost on a device.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::evidence::Uses;

/// A device's prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// The name of its profile.
    pub name: String,
    /// What each primitive costs, by suite and by the meter's name of the primitive.
    pub prices: BTreeMap<String, BTreeMap<String, Price>>,
    /// Time to take in a message over MQTT, and an acknowledgement (ns).
    pub packets: (f64, f64),
    /// Power while it computes (W).
    pub active: f64,
    /// Its radio. `None` if it is on a cable, which is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// The processor on which memory was counted, by the name of its device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
    /// Where power and radio come from, in one sentence: `measured`, `published`, `counted` or
    /// `assumed` comes first.
    pub source: String,
}

/// What one primitive costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    /// Time of a call (ns).
    pub per_call: f64,
    /// Time of a unit of the call's amount (ns).
    #[serde(default)]
    pub per_unit: f64,
}

/// What a device's radio takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Radio {
    /// The longest payload of a packet (bytes). A longer message takes several.
    pub packet: f64,
    /// What sending takes.
    pub send: OnAir,
    /// What receiving takes.
    pub receive: OnAir,
}

/// Energy on the air.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnAir {
    /// Of a packet, beside its payload (J).
    pub per_packet: f64,
    /// Of a byte of payload (J).
    pub per_byte: f64,
}

impl OnAir {
    /// Returns the energy of these packets with these bytes in all (J).
    pub(crate) fn energy(self, packets: f64, bytes: f64) -> f64 {
        packets * self.per_packet + bytes * self.per_byte
    }
}

impl Device {
    /// Returns the devices that come with the program, by ascending name.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<Device>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("shipped/devices.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns the device of this name among those that come with the program.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::shipped().iter().find(|device| device.name == name)
    }

    /// Returns the time of counted primitives (ns), or `None` if the device has no price for one of
    /// them.
    pub fn time(&self, suite: &str, uses: &Uses) -> Option<f64> {
        let prices = self.prices.get(suite)?;
        let mut time = 0.0;
        for (primitive, count) in &uses.0 {
            let price = prices.get(primitive)?;
            time += count.calls * price.per_call + count.amount * price.per_unit;
        }
        Some(time)
    }
}
