//! Published studies: what they measured, the values they print, and their findings. The module has
//! only facts, and `published.toml` names the source of each fact.

use std::collections::BTreeMap;

use groupkey_lab::report::TimeQuantity;
use serde::Deserialize;
use toml::{Table, Value as Entry};

/// A study of how the network affects group operations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkStudy {
    /// The settings that were measured.
    pub setup: NetworkSetup,
    mean_ms: BTreeMap<String, f64>,
    share_percent: BTreeMap<String, f64>,
    /// Computing times (ms) that follow from the printed values.
    pub computation_ms: BTreeMap<String, f64>,
    /// The findings by their id, `f1` and so on.
    pub findings: BTreeMap<String, String>,
}

/// The settings of a [`NetworkStudy`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSetup {
    /// Members of a group with a controller.
    pub group_sizes_centralized: Vec<u32>,
    /// Members of a group without a controller.
    pub group_sizes_distributed: Vec<u32>,
    /// Packet loss on each client's link, each way (%).
    pub packet_loss_percent: Vec<f64>,
    /// One-way delay of each client's link (ms).
    pub delay_ms: Vec<f64>,
    /// MQTT quality of service.
    pub mqtt_qos: u8,
    /// Runs of each setting.
    pub repetitions: u32,
    /// Key length (bits).
    pub key_bits: u32,
    /// The members' device.
    pub member: String,
    /// The controller's device.
    pub controller: String,
}

/// A value that a study prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its key in `published.toml`.
    pub key: String,
    /// The study's name of the scheme: `skdc` or `gdh`.
    pub scheme: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// The quantity that the value measures.
    pub quantity: TimeQuantity,
    /// Members of the group.
    pub members: u32,
    /// Packet loss (%).
    pub loss_percent: f64,
    /// One-way delay (ms).
    pub delay_ms: f64,
    /// The value: ms, or % if it is a share.
    pub value: f64,
}

/// Returns the network-impact study (Prantl et al. 2024, doi 10.1007/s44248-024-00015-1).
pub fn network_impact() -> NetworkStudy {
    let file: PublishedFile =
        toml::from_str(include_str!("published.toml")).expect("a test reads it");
    file.network
}

/// The values that a study of computations prints, by their names in `published.toml`.
///
/// Each name is a path, for example `findings.sponsor`. A path that does not exist, or that has a
/// value of another kind, is a bug in this crate. A test reads all paths.
#[derive(Clone, Debug)]
pub struct ComputationStudy(Table);

impl ComputationStudy {
    /// Returns the benchmark of three classes of schemes
    /// (Prantl et al. 2024, doi 10.1007/s44248-024-00010-6).
    pub fn benchmark() -> Self {
        Self::read(|file| file.bench)
    }

    /// Returns the benchmark of centralized schemes
    /// (Prantl et al. 2021, doi 10.1145/3427921.3450252).
    pub fn centralized() -> Self {
        Self::read(|file| file.central)
    }

    /// Returns the study of Nishat on an ESP32
    /// (Prantl et al. 2020, doi 10.1109/mascots50786.2020.9285948).
    pub fn nishat() -> Self {
        Self::read(|file| file.nishat)
    }

    /// Returns the study of TGDH on an ESP8266
    /// (Prantl et al. 2022, doi 10.1109/vtc2022-spring54318.2022.9860762).
    pub fn tgdh() -> Self {
        Self::read(|file| file.tgdh)
    }

    /// Returns the number at this path.
    pub fn number(&self, path: &str) -> f64 {
        match self.entry(path) {
            Entry::Float(number) => *number,
            Entry::Integer(number) => *number as f64,
            other => panic!("{path} is {other:?}"),
        }
    }

    /// Returns the names of schemes at this path, as the study writes them.
    pub fn names(&self, path: &str) -> Vec<&str> {
        let Entry::Array(names) = self.entry(path) else { panic!("{path} is no list") };
        names.iter().filter_map(Entry::as_str).collect()
    }

    /// Returns the sentence at this path.
    pub fn text(&self, path: &str) -> &str {
        self.entry(path).as_str().unwrap_or_else(|| panic!("{path} is no text"))
    }

    fn entry(&self, path: &str) -> &Entry {
        let mut names = path.split('.');
        let first = names.next().and_then(|name| self.0.get(name));
        names
            .fold(first, |entry, name| entry.and_then(|entry| entry.get(name)))
            .unwrap_or_else(|| panic!("published.toml has no {path}"))
    }

