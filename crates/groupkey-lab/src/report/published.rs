//! Numbers that studies print. The page marks these values in its charts and lists them beside ours.
//! Times are of the study's own device, and every mark says so.

use groupkey_choose::number;

use super::benchmark::Measure;
use super::content::{
    Beside, Entry, PrintedQuantity, PrintedValue, PublishedValue, Report, TimeQuantity,
};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::{capitalised, factor, operation};
use crate::bench::BenchRow;

/// Sets the published values beside ours: those of the study that the rows reproduce, or else those
/// in whose setting there is a row. Measured, modelled and simulated values have columns of their own.
pub(super) fn table(report: &Report, entries: &[Entry]) -> PageTable {
    let lines: Vec<Line> = match &report.reproduction {
        Some(study) => {
            let times = study.published_times.iter().map(Line::of_time);
            study.published.iter().map(Line::of_value).chain(times).collect()
        }
        None => {
            report.printed.iter().filter_map(|printed| Line::of_printed(printed, entries)).collect()
        }
    };
    let columns = vec![
        PageColumn::text("Value", |line: &Line| line.what.clone()),
        PageColumn::number("Published", "", |line: &Line| line.published.clone()),
        PageColumn::number("Measured", "", |line: &Line| line.measured.clone()),
        PageColumn::number("Modelled", "", |line: &Line| line.modelled.clone()),
        PageColumn::number("Simulated", "", |line: &Line| line.simulated.clone()),
        PageColumn::number("Ratio", "", |line: &Line| line.ratio.map(factor)),
        PageColumn::text("Ratio, drawn", |line: &Line| line.ratio.map(strip)),
        PageColumn::text("Note", |line: &Line| line.note.clone()),
    ];
    PageTable::of("Published values beside ours", &lines, columns).without_empty()
}

/// A published value, and our values beside it.
struct Line {
    what: String,
    published: String,
    measured: Option<String>,
    modelled: Option<String>,
    simulated: Option<String>,
    /// Our modelled or simulated value divided by the published one.
    ratio: Option<f64>,
    note: String,
}

impl Line {
    fn of_value(value: &Beside) -> Self {
        let unit = value.unit;
        let amount = |value: f64| format!("{} {unit}", number::published(value));
        Self {
            what: value.what.clone(),
            published: match value.error {
                Some(error) => {
                    format!("{} ± {}", number::published(value.published), amount(error))
                }
                None => amount(value.published),
            },
            measured: value.measured.map(amount),
            modelled: value.modelled.map(amount),
            simulated: None,
            ratio: value.modelled.and_then(|ours| ratio(ours, value.published)),
            note: value.note.clone(),
        }
    }

    fn of_time(value: &PublishedValue) -> Self {
        let amount = |amount: f64| format!("{} {}", number::digits(amount), value.unit);
        let quantity = match value.quantity {
            TimeQuantity::Total => "total time",
            TimeQuantity::Transmission => "transmission",
            TimeQuantity::TransmissionShare => "share of transmission",
        };
        Self {
            what: format!(
                "{}, {}: {quantity}, {} members, {} % loss, {} ms delay",
                capitalised(operation(&value.operation)),
                value.scheme,
                value.members,
                value.loss_percent,
                value.delay_ms
            ),
            published: amount(value.published),
            measured: None,
            modelled: None,
            simulated: match value.ours.is_finite() {
                true => Some(amount(value.ours)),
                false => Some("not run".to_owned()),
            },
            ratio: ratio(value.ours, value.published),
            note: value.note.clone(),
        }
    }

    fn of_printed(printed: &PrintedValue, entries: &[Entry]) -> Option<Self> {
        let ours = |measure| printed.ours(entries, measure);
        let (measured, modelled) = match printed.measure() {
            Measure::DeviceTime => (ours(Measure::Time), ours(Measure::DeviceTime)),
            Measure::DeviceEnergy => (None, ours(Measure::DeviceEnergy)),
            other => (ours(other), None),
        };
        measured.or(modelled)?;
        let PrintedValue { source, role, operation, members: (from, to), .. } = printed;
        let members = if from == to { from.to_string() } else { format!("{from} to {to}") };
        let operation = operation.unwrap_or("all operations");
        let amount = |value: Option<f64>| value.map(|value| printed.measure().words(value));
        Some(Self {
            what: format!("{source}: {}, {role}, {operation}, {members} members", printed.whose()),
            published: printed.amount(),
            measured: amount(measured),
            modelled: amount(modelled),
            simulated: None,
            // A bound is no value to agree with.
            ratio: modelled.filter(|_| !printed.bound).and_then(|ours| ratio(ours, printed.value)),
            note: printed.note.clone(),
        })
    }
}

fn ratio(ours: f64, published: f64) -> Option<f64> {
    Some((ours / published).abs()).filter(|ratio| ratio.is_finite())
}

/// Draws a ratio on a strip from an eighth to eight times, whose middle is agreement.
fn strip(ratio: f64) -> PageCell {
    let strip = r#"<span class="strip" aria-hidden="true"><i style="left:"#;
    PageCell::markup(format!("{strip}{}%\"></i></span>", place(ratio)), ratio.to_string())
}

/// Returns the position (%) of a ratio on the strip.
fn place(ratio: f64) -> f64 {
    let part = 50.0 + 50.0 * ratio.max(1e-9).log(8.0);
    (part.clamp(0.0, 100.0) * 10.0).round() / 10.0
}

impl PrintedValue {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strip_is_symmetric_about_one() {
        assert_eq!(place(1.0), 50.0);
        assert_eq!(place(8.0), 100.0);
        assert_eq!(place(0.125), 0.0);
        assert_eq!(place(2.0) - 50.0, 50.0 - place(0.5));
        assert_eq!(place(1e6), 100.0);
    }
}
