//! What the benchmark studies print in numbers. Most of what they say is rankings, which
//! `groupkey reproduce` looks at; the page marks these values in its charts and lists them.
//!
//! All times are those of the study's own device, which every mark says.

use std::sync::LazyLock;

use super::Entry;
use super::measure::Measure;
use crate::published::ComputationStudy;

/// A value that a study prints.
#[derive(Clone, Debug)]
pub(super) struct PrintedValue {
    pub(super) source: &'static str,
    /// A scheme's id, or nothing where it holds for a whole class.
    pub(super) scheme: Option<&'static str>,
    pub(super) class: &'static str,
    pub(super) role: &'static str,
    /// An operation, or nothing where it holds for all.
    pub(super) operation: Option<&'static str>,
    /// Whether it is in ns, J or bytes.
    pub(super) quantity: PrintedQuantity,
    pub(super) members: (u32, u32),
    pub(super) value: f64,
    /// Whether it is an upper bound.
    pub(super) bound: bool,
    pub(super) note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedQuantity {
    EnergyJoule,
    PermanentBytes,
    TimeNs,
}

impl PrintedValue {
    /// Whether it belongs into a panel of this measure.
    pub(super) fn is_of(&self, measure: Measure, class: &str, role: &str, operation: &str) -> bool {
        let quantity = match measure {
            Measure::Time | Measure::DeviceTime => PrintedQuantity::TimeNs,
            Measure::DeviceEnergy => PrintedQuantity::EnergyJoule,
            Measure::PermanentBytes => PrintedQuantity::PermanentBytes,
            Measure::TemporaryBytes | Measure::Messages | Measure::WireBytes => return false,
        };
        self.quantity == quantity
            && self.class == class
            && self.role == role
            && self.operation.is_none_or(|own| own == operation)
    }

    pub(super) fn measure(&self) -> Measure {
        match self.quantity {
            PrintedQuantity::EnergyJoule => Measure::DeviceEnergy,
            PrintedQuantity::PermanentBytes => Measure::PermanentBytes,
            PrintedQuantity::TimeNs => Measure::DeviceTime,
        }
    }

    /// In words, with its source.
    pub(super) fn words(&self) -> String {
        let Self { source, scheme, note, .. } = self;
        let who = scheme.map_or_else(|| format!("{} schemes", self.class), str::to_owned);
        format!("Published ({source}), {who}: {}; {note}", self.amount())
    }

    /// The value, and whether it is a bound.
    pub(super) fn amount(&self) -> String {
        let amount = self.measure().words(self.value);
        if self.bound { format!("below {amount}") } else { amount }
    }

    /// The rows with which it can be compared: same scheme, role, operation, and a size in its range.
    /// The greatest of their values, for a bound; else the first.
    pub(super) fn ours(&self, entries: &[Entry], measure: Measure) -> Option<f64> {
        let rows = entries.iter().map(|entry| &entry.row).filter(|row| {
            self.is_of(measure, &row.class, &row.role, &row.operation)
                && row.phase == "operational"
                && self.scheme.is_none_or(|scheme| scheme == row.scheme)
                && (self.members.0..=self.members.1).contains(&row.members)
        });
        let mut values = rows.filter_map(|row| measure.of(row)).map(|(value, _)| value);
        if self.bound { values.reduce(f64::max) } else { values.next() }
    }
}

/// All that are printed, in the order of the studies.
pub(super) static PRINTED: LazyLock<Vec<PrintedValue>> = LazyLock::new(printed);

fn printed() -> Vec<PrintedValue> {
    let bench = ComputationStudy::benchmark();
    let tgdh = ComputationStudy::tgdh();
    let nishat = ComputationStudy::nishat();
    let joined = |members: u32| {
        PrintedValue {
        scheme: Some("tgdh"),
        role: "sponsor",
        operation: Some("add"),
        members: (members, members),
        value: 1e9 * tgdh.number(&format!("join_total_s.m{members}")),
        note: "on an ESP8266: the sponsor's and the members' time and the broadcast together, more than \
               the sponsor's alone"
            .to_owned(),
        ..PrintedValue::time("S001", "distributed")
    }
    };
    let below = |class, members, ns| PrintedValue {
        members,
        value: ns,
        bound: true,
        note: "all schemes and operations, on an ESP32 with MicroPython".to_owned(),
        ..PrintedValue::time("S002", class)
    };
    // These two stand in a sentence.
    let stored = |scheme, bytes, note: &str| PrintedValue {
        scheme,
        quantity: PrintedQuantity::PermanentBytes,
        members: (2, 55_000),
        value: bytes,
        note: note.to_owned(),
        ..PrintedValue::time("S002", "hybrid")
    };
    let second = |name: &str, operation, members, what: &str| {
        let of = |part| nishat.number(&format!("seconds.{name}.{part}"));
        PrintedValue {
            scheme: Some("nishat"),
            operation: Some(operation),
            members,
            value: 1e9 * of("mean"),
            note: format!("{what}± {} s; on an ESP32 with the PBC library", of("error")),
            ..PrintedValue::time("S004", "centralized")
        }
    };
    let below_ms = 1e6 * bench.number("findings.centralized_member_time_below_ms");
    let below_s = 1e9 * bench.number("findings.distributed_member_time_below_s");
    vec![
        joined(2),
        joined(3),
        joined(4),
        joined(5),
        below("centralized", (2, 55_000), below_ms),
        below("distributed", (2, 30), below_s),
        stored(Some("lnt"), 30.0, "printed as 0.03 KB, whatever the group's size"),
        stored(None, 16.0, "about that for all hybrid schemes but LNT, whatever the group's size"),
        second("encrypt", "encrypt", (50, 50), ""),
        second("decrypt", "decrypt", (50, 50), ""),
        second("group_update", "add", (50, 550), "an update of the group, "),
    ]
}

impl PrintedValue {
    /// A member's time in a class of schemes, without a value yet.
    fn time(source: &'static str, class: &'static str) -> Self {
        Self {
            source,
            scheme: None,
            class,
            role: "member",
            operation: None,
            quantity: PrintedQuantity::TimeNs,
            members: (0, 0),
            value: 0.0,
            bound: false,
            note: String::new(),
        }
    }
}