    fn read(study: fn(PublishedFile) -> Table) -> Self {
        Self(study(toml::from_str(include_str!("published.toml")).expect("a test reads it")))
    }
}

impl NetworkStudy {
    /// Returns a printed mean time (ms) by its key in `published.toml`.
    pub fn mean_ms(&self, key: &str) -> Option<f64> {
        self.mean_ms.get(key).copied()
    }

    /// Returns all values that the study prints.
    pub fn values(&self) -> Vec<Value> {
        let shares = self.share_percent.iter().map(|(key, value)| (key, value, true));
        let means = self.mean_ms.iter().map(|(key, value)| (key, value, false));
        means
            .chain(shares)
            .map(|(key, value, is_share)| {
                Value::from_key(key, *value, is_share).expect("a test reads every key")
            })
            .collect()
    }
}

impl Value {
    /// Reads `scheme_operation[_quantity]_nMEMBERS_lossPERCENT_delayMS`.
    fn from_key(key: &str, value: f64, is_share: bool) -> Option<Self> {
        let words: Vec<&str> = key.split('_').collect();
        let (scheme, operation, quantity, [members, loss, delay]) = match words[..] {
            [scheme, operation, a, b, c] if is_share => {
                (scheme, operation, TimeQuantity::TransmissionShare, [a, b, c])
            }
            [scheme, operation, a, b, c] => (scheme, operation, TimeQuantity::Total, [a, b, c]),
            [scheme, operation, "total", a, b, c] => {
                (scheme, operation, TimeQuantity::Total, [a, b, c])
            }
            [scheme, operation, "transmission", a, b, c] => {
                (scheme, operation, TimeQuantity::Transmission, [a, b, c])
            }
            _ => return None,
        };
        Some(Self {
            key: key.to_owned(),
            scheme: scheme.to_owned(),
            operation: operation.to_owned(),
            quantity,
            members: members.strip_prefix('n')?.parse().ok()?,
            loss_percent: loss.strip_prefix("loss")?.parse().ok()?,
            delay_ms: delay.strip_prefix("delay")?.parse().ok()?,
            value,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    bench: Table,
    central: Table,
    network: NetworkStudy,
    nishat: Table,
    tgdh: Table,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_finding_is_read() {
        let study = network_impact();
        let values = study.values();
        assert_eq!(values.len(), 13);
        let last = values.last().expect("there are some");
        assert_eq!((last.quantity, last.value), (TimeQuantity::TransmissionShare, 67.71));
        assert_eq!((last.scheme.as_str(), last.members, last.loss_percent), ("gdh", 20, 10.0));
        let ids: Vec<&str> = study.findings.keys().map(String::as_str).collect();
        assert_eq!(ids[1..9], ["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"]);
    }

    #[test]
    fn a_share_follows_from_the_other_values() {
        let study = network_impact();
        let transmission = study.mean_ms["gdh_create_transmission_n20_loss10_delay0"];
        let total = study.mean_ms["gdh_create_total_n20_loss10_delay0"];
        let share = study.share_percent["gdh_create_n20_loss10_delay0"];
        assert!((100.0 * transmission / total - share).abs() < 0.01);
        // The computing is the same in every network, to the printed digits.
        let computing = study.computation_ms["gdh_create_n20"];
        for network in ["loss10_delay0", "loss10_delay100"] {
            let of = |part: &str| study.mean_ms[&format!("gdh_create_{part}_n20_{network}")];
            assert!((of("total") - of("transmission") - computing).abs() < 0.02, "{network}");
        }
    }

    #[test]
    fn what_the_studies_of_computations_print_is_found_by_its_path() {
        let benchmark = ComputationStudy::benchmark();
        assert_eq!(benchmark.number("findings.centralized_member_time_below_ms"), 47.0);
        assert_eq!(benchmark.names("findings.distributed_creation_only"), ["BD", "CKA"]);
        assert_eq!(ComputationStudy::nishat().number("seconds.encrypt.mean"), 0.569);
        assert_eq!(ComputationStudy::tgdh().number("join_total_s.m2"), 3.96);
        let centralized = ComputationStudy::centralized();
        assert!(centralized.text("findings.features.forward_secrecy").starts_with("all"));
    }

    #[test]
    fn other_keys_are_refused() {
        for key in
            ["skdc_create", "skdc_create_n2_loss0_delayx", "skdc_create_mean_n2_loss0_delay0"]
        {
            assert_eq!(Value::from_key(key, 1.0, false), None);
        }
    }
}
