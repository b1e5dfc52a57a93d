//! Devices and boards: what primitives and bytes cost, and what a member takes of their memory.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::decision::Variant;
use crate::evidence::{Estimate, Uses};

/// A device's prices, and what a program has of its memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DevicePrices {
    /// Its name.
    pub name: String,
    /// What each primitive costs, by suite and by the meter's name of the primitive.
    pub prices: BTreeMap<String, BTreeMap<String, Price>>,
    /// Time to take in a message over MQTT, and an acknowledgement (ns).
    pub packets: (f64, f64),
    /// Power while it computes, and half the width of its interval (W). `None` if nobody knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<(f64, f64)>,
    /// Its radio. `None` if it is on a cable, which is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioPrices>,
    /// The processor on which memory was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountedCore>,
    /// Working memory and program memory that a program has (bytes), if it is a board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<(f64, f64)>,
    /// Where times and power come from, in one sentence: `measured`, `published`, `counted` or
    /// `assumed` comes first.
    pub source: String,
}

/// A processor that stands for a device's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CountedCore {
    /// The name of its device: `cortex-m4` or `rv32imac`.
    pub device: String,
    /// How closely it stands for the other one: `own`, `lower-bound` or `stand-in`.
    pub bearing: String,
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

/// What a radio takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RadioPrices {
    /// Its name: `802.15.4`.
    pub name: String,
    /// The longest payload of a packet (bytes). A longer message takes several.
    pub packet: f64,
    /// What sending takes.
    pub send: OnAir,
    /// What receiving takes.
    pub receive: OnAir,
    /// What it takes until the first packet can pass, and half the width of its interval (J), if
    /// the radio sleeps or connects anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<(f64, f64)>,
    /// How long it stays awake after the last packet (s), its power meanwhile, and half the width
    /// of that power's interval (W).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<(f64, f64, f64)>,
    /// Whether one of these figures is assumed.
    pub is_assumed: bool,
}

/// Energy on the air.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnAir {
    /// Of a packet, beside its payload (J).
    pub per_packet: f64,
    /// Of a byte of payload (J).
    pub per_byte: f64,
    /// Half the width of the interval of both (share).
    #[serde(default)]
    pub error: f64,
}

/// Bytes of the headers of a message on a link: TCP, IP, MQTT and its topic.
pub const MESSAGE_HEADERS: f64 = 70.0;

/// A device or a radio of one's own, as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFile {
    /// The file's path, as requirements name it.
    pub name: String,
    /// The file's text, for programs that need more of it than prices.
    pub text: String,
    /// Its prices.
    pub prices: FilePrices,
}

/// What a file describes.
#[derive(Clone, Debug, PartialEq)]
pub enum FilePrices {
    /// A device.
    Device(Box<DevicePrices>),
    /// A radio.
    Radio(RadioPrices),
}

impl RadioPrices {
    /// Returns the radios that come with the program, in the order of their names.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<RadioPrices>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../data/radios.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns the energy that a radio takes for one of many wake-ups at random times, so many a
    /// second on average, and half the width of its interval (J). A radio that is still awake is not
    /// woken, and two tails that overlap are one.
    pub fn waking(&self, a_second: f64) -> (f64, f64) {
        let (joule, error_joule) = self.wake.unwrap_or_default();
        let (seconds, watt, error_watt) = self.tail.unwrap_or_default();
        // Of a Poisson process: whether no wake-up lies within the tail before, and how long it is
        // until the next one, at most the tail.
        let still = (-a_second * seconds).exp();
        let awake = if a_second > 0.0 { (1.0 - still) / a_second } else { seconds };
        (still * joule + awake * watt, (still * error_joule).hypot(awake * error_watt))
    }
}

impl OnAir {
    /// Returns the energy of these packets with these bytes in all (J).
    pub fn energy(self, packets: f64, bytes: f64) -> f64 {
        packets * self.per_packet + bytes * self.per_byte
    }
}

