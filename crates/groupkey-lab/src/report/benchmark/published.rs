//! The numbers that the benchmark studies print. The page marks these values in its charts and
//! lists them. Most findings of the studies are rankings, which `groupkey reproduce` examines.
//!
//! All times are of the study's own device, and every mark says so.

use std::sync::LazyLock;

use super::content::Entry;
use super::measure::Measure;
use crate::bench::BenchRow;
use crate::published::ComputationStudy;
use crate::reproduce::{CENTRALIZED, DISTRIBUTED};

/// A value that a study prints.
#[derive(Clone, Debug)]
pub(super) struct PrintedValue {
    pub(super) source: &'static str,
    /// The schemes, by id, for which it holds.
    pub(super) schemes: &'static [&'static str],
    pub(super) class: &'static str,
    pub(super) role: &'static str,
    /// An operation, or `None` if the value holds for all operations.
    pub(super) operation: Option<&'static str>,
    /// The quantity, in ns, J or bytes.
    pub(super) quantity: PrintedQuantity,
    pub(super) members: (u32, u32),
    pub(super) value: f64,
    /// Whether it is an upper bound.
    pub(super) bound: bool,
    /// The profile of the study's own device. Times modelled for another device say nothing about
    /// the value. Empty for a value that does not depend on a device.
    pub(super) device: &'static str,
    pub(super) note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedQuantity {
    EnergyJoule,
    PermanentBytes,
    TimeNs,
}

impl PrintedValue {
    /// Returns whether the value belongs in a panel of this measure that has this row.
    pub(super) fn is_of(&self, measure: Measure, row: &BenchRow) -> bool {
        let quantity = match measure {
            Measure::Time | Measure::DeviceTime => PrintedQuantity::TimeNs,
            Measure::DeviceEnergy => PrintedQuantity::EnergyJoule,
            Measure::PermanentBytes => PrintedQuantity::PermanentBytes,
            Measure::TemporaryBytes | Measure::Messages | Measure::WireBytes => return false,
        };
        let is_modelled = matches!(measure, Measure::DeviceTime | Measure::DeviceEnergy);
        self.quantity == quantity
            && (!is_modelled || row.device.as_deref() == Some(self.device))
            && self.class == row.class
            && self.role == row.role
            && self.operation.is_none_or(|own| own == row.operation)
    }

    pub(super) fn measure(&self) -> Measure {
        match self.quantity {
            PrintedQuantity::EnergyJoule => Measure::DeviceEnergy,
            PrintedQuantity::PermanentBytes => Measure::PermanentBytes,
            PrintedQuantity::TimeNs => Measure::DeviceTime,
        }
    }

    /// Describes the value in words, with its source.
    pub(super) fn words(&self) -> String {
        let Self { source, note, .. } = self;
        format!("Published ({source}), {}: {}; {note}", self.whose(), self.amount())
    }

    /// Returns the name of the scheme, or of the class of the schemes.
    pub(super) fn whose(&self) -> String {
        match self.schemes {
            [scheme] => (*scheme).to_owned(),
            _ => format!("{} schemes", self.class),
        }
    }

    /// Formats the value, and says whether it is a bound.
    pub(super) fn amount(&self) -> String {
        let amount = self.measure().words(self.value);
        if self.bound { format!("below {amount}") } else { amount }
    }

    /// Returns our value to compare with. For a bound it is the greatest value of the comparable
    /// rows, otherwise the first.
    ///
    /// A comparable row has the same scheme, role, operation and, if modelled, device, and a size
    /// in the range of the printed value.
    pub(super) fn ours(&self, entries: &[Entry], measure: Measure) -> Option<f64> {
        let rows = entries.iter().map(|entry| &entry.row).filter(|row| {
            self.is_of(measure, row)
                && row.phase == "operational"
                && self.schemes.contains(&row.scheme.as_str())
                && (self.members.0..=self.members.1).contains(&row.members)
        });
        let mut values = rows.filter_map(|row| measure.of(row)).map(|(value, _)| value);
        if self.bound { values.reduce(f64::max) } else { values.next() }
    }
}

/// The hybrid schemes of S002 except LNT. S002 prints one figure for all of them for how much a
/// member keeps.
const BUT_LNT: [&str; 6] = ["alohali-r", "dep", "igkmp", "kronos", "marks", "riseg"];

/// All printed values, in the order of the studies.
pub(super) static PRINTED: LazyLock<Vec<PrintedValue>> = LazyLock::new(printed);

fn printed() -> Vec<PrintedValue> {
    let bench = ComputationStudy::benchmark();
    let tgdh = ComputationStudy::tgdh();
    let nishat = ComputationStudy::nishat();
    // Rows have the size before an operation. `reproduce tgdh` covers the join of the second
    // member, because our implementation has no such operation.
    let joined = |members: u32| {
        PrintedValue {
        schemes: &["tgdh"],
        role: "sponsor",
        operation: Some("add"),
        members: (members - 1, members - 1),
        device: "esp8266",
        value: 1e9 * tgdh.number(&format!("join_total_s.m{members}")),
        note: "on an ESP8266: the sponsor's and the members' time and the broadcast together, more than \
               the sponsor's alone"
            .to_owned(),
        ..PrintedValue::time("S001", "distributed")
    }
    };
    let below = |class, schemes, members, ns| PrintedValue {
        schemes,
        members,
        device: "esp32-micropython",
        value: ns,
        bound: true,
        note: "all schemes and operations, on an ESP32 with MicroPython".to_owned(),
        ..PrintedValue::time("S002", class)
    };
    // The study prints these two values in a sentence.
    let stored = |schemes, bytes, note: &str| PrintedValue {
        schemes,
        quantity: PrintedQuantity::PermanentBytes,
        members: (2, 55_000),
        value: bytes,
        note: note.to_owned(),
        ..PrintedValue::time("S002", "hybrid")
    };
    let updated = |part| nishat.number(&format!("seconds.group_update.{part}"));
    let below_ms = 1e6 * bench.number("findings.centralized_member_time_below_ms");
    let below_s = 1e9 * bench.number("findings.distributed_member_time_below_s");
    vec![
        joined(3),
        joined(4),
        joined(5),
        below("centralized", &CENTRALIZED, (2, 55_000), below_ms),
        below("distributed", &DISTRIBUTED, (2, 30), below_s),
        stored(&["lnt"], 30.0, "printed as 0.03 KB, whatever the group's size"),
        stored(
            &BUT_LNT,
            16.0,
            "about that for all hybrid schemes but LNT, whatever the group's size",
        ),
        PrintedValue {
            schemes: &["nishat"],
            operation: Some("add"),
            members: (50, 550),
            value: 1e9 * updated("mean"),
            device: "esp32-pbc",
            note: format!(
                "an update of the group, ± {} s; on an ESP32 with the PBC library",
                updated("error")
            ),
            ..PrintedValue::time("S004", "centralized")
        },
    ]
}

impl PrintedValue {
    /// Creates the entry for a member's time in a class of schemes, without a value yet.
    fn time(source: &'static str, class: &'static str) -> Self {
        Self {
            source,
            schemes: &[],
            class,
            role: "member",
            operation: None,
            quantity: PrintedQuantity::TimeNs,
            members: (0, 0),
            value: 0.0,
            bound: false,
            device: "",
            note: String::new(),
        }
    }
}
