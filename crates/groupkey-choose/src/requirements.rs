//! What a group needs: its members, its devices, its network, and what must not be exceeded.

mod draft;
mod fields;
mod file;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::device::{DeviceFile, DevicePrices, FilePrices, RadioPrices};

pub use self::draft::{FieldSetting, RequirementsDraft, RequirementsError};
pub use self::fields::{FIELDS, Field, FieldKind};
pub use self::file::{EXAMPLES, NamedFiles, to_toml};

/// The requirements of one group. Every field has a default, which requires nothing or is the
/// commonest case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Requirements {
    /// The number of members, and how it changes.
    pub members: Members,
    /// Who may hold the group's keys beside its members.
    pub trust: Trust,
    /// What the parties run on.
    pub devices: Devices,
    /// What lies between the parties.
    pub network: NetworkConditions,
    /// What must hold against an adversary.
    pub security: Security,
    /// What must not be exceeded.
    pub limits: Limits,
    /// How members behave that are not always there.
    pub presence: Presence,
    /// What one wants least of.
    pub weights: Weights,
}

/// The number of members, and how it changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Members {
    /// Members now; costs are those of a group of this size.
    pub now: u32,
    /// Members at most; limits must hold up to this size. 0 means as many as now.
    pub most: u32,
    /// Joins an hour.
    pub joins: f64,
    /// Leaves and evictions an hour.
    pub leaves: f64,
    /// How many members join or leave at once, on average. A scheme with batches changes the key
    /// once for all of them, any other once for each.
    pub burst: f64,
    /// How long joins wait, and evictions after a change of the key, so that they become one change
    /// (ms): [`crate::periods`]. 0 means not at all.
    pub batch: f64,
    /// Changes of the key an hour without a join or leave.
    pub rekeys: f64,
    /// How long the group lives until it ends or is created anew (days). It counts for schemes
    /// whose messages grow with the members that have left.
    pub lifetime: f64,
}

/// Who may hold the group's keys beside its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trust {
    /// Whether there is a server that may draw the keys of all members.
    pub controller: bool,
    /// The number of gateways that could each lead a part of the group. 0 means none.
    pub gateways: u32,
    /// Whether a gateway may know the group key.
    pub gateways_know_the_key: bool,
}

/// What the parties run on: names of built-in devices, or of [files](Self::files).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Devices {
    /// A member's device. A board brings the limits of its memory.
    pub member: String,
    /// A member's radio, in place of its device's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<String>,
    /// A gateway's device.
    pub gateway: String,
    /// The controller's device.
    pub controller: String,
    /// The files among these, as they were read.
    #[serde(skip)]
    pub files: Vec<DeviceFile>,
}

/// What lies between each party and the broker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkConditions {
    /// Packets lost in each direction (%).
    pub loss: f64,
    /// Mean length of the bursts in which every packet is lost (ms). With `None`, each packet is lost
    /// independently. Bursts can be simulated, but no model knows them.
    pub burst: Option<f64>,
    /// One-way delay (ms).
    pub delay: f64,
    /// Jitter (ms): each packet's delay is uniform within the delay ± this value.
    pub jitter: f64,
    /// Bandwidth (kbit/s). `None` means no limit.
    pub bandwidth: Option<f64>,
    /// Outages of each link an hour. `None` means that connections do not end. Outages can be
    /// simulated, but no model knows them.
    pub outages: Option<f64>,
    /// Mean length of these outages (s).
    pub outage_length: Option<f64>,
    /// Whether one message can reach many members. If not, each receiver costs the sender a
    /// message of its own.
    pub multicast: bool,
    /// Quality of service of MQTT: 0, 1 or 2. `None` means the better one of 1 and 2: a message of
    /// QoS 0 that is lost with a broken connection is never sent again.
    pub qos: Option<u8>,
}

/// What must hold against an adversary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Security {
    /// Claims that the audit must have confirmed against a passive adversary, by the audit's names.
    pub passive: Vec<String>,
    /// Claims that the audit must have confirmed against an active adversary.
    pub active: Vec<String>,
    /// How messages are protected: `mac`, `signature` or `merkle`; `None` for the best one.
    pub guard: Option<String>,
    /// Security level (bits).
    pub bits: u32,
    /// Whether a quantum computer must not break it.
    pub post_quantum: bool,
    /// Whether schemes count that could not be identified in the literature.
    pub stand_ins: bool,
}

