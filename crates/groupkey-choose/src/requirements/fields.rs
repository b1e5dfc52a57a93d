//! The fields of a file of requirements.

/// A field of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its section and key: `network.loss`.
    pub name: &'static str,
    /// What its value is.
    pub kind: FieldKind,
    /// What it means, with its unit.
    pub meaning: &'static str,
}

/// What a field's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A value that is always there.
    Value,
    /// A value that may be absent.
    Optional,
    /// A list of names.
    List,
    /// The name of a file from which other fields are taken. It is no requirement itself.
    File,
}

impl Field {
    /// Returns the section and the key.
    pub fn section_and_key(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or((self.name, ""))
    }
}

/// Returns the fields that a field must fit.
pub(super) fn must_fit(field: &str) -> &'static [&'static str] {
    match field {
        "members.most" => &["members.now"],
        "network.burst" => &["network.loss"],
        "network.jitter" => &["network.delay"],
        "limits.battery-days" => &["limits.battery"],
        _ => &[],
    }
}

/// All fields, section by section.
pub const FIELDS: &[Field] = &[
    value("members.now", "members now; costs are those of a group of this size"),
    value("members.most", "members at most; limits hold up to this size; 0: as many as now"),
    value("members.joins", "joins an hour"),
    value("members.leaves", "leaves and evictions an hour"),
    value("members.burst", "members that join or leave at once, on average"),
    value("members.batch", "how long joins and evictions wait to become one change (ms); 0: not"),
    value("members.rekeys", "changes of the key an hour without a join or leave"),
    file("members.trace", "trace (CSV) from which the fields above are taken"),
    value("members.lifetime", "days until the group ends or is created anew; see cs, sd and lsd"),
    value("trust.controller", "true if there is a server that may draw all keys"),
    value("trust.gateways", "gateways that could each lead a part of the group; 0: none"),
    value("trust.gateways-know-the-key", "true if a gateway may know the group key"),
    value("devices.member", "device of a member: built in, or a file; a board limits memory"),
    optional("devices.radio", "radio of a member, in place of its device's: built in, or a file"),
    value("devices.gateway", "device of a gateway"),
    value("devices.controller", "device of the controller"),
    value("network.loss", "packets lost on each link, in each direction (%)"),
    optional("network.burst", "mean length of bursts in which every packet is lost (ms)"),
    value("network.delay", "one-way delay of each link (ms)"),
    value("network.jitter", "jitter (ms): each delay is within the delay ± this value"),
    optional("network.bandwidth", "bandwidth of each link (kbit/s)"),
    optional("network.outages", "outages of each link an hour, in which it loses everything"),
    optional("network.outage-length", "mean length of these outages (s)"),
    value("network.multicast", "true if one message can reach many members"),
    optional("network.qos", "quality of service of MQTT: 0, 1 or 2; none: 1 or 2, the better one"),
    file("network.scenario", "scenario (TOML) from which devices, members and links are taken"),
    list("security.passive", "claims that must hold against one who listens"),
    list("security.active", "claims that must hold against one who sends, too"),
    optional("security.guard", "protection of messages, if it is given: mac, signature or merkle"),
    value("security.bits", "security level (bits)"),
    value("security.post-quantum", "true if a quantum computer must not break it"),
    value("security.stand-ins", "true if schemes count whose publication could not be identified"),
    optional("limits.complete", "time until 99 % of changes are complete (ms)"),
    optional("limits.sent", "bytes that a member sends a day"),
    optional("limits.received", "bytes that a member receives a day"),
    optional("limits.energy", "energy of a member a day, for group keys alone (J)"),
    optional("limits.battery", "battery of a member (J), which group keys may use up"),
    optional("limits.battery-days", "days that this battery must last"),
    optional("limits.keys", "key material that a member keeps (bytes)"),
    optional("limits.flash", "program memory of a member without its network (bytes)"),
    optional("limits.memory", "working memory of a member without its network (bytes)"),
    optional("limits.message", "largest message (bytes)"),
    value("presence.sleep", "what a member needs that slept: rejoin, catch-up or heal"),
    value("presence.splits", "true if the group falls into parts that go on, and merges again"),
    value("weights.joule", "cost of a joule of a member"),
    value("weights.second", "cost of a second until a change is complete"),
    value("weights.kilobyte", "cost of 1,000 bytes that a member sends or receives"),
];

const fn value(name: &'static str, meaning: &'static str) -> Field {
    Field { name, kind: FieldKind::Value, meaning }
}

const fn optional(name: &'static str, meaning: &'static str) -> Field {
    Field { name, kind: FieldKind::Optional, meaning }
}

const fn list(name: &'static str, meaning: &'static str) -> Field {
    Field { name, kind: FieldKind::List, meaning }
}

const fn file(name: &'static str, meaning: &'static str) -> Field {
    Field { name, kind: FieldKind::File, meaning }
}

#[cfg(test)]
mod tests {
    use super::super::Requirements;
    use super::*;

    #[test]
    fn the_list_of_fields_is_that_of_the_requirements() {
        let mut all = Requirements::default();
        (all.network.bandwidth, all.network.qos) = (Some(1.0), Some(1));
        all.security.guard = Some("mac".into());
        let limits = &mut all.limits;
        for limit in [
            &mut limits.complete,
            &mut limits.sent,
            &mut limits.received,
            &mut limits.energy,
            &mut limits.battery,
            &mut limits.battery_days,
            &mut limits.keys,
            &mut limits.flash,
            &mut limits.memory,
            &mut limits.message,
        ] {
            *limit = Some(1.0);
        }
        all.network.burst = Some(1.0);
        (all.network.outages, all.network.outage_length) = (Some(1.0), Some(1.0));
        all.devices.radio = Some("lte-m".to_owned());
        let table = toml::Table::try_from(&all).expect("it is a table");
        let mut there: Vec<String> = table
            .iter()
            .flat_map(|(section, keys)| {
                let keys = keys.as_table().expect("a section");
                keys.keys().map(move |key| format!("{section}.{key}"))
            })
            .collect();
        let mut listed: Vec<String> = FIELDS
            .iter()
            .filter(|field| field.kind != FieldKind::File)
            .map(|field| field.name.to_owned())
            .collect();
        there.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, there);
    }
}
