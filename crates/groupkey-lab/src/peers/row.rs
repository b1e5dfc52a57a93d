//! What an operation takes: one scheme, one size, one past, one network.

use serde::{Deserialize, Serialize};

use crate::results::{FileRow, ResultColumn, RunRow, fields};

/// What an operation takes the parties of a group, and how long all of them wait for the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PeerRow {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed` or `foreign`.
    pub provenance: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// What the group has been through: `new`, `populated` or `departed`.
    pub past: String,
    /// `lan`, `lossy` or `nb-iot`.
    pub network: String,
    /// Members at the creation. One more joins, if the scheme takes more, and then one leaves.
    pub members: u32,
    /// Runs: times and bytes on the wire are means of them.
    pub runs: u32,
    /// Seed from which the seed of each run is derived.
    pub seed: u64,
    /// Time until the last member has the new key (ms).
    pub completion_ms: f64,
    /// Half width of the mean's 95 % confidence interval (ms); absent for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_ci95_ms: Option<f64>,
    /// Of that time, what the way to the last member spends on the network (ms).
    pub transmission_ms: f64,
    /// Of that time, what parties compute on that way (ms).
    pub computation_ms: f64,
    /// Messages that parties publish.
    pub messages: u64,
    /// Bytes of these messages.
    pub payload_bytes: u64,
    /// Bytes of all packets on all links.
    pub wire_bytes: f64,
    /// Bytes of the packets that reach a member, with headers of TCP and IP; the median member.
    pub received_bytes: f64,
    /// The party that makes the change: the controller, or the member that leads it.
    pub sender: PeerEffort,
    /// A member that was there and makes nothing, the median of them; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<PeerEffort>,
    /// The member that joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newcomer: Option<PeerEffort>,
    /// Key material that the sender keeps (bytes).
    pub sender_keys_bytes: u64,
    /// Key material that a member keeps (bytes); the median member.
    pub member_keys_bytes: u64,
    /// Processor time on the machine that ran the study, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredEffort>,
}

/// What one party computes: counted primitives, at the prices of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PeerEffort {
    /// Time (ms): modelled.
    pub ms: f64,
    /// The primitive that takes most of it, by the meter's name; empty if nothing was counted.
    pub mostly: String,
    /// How often it is used.
    pub calls: u64,
    /// Its part of the time, from 0 to 1.
    pub share: f64,
}

/// Processor time of one operation, measured (µs): mean of the repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasuredEffort {
    /// The party that makes the change.
    pub sender_us: Option<f64>,
    /// The other member with the most work.
    pub member_us: Option<f64>,
    /// The member that joins.
    pub newcomer_us: Option<f64>,
}

impl FileRow for PeerRow {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, class, provenance, operation, past, network]);
        columns.extend(fields![integer: members, runs, seed]);
        columns.extend(fields![number: completion_ms]);
        columns.extend(fields![optional number: completion_ci95_ms]);
        columns.extend(fields![number: transmission_ms, computation_ms]);
        columns.extend(fields![integer: messages, payload_bytes]);
        columns.extend(fields![number: wire_bytes, received_bytes]);
        type Part = fn(&PeerRow) -> Option<&PeerEffort>;
        let parts: [(&str, Part); 3] = [
            ("sender", |row| Some(&row.sender)),
            ("member", |row| row.member.as_ref()),
            ("newcomer", |row| row.newcomer.as_ref()),
        ];
        for (name, part) in parts {
            let column = |what: &str| format!("{name}_{what}");
            columns.push(ResultColumn::number(column("ms"), move |row| Some(part(row)?.ms)));
            columns.push(ResultColumn::text(column("mostly"), move |row| {
                Some(part(row)?.mostly.clone())
            }));
            columns.push(ResultColumn::integer(column("calls"), move |row| Some(part(row)?.calls)));
            columns.push(ResultColumn::number(column("share"), move |row| Some(part(row)?.share)));
        }
        columns.extend(fields![integer: sender_keys_bytes, member_keys_bytes]);
        type Time = fn(&MeasuredEffort) -> Option<f64>;
        let times: [(&str, Time); 3] = [
            ("measured_sender_us", |time| time.sender_us),
            ("measured_member_us", |time| time.member_us),
            ("measured_newcomer_us", |time| time.newcomer_us),
        ];
        for (name, time) in times {
            columns
                .push(ResultColumn::number(name, move |row: &Self| time(row.measured.as_ref()?)));
        }
        columns
    }
}

impl RunRow for PeerRow {
    const FORMAT: &'static str = "groupkey-peers";

    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }
}

#[cfg(test)]
impl PeerRow {
    /// A row for tests: a removal of a new group in a local network.
    pub(crate) fn example(scheme: &str, members: u32, completion_ms: f64) -> Self {
        let effort =
            PeerEffort { ms: completion_ms / 2.0, mostly: "sign".to_owned(), calls: 1, share: 0.9 };
        Self {
            scheme: scheme.to_owned(),
            class: "centralized".to_owned(),
            provenance: "specified".to_owned(),
            operation: "remove".to_owned(),
            past: "new".to_owned(),
            network: "lan".to_owned(),
            members,
            runs: 1,
            seed: 1,
            completion_ms,
            completion_ci95_ms: None,
            transmission_ms: 0.8 * completion_ms,
            computation_ms: 0.2 * completion_ms,
            messages: 1,
            payload_bytes: 300,
            wire_bytes: 4_000.0,
            received_bytes: 400.0,
            sender: effort.clone(),
            member: Some(effort),
            newcomer: None,
            sender_keys_bytes: 100,
            member_keys_bytes: 32,
            measured: None,
        }
    }
}