/// What must not be exceeded. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Time until 99 % of changes are complete (ms).
    pub complete: Option<f64>,
    /// Bytes that a member sends a day.
    pub sent: Option<f64>,
    /// Bytes that a member receives a day.
    pub received: Option<f64>,
    /// Energy of a member a day, for group keys alone (J).
    pub energy: Option<f64>,
    /// A member's battery (J), of which group keys may take all within `battery-days`.
    pub battery: Option<f64>,
    /// How long that battery must last (days).
    pub battery_days: Option<f64>,
    /// Key material that a member keeps (bytes).
    pub keys: Option<f64>,
    /// Program memory of a member's program, without its network (bytes).
    pub flash: Option<f64>,
    /// Working memory of a member's program, without its network (bytes): stack, heap and static
    /// variables. Where they were not counted, at least its keys and the largest message.
    pub memory: Option<f64>,
    /// The largest message (bytes).
    pub message: Option<f64>,
}

/// How members behave that are not always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Presence {
    /// What a member needs that slept through changes.
    pub sleep: Sleep,
    /// Whether the group falls into parts that go on by themselves, and merges again.
    pub splits: bool,
}

/// What a member needs that slept through changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleep {
    /// It may leave and rejoin.
    #[default]
    Rejoin,
    /// One request brings the present key.
    CatchUp,
    /// It gets the keys that it missed, too.
    Heal,
}

/// What one wants least of. A candidate's cost is the sum over a day of
///
/// `joule` × a member's energy (J) + `second` × the time that changes take until they are complete
/// (s) + `kilobyte` × what a member sends and receives (1,000 bytes).
///
/// So costs of days and of parts of a day add up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Weights {
    /// Of a joule.
    pub joule: f64,
    /// Of a second.
    pub second: f64,
    /// Of 1,000 bytes.
    pub kilobyte: f64,
}

/// A value that no group can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Impossible {
    /// The field, as in a file: `network.loss`.
    pub field: &'static str,
    /// What it may be.
    pub expected: &'static str,
}

