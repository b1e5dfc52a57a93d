//! What the benchmark studies print in numbers. Most of what they say is rankings, which
//! `groupkey reproduce` looks at; the page marks these values in its charts and lists them.
//!
//! All times are those of the study's own device, which every mark says.

use super::Entry;
use super::measure::Measure;

/// A value that a study prints.
#[derive(Clone, Copy, Debug)]
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
    pub(super) note: &'static str,
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

/// All that are printed.
pub(super) const PRINTED: [PrintedValue; 11] = [
    tgdh(2, 3.96e9),
    tgdh(3, 8.14e9),
    tgdh(4, 11.81e9),
    tgdh(5, 12.71e9),
    PrintedValue {
        source: "S002",
        scheme: None,
        class: "centralized",
        role: "member",
        operation: None,
        quantity: PrintedQuantity::TimeNs,
        members: (2, 55_000),
        value: 47e6,
        bound: true,
        note: "all schemes and operations, on an ESP32 with MicroPython",
    },
    PrintedValue {
        source: "S002",
        scheme: None,
        class: "distributed",
        role: "member",
        operation: None,
        quantity: PrintedQuantity::TimeNs,
        members: (2, 30),
        value: 0.3e9,
        bound: true,
        note: "all schemes and operations, on an ESP32 with MicroPython",
    },
    PrintedValue {
        source: "S002",
        scheme: Some("lnt"),
        class: "hybrid",
        role: "member",
        operation: None,
        quantity: PrintedQuantity::PermanentBytes,
        members: (2, 55_000),
        value: 30.0,
        bound: false,
        note: "printed as 0.03 KB, whatever the group's size",
    },
    PrintedValue {
        source: "S002",
        scheme: None,
        class: "hybrid",
        role: "member",
        operation: None,
        quantity: PrintedQuantity::PermanentBytes,
        members: (2, 55_000),
        value: 16.0,
        bound: false,
        note: "about that for all hybrid schemes but LNT, whatever the group's size",
    },
    nishat("encrypt", (50, 50), 0.569e9, "± 0.058 s; on an ESP32 with the PBC library"),
    nishat("decrypt", (50, 50), 1.389e9, "± 0.004 s; on an ESP32 with the PBC library"),
    nishat(
        "add",
        (50, 550),
        0.669e9,
        "an update of the group, ± 0.039 s; on an ESP32 with the PBC library",
    ),
];

const fn tgdh(members: u32, ns: f64) -> PrintedValue {
    PrintedValue {
        source: "S001",
        scheme: Some("tgdh"),
        class: "distributed",
        role: "sponsor",
        operation: Some("add"),
        quantity: PrintedQuantity::TimeNs,
        members: (members, members),
        value: ns,
        bound: false,
        note: "on an ESP8266: the sponsor's and the members' time and the broadcast together, more than \
               the sponsor's alone",
    }
}

const fn nishat(
    operation: &'static str,
    members: (u32, u32),
    ns: f64,
    note: &'static str,
) -> PrintedValue {
    PrintedValue {
        source: "S004",
        scheme: Some("nishat"),
        class: "centralized",
        role: "member",
        operation: Some(operation),
        quantity: PrintedQuantity::TimeNs,
        members,
        value: ns,
        bound: false,
        note,
    }
}
