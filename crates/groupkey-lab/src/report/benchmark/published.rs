//! Numbers that studies print. The page marks these values in its charts and lists them. Times are
//! of the study's own device, and every mark says so.

use super::content::Entry;
use super::measure::Measure;
use crate::bench::BenchRow;

/// A value that a study prints.
#[derive(Clone, Debug)]
pub struct PrintedValue {
    /// The study.
    pub source: &'static str,
    /// The schemes, by id, for which it holds.
    pub schemes: &'static [&'static str],
    /// The schemes' class.
    pub class: &'static str,
    /// The role whose cost it is.
    pub role: &'static str,
    /// An operation, or `None` if the value holds for all operations.
    pub operation: Option<&'static str>,
    /// The quantity, in ns, J or bytes.
    pub quantity: PrintedQuantity,
    /// The smallest and the largest group for which it holds.
    pub members: (u32, u32),
    /// The value, in the quantity's unit.
    pub value: f64,
    /// Whether it is an upper bound.
    pub bound: bool,
    /// The profile of the study's own device. Times modelled for another device say nothing about
    /// the value. Empty for a value that does not depend on a device.
    pub device: &'static str,
    /// What to keep in mind.
    pub note: String,
}

/// The quantity of a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedQuantity {
    /// Energy (J).
    EnergyJoule,
    /// Bytes of keys that are kept.
    PermanentBytes,
    /// Time (ns).
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