impl Requirements {
    /// Checks that a group can have these requirements. Names of devices and claims are checked
    /// where they are looked up.
    pub fn validate(&self) -> Result<(), Impossible> {
        let Self { members, network, weights, limits, .. } = self;
        let is_rate = |rate: f64| rate.is_finite() && (0.0..=1e9).contains(&rate);
        let limit = |limit: Option<f64>| limit.is_none_or(|limit| limit > 0.0);
        let checks = [
            ("members.now", (2..=1 << 24).contains(&members.now), "2 to 16,777,216 members"),
            (
                "members.most",
                members.most == 0 || (members.now..=1 << 24).contains(&members.most),
                "0, or at least as many as now, up to 16,777,216",
            ),
            ("members.joins", is_rate(members.joins), "0 to 1,000,000,000 an hour"),
            ("members.leaves", is_rate(members.leaves), "0 to 1,000,000,000 an hour"),
            ("members.rekeys", is_rate(members.rekeys), "0 to 1,000,000,000 an hour"),
            (
                "members.lifetime",
                (0.01..=100_000.0).contains(&members.lifetime),
                "0.01 to 100,000 days",
            ),
            ("members.batch", (0.0..=60_000.0).contains(&members.batch), "0 to 60,000 ms"),
            ("members.burst", (1.0..=1e6).contains(&members.burst), "1 to 1,000,000 members"),
            ("network.loss", (0.0..=50.0).contains(&network.loss), "0 to 50 %"),
            (
                "network.burst",
                network
                    .burst
                    .is_none_or(|burst| burst > 0.0 && burst <= 86_400_000.0 && network.loss > 0.0),
                "more than 0 ms, at most a day, beside a network.loss above 0",
            ),
            ("network.delay", (0.0..=60_000.0).contains(&network.delay), "0 to 60,000 ms"),
            ("network.jitter", (0.0..=network.delay).contains(&network.jitter), "0 to the delay"),
            (
                "network.bandwidth",
                network.bandwidth.is_none_or(|rate| (0.1..=1e9).contains(&rate)),
                "0.1 to 1,000,000,000 kbit/s",
            ),
            (
                "network.outages",
                network.outages.is_none_or(|outages| outages > 0.0 && outages <= 3_600.0),
                "more than 0 an hour, at most 3,600",
            ),
            (
                "network.outage-length",
                network.outage_length.is_none_or(|length| length > 0.0 && length <= 86_400.0),
                "more than 0 s, at most a day",
            ),
            (
                "network.outage-length",
                network.outages.is_some() == network.outage_length.is_some(),
                "beside network.outages, or neither of them",
            ),
            (
                "network.outages",
                network.outage_share() < 1.0,
                "so rare that they take less than the whole time",
            ),
            ("network.qos", network.qos.is_none_or(|qos| qos <= 2), "0, 1 or 2"),
            (
                "network.qos",
                network.qos != Some(0) || network.outages.is_none(),
                "1 or 2 beside network.outages: at QoS 0 a member that misses a change stays behind, \
                 and the change is never complete",
            ),
            ("weights.joule", is_rate(weights.joule), "0 to 1,000,000,000"),
            ("weights.second", is_rate(weights.second), "0 to 1,000,000,000"),
            ("weights.kilobyte", is_rate(weights.kilobyte), "0 to 1,000,000,000"),
            ("limits.complete", limit(limits.complete), "more than 0 ms"),
            ("limits.sent", limit(limits.sent), "more than 0 bytes"),
            ("limits.received", limit(limits.received), "more than 0 bytes"),
            ("limits.energy", limit(limits.energy), "more than 0 J"),
            ("limits.battery", limit(limits.battery), "more than 0 J"),
            ("limits.battery-days", limit(limits.battery_days), "more than 0 days"),
            (
                "limits.battery-days",
                limits.battery.is_some() == limits.battery_days.is_some(),
                "both `battery` and `battery-days`, or neither",
            ),
            ("limits.keys", limit(limits.keys), "more than 0 bytes"),
            ("limits.flash", limit(limits.flash), "more than 0 bytes"),
            ("limits.memory", limit(limits.memory), "more than 0 bytes"),
            ("limits.message", limit(limits.message), "more than 0 bytes"),
        ];
        match checks.into_iter().find(|(_, holds, _)| !holds) {
            Some((field, _, expected)) => Err(Impossible { field, expected }),
            None => Ok(()),
        }
    }

    /// Returns the same with losses that come one by one, and connections that do not end: what a
    /// model can judge.
    #[must_use]
    pub fn as_modelled(&self) -> Self {
        let network =
            NetworkConditions { burst: None, outages: None, outage_length: None, ..self.network };
        Self { network, ..self.clone() }
    }

    /// Returns the first field that no model knows, so that candidates must be simulated.
    pub const fn beyond_model(&self) -> Option<&'static str> {
        match self.network {
            NetworkConditions { burst: Some(_), .. } => Some("network.burst"),
            NetworkConditions { outages: Some(_), .. } => Some("network.outages"),
            _ => None,
        }
    }

    /// Returns the energy that a member may use a day (J): the smaller of the energy's limit and
    /// of the battery's share.
    pub fn energy_limit(&self) -> Option<f64> {
        let Limits { energy, battery, battery_days, .. } = self.limits;
        let share = battery.zip(battery_days).map(|(joule, days)| joule / days);
        match (energy, share) {
            (Some(energy), Some(share)) => Some(energy.min(share)),
            (energy, share) => energy.or(share),
        }
    }
}

/// Returns whether the name of a device or a radio is a file's: it ends in `.toml`, or has a slash.
pub fn is_file(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
}

impl Devices {
    /// Returns the prices of a device by its name. `None` if there is none, or if its file was not
    /// read.
    pub fn prices(&self, name: &str) -> Option<&DevicePrices> {
        let file = self.file(name).and_then(|file| match &file.prices {
            FilePrices::Device(prices) => Some(&**prices),
            FilePrices::Radio(_) => None,
        });
        file.or_else(|| DevicePrices::named(name))
    }

