//! Devices and boards: what primitives and bytes cost, and what a member takes of their memory.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::decision::Variant;
use crate::evidence::{Estimate, Uses};

/// A device's prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DevicePrices {
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
    pub radio: Option<RadioPrices>,
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
pub struct RadioPrices {
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

impl DevicePrices {
    /// Returns the devices that come with the program, by ascending name.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<DevicePrices>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../../../data/devices.jsonl").lines();
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

/// A named device: what a program has of its memory, and how it compares with a counted processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoardCapacity {
    /// Its name.
    pub name: String,
    /// The device whose counts stand for it.
    pub counts: String,
    /// How closely they do: `own`, `lower-bound` or `stand-in`.
    pub bearing: String,
    /// Time of an instruction, as a multiple of that of the counts' device.
    pub pace: f64,
    /// Working memory that a program has (bytes).
    pub memory: f64,
    /// Program memory that a program has (bytes).
    pub flash: f64,
    /// Power while it computes (W).
    pub active: f64,
    /// Its radio.
    pub radio: RadioPrices,
}

impl BoardCapacity {
    /// Returns the boards that come with the program.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<BoardCapacity>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../../../data/boards.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns the board of this name among those that come with the program.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::shipped().iter().find(|board| board.name == name)
    }

    /// Returns the prices of a board of this name.
    pub fn device(name: &str) -> Option<&'static DevicePrices> {
        static DEVICES: OnceLock<Vec<DevicePrices>> = OnceLock::new();
        let devices = DEVICES.get_or_init(|| {
            Self::shipped()
                .iter()
                .filter_map(|board| Some(board.price(DevicePrices::named(&board.counts)?)))
                .collect()
        });
        devices.iter().find(|device| device.name == name)
    }

    fn price(&self, counts: &DevicePrices) -> DevicePrices {
        let mut device = counts.clone();
        for price in device.prices.values_mut().flat_map(|prices| prices.values_mut()) {
            price.per_call *= self.pace;
            price.per_unit *= self.pace;
        }
        device.packets = (device.packets.0 * self.pace, device.packets.1 * self.pace);
        device.name.clone_from(&self.name);
        device.active = self.active;
        device.radio = Some(self.radio);
        device.source =
            format!("assumed: counts of {} ({}) at the board's clock", self.counts, self.bearing);
        device
    }
}

/// What a member of one scheme takes on one processor. Parameters are the sound profile's: others
/// change it little.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemberMemory {
    /// The scheme's id.
    pub scheme: String,
    /// The suite's name.
    pub suite: String,
    /// The protection of messages.
    pub guard: String,
    /// The processor, by the name of its device.
    pub counts: String,
    /// Sizes of groups that were measured (members), ascending, each with the most working memory
    /// that the member needed: stack, heap and static variables (bytes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub working: Vec<(u32, f64)>,
    /// Program memory (bytes), if the program was weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<f64>,
}

impl MemberMemory {
    /// Returns what comes with the program.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<MemberMemory>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../../../data/memory.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns what is known of a variant on a processor.
    pub fn of<'m>(memories: &'m [Self], variant: &Variant, counts: &str) -> Option<&'m Self> {
        memories.iter().find(|memory| {
            memory.scheme == variant.scheme
                && memory.suite == variant.suite
                && memory.guard == variant.guard
                && memory.counts == counts
        })
    }

    /// Returns the working memory in a group of this many members (bytes): that of the next larger
    /// size that was measured. Beyond the largest one it is that of the largest, marked as
    /// extrapolated: a member needs at least as much.
    pub fn at(&self, members: u32) -> Option<Estimate<f64>> {
        let next = self.working.iter().find(|(measured, _)| *measured >= members);
        let (_, value) = *next.or_else(|| self.working.last())?;
        Some(Estimate { value, is_extrapolated: next.is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_prices_at_its_own_pace() {
        for board in BoardCapacity::shipped() {
            let device = BoardCapacity::device(&board.name).expect("its counts are shipped");
            let counts = DevicePrices::named(&board.counts).expect("shipped");
            let sign = |device: &DevicePrices| device.prices["standard"]["sign"].per_call;
            assert!((sign(device) / sign(counts) - board.pace).abs() < 1e-9, "{}", board.name);
            assert_eq!(device.counts, counts.counts);
            assert!(board.memory > 0.0 && board.flash > 0.0 && board.active > 0.0);
        }
        assert!(
            BoardCapacity::device("toaster").is_none() && BoardCapacity::named("toaster").is_none()
        );
    }

    #[test]
    fn a_size_between_has_the_memory_of_the_next_larger_one() {
        let memory = MemberMemory {
            scheme: "skdc".to_owned(),
            suite: "standard".to_owned(),
            guard: "mac".to_owned(),
            counts: "cortex-m4".to_owned(),
            working: vec![(10, 1_000.0), (100, 2_800.0)],
            flash: None,
        };
        let at = |members| memory.at(members).map(|found| (found.value, found.is_extrapolated));
        assert_eq!(at(10), Some((1_000.0, false)));
        assert_eq!(at(11), Some((2_800.0, false)));
        assert_eq!(at(150), Some((2_800.0, true)));
        assert_eq!(MemberMemory { working: Vec::new(), ..memory }.at(20), None);
    }

    #[test]
    fn what_is_shipped_is_in_order() {
        for memory in MemberMemory::shipped() {
            assert!(memory.working.is_sorted_by(|a, b| a.0 < b.0), "{memory:?}");
            assert!(groupkey::catalogue::scheme(&memory.scheme).is_some(), "{memory:?}");
        }
    }
}