impl DevicePrices {
    /// Returns the devices that come with the program, by ascending name.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<DevicePrices>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../data/devices.jsonl").lines();
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
    /// The same of a member that sends nothing. Empty where that makes little difference: a signature
    /// of suite `pq` takes far more memory than its check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listening: Vec<(u32, f64)>,
    /// Program memory (bytes), if the program was weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<f64>,
}

impl MemberMemory {
    /// Returns what comes with the program.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<MemberMemory>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("../data/memory.jsonl").lines();
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

    /// Returns the working memory of a member that sends, or of one that does not, in a group of this
    /// many members (bytes): that of the next larger size that was measured. Beyond the largest one it
    /// is that of the largest, marked as extrapolated: a member needs at least as much.
    pub fn at(&self, members: u32, sends: bool) -> Option<Estimate<f64>> {
        let is_apart = !sends && !self.listening.is_empty();
        let measured = if is_apart { &self.listening } else { &self.working };
        let next = measured.iter().find(|(measured, _)| *measured >= members);
        let (_, value) = *next.or_else(|| measured.last())?;
        Some(Estimate { value, is_extrapolated: next.is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_memory_power_and_a_radio() {
        let boards = DevicePrices::shipped().iter().filter(|device| device.capacity.is_some());
        for board in boards.clone() {
            let (memory, flash) = board.capacity.expect("it is a board");
            assert!(memory > 0.0 && flash > 0.0 && board.active.is_some(), "{}", board.name);
            assert!(board.radio.is_some() && board.counts.is_some(), "{}", board.name);
        }
        assert!(boards.count() >= 6 && DevicePrices::named("toaster").is_none());
    }

    #[test]
    fn a_radio_that_is_still_awake_is_not_woken() {
        let radio = |name: &str| RadioPrices::shipped().iter().find(|radio| radio.name == name);
        let lte = radio("lte-m").expect("it is shipped");
        let ((wake, _), (seconds, watt, _)) = (lte.wake.unwrap(), lte.tail.unwrap());
        let (seldom, error) = lte.waking(0.0);
        assert!((seldom - wake - seconds * watt).abs() < 1e-12 && error > 0.0);
        // Ten times a tail, it hardly sleeps: each wake-up prolongs the waking by a tenth of it.
        let (often, _) = lte.waking(10.0 / seconds);
        assert!((often - seconds * watt / 10.0).abs() < 0.01 * wake, "{often}");
        assert_eq!(radio("802.15.4").expect("it is shipped").waking(1.0), (0.0, 0.0));
    }

    #[test]
    fn a_size_between_has_the_memory_of_the_next_larger_one() {
        let memory = MemberMemory {
            scheme: "skdc".to_owned(),
            suite: "standard".to_owned(),
            guard: "mac".to_owned(),
            counts: "cortex-m4".to_owned(),
            working: vec![(10, 1_000.0), (100, 2_800.0)],
            listening: Vec::new(),
            flash: None,
        };
        let at = |memory: &MemberMemory, members, sends| {
            memory.at(members, sends).map(|found| (found.value, found.is_extrapolated))
        };
        assert_eq!(at(&memory, 10, true), Some((1_000.0, false)));
        assert_eq!(at(&memory, 11, false), Some((2_800.0, false)));
        assert_eq!(at(&memory, 150, true), Some((2_800.0, true)));
        let apart = MemberMemory { listening: vec![(10, 400.0)], ..memory.clone() };
        assert_eq!(at(&apart, 10, false), Some((400.0, false)));
        assert_eq!(at(&apart, 10, true), Some((1_000.0, false)));
        assert_eq!(at(&MemberMemory { working: Vec::new(), ..memory }, 20, true), None);
    }

    #[test]
    fn what_is_shipped_is_in_order() {
        for memory in MemberMemory::shipped() {
            for measured in [&memory.working, &memory.listening] {
                assert!(measured.is_sorted_by(|a, b| a.0 < b.0), "{memory:?}");
            }
            assert!(groupkey::catalogue::scheme(&memory.scheme).is_some(), "{memory:?}");
        }
    }
}