    /// Returns the prices of a radio by its name.
    pub fn radio_prices(&self, name: &str) -> Option<&RadioPrices> {
        let file = self.file(name).and_then(|file| match &file.prices {
            FilePrices::Radio(prices) => Some(prices),
            FilePrices::Device(_) => None,
        });
        file.or_else(|| RadioPrices::shipped().iter().find(|radio| radio.name == name))
    }

    /// Returns the radio of a member: the one that is named, or else its device's.
    pub fn radio_of_member(&self) -> Option<&RadioPrices> {
        match &self.radio {
            Some(name) => self.radio_prices(name),
            None => self.prices(&self.member)?.radio.as_ref(),
        }
    }

    /// Returns the text of a file by its name, if it is one and was read.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.file(name).map(|file| &*file.text)
    }

    fn file(&self, name: &str) -> Option<&DeviceFile> {
        self.files.iter().find(|file| file.name == name)
    }
}

impl NetworkConditions {
    fn outage_share(&self) -> f64 {
        let (an_hour, length) = self.outages.zip(self.outage_length).unwrap_or_default();
        an_hour * length / 3_600.0
    }
}

impl Members {
    /// Returns the largest number of members.
    pub const fn at_most(&self) -> u32 {
        if self.most == 0 { self.now } else { self.most }
    }

    /// Returns how many members leave in the group's life.
    pub fn departures(&self) -> f64 {
        self.leaves * 24.0 * self.lifetime
    }

    /// Returns how many members a group ever enrols that begins with the most.
    pub fn enrolments(&self) -> f64 {
        f64::from(self.at_most()) + self.joins * 24.0 * self.lifetime
    }
}

impl Default for Members {
    fn default() -> Self {
        Self {
            now: 100,
            most: 0,
            joins: 1.0,
            leaves: 1.0,
            burst: 1.0,
            batch: 0.0,
            rekeys: 0.0,
            lifetime: 365.0,
        }
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self { controller: true, gateways: 0, gateways_know_the_key: true }
    }
}

impl Default for Devices {
    fn default() -> Self {
        let [member, gateway, controller] = ["cortex-m4", "host", "host"].map(str::to_owned);
        Self { member, radio: None, gateway, controller, files: Vec::new() }
    }
}

impl Default for NetworkConditions {
    fn default() -> Self {
        Self {
            loss: 0.0,
            burst: None,
            delay: 20.0,
            jitter: 0.0,
            bandwidth: None,
            outages: None,
            outage_length: None,
            multicast: true,
            qos: None,
        }
    }
}

impl Default for Security {
    fn default() -> Self {
        let claims = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            passive: claims(&[
                "forward-secrecy",
                "backward-secrecy",
                "collusion-resistance",
                "secrecy-from-outsiders",
            ]),
            active: claims(&["forward-secrecy", "backward-secrecy"]),
            guard: None,
            bits: 128,
            post_quantum: false,
            stand_ins: false,
        }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self { joule: 1.0, second: 0.01, kilobyte: 0.0 }
    }
}

impl std::fmt::Display for Impossible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} must be {}", self.field, self.expected)
    }
}

impl std::error::Error for Impossible {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_group_can_have_is_refused_by_its_field() {
        assert_eq!(Requirements::default().validate(), Ok(()));
        let mut requirements = Requirements::default();
        requirements.network.loss = f64::NAN;
        assert_eq!(requirements.validate().map_err(|error| error.field), Err("network.loss"));
        let mut requirements = Requirements::default();
        requirements.limits.battery = Some(1.0);
        let field = requirements.validate().map_err(|error| error.field);
        assert_eq!(field, Err("limits.battery-days"));
    }

    #[test]
    fn a_battery_limits_the_energy_of_a_day() {
        let mut requirements = Requirements::default();
        assert_eq!(requirements.energy_limit(), None);
        (requirements.limits.battery, requirements.limits.battery_days) =
            (Some(730.0), Some(365.0));
        assert_eq!(requirements.energy_limit(), Some(2.0));
        requirements.limits.energy = Some(1.5);
        assert_eq!(requirements.energy_limit(), Some(1.5));
    }
}
