//! The columns of a power log: what each holds, and in which unit.

use super::power_log::Format;

/// The separators between cells that loggers write.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// What the cells of a line hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) format: Format,
    pub(super) separator: char,
    pub(super) kinds: Vec<Option<Column>>,
}

/// What one column holds. The factor makes seconds, watts, amperes or volts of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Column {
    Time(f64),
    /// Hours, minutes and seconds of a day.
    TimeOfDay,
    /// Milliseconds beyond the time of day.
    Millisecond,
    /// The number of the reading.
    Number,
    Power(f64),
    Current(f64),
    Voltage(f64),
    /// A digital channel: 0 or 1.
    Digital(u8),
    /// Eight digital channels as eight digits, channel 0 first.
    DigitalGroup,
    /// The operation that runs; empty if none does.
    Marker,
}

/// A cell of a line, and its byte offset in the line.
pub(super) struct Cell<'t> {
    pub(super) text: &'t str,
    pub(super) offset: usize,
}

impl Columns {
    /// Reads a heading. `None` if it names no power, or neither current nor a time.
    pub(super) fn of(line: &str) -> Option<Self> {
        let line = line.trim_start_matches('\u{feff}');
        let count = |separator: &char| line.matches(*separator).count();
        let separator = SEPARATORS.into_iter().max_by_key(count)?;
        let kinds: Vec<_> = cells(line, separator).map(|cell| kind(cell.text)).collect();
        let has = |wanted: fn(&Column) -> bool| kinds.iter().flatten().any(wanted);
        let is_timed =
            has(|column| matches!(column, Column::Time(_) | Column::TimeOfDay | Column::Number));
        let has_power = has(|column| matches!(column, Column::Power(_)));
        let has_current = has(|column| matches!(column, Column::Current(_)));
        let has_voltage = has(|column| matches!(column, Column::Voltage(_)));
        if !is_timed || !(has_power || has_current) {
            return None;
        }
        let is_plain = |name: &str| cells(line, separator).any(|cell| cell.text.trim() == name);
        let format = if is_plain("time_s") && is_plain("watt") {
            Format::Plain
        } else if has_current && !has_power && !has_voltage {
            Format::Ppk2
        } else if has_voltage || has_current {
            Format::Ina219
        } else {
            Format::Wt310
        };
        Some(Self { format, separator, kinds })
    }

    pub(super) fn cells<'t>(&self, line: &'t str) -> impl Iterator<Item = Cell<'t>> {
        cells(line, self.separator)
    }

    pub(super) fn has(&self, wanted: fn(&Column) -> bool) -> bool {
        self.kinds.iter().flatten().any(wanted)
    }
}

/// Splits a line into cells. Quotes around a cell are taken away; a separator within them does not
/// separate.
fn cells(line: &str, separator: char) -> impl Iterator<Item = Cell<'_>> {
    let mut rest = Some(0);
    std::iter::from_fn(move || {
        let start = rest?;
        let mut is_quoted = false;
        let end = line[start..].char_indices().find(|&(_, character)| {
            is_quoted ^= character == '"';
            character == separator && !is_quoted
        });
        let end = end.map(|(place, _)| start + place);
        rest = end.map(|end| end + separator.len_utf8());
        let whole = &line[start..end.unwrap_or(line.len())];
        let text = whole.trim();
        let offset = start + (whole.len() - whole.trim_start().len());
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Some(match inner {
            Some(inner) => Cell { text: inner, offset: offset + 1 },
            None => Cell { text, offset },
        })
    })
}

/// Returns what a column of this name holds; `None` if it does not matter.
fn kind(name: &str) -> Option<Column> {
    let name = name.trim().to_lowercase();
    let name = name.replace('µ', "u").replace('_', " ");
    let (base, unit) = base_and_unit(&name);
    if let Some(channel) = base.strip_prefix('d').and_then(|channel| channel.parse().ok()) {
        return (channel < 8).then_some(Column::Digital(channel));
    }
    let of =
        |base: &str| NAMES.iter().find(|(names, _)| names.contains(&base)).map(|(_, kind)| *kind);
    match of(base)? {
        Kind::Time => match unit {
            None | Some("s" | "sec" | "seconds") => Some(Column::Time(1.0)),
            Some("ms" | "msec") => Some(Column::Time(1e-3)),
            Some("us") => Some(Column::Time(1e-6)),
            Some(_) => None,
        },
        Kind::Milliseconds => Some(Column::Time(1e-3)),
        Kind::TimeOfDay => match unit {
            None => Some(Column::TimeOfDay),
            Some("ms") => Some(Column::Time(1e-3)),
            Some(_) => Some(Column::Time(1.0)),
        },
        Kind::Power => prefixed(unit, "w").map(Column::Power),
        Kind::Current => prefixed(unit, "a").map(Column::Current),
        Kind::Voltage => prefixed(unit, "v").map(Column::Voltage),
        Kind::Watt => Some(Column::Power(1.0)),
        Kind::Number => Some(Column::Number),
        Kind::Millisecond => Some(Column::Millisecond),
        Kind::DigitalGroup => Some(Column::DigitalGroup),
        Kind::Marker => Some(Column::Marker),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Time,
    Milliseconds,
    TimeOfDay,
    Millisecond,
    Number,
    Power,
    Watt,
    Current,
    Voltage,
    DigitalGroup,
    Marker,
}

/// Names of columns in lower case, with neither unit nor the number of an element.
const NAMES: [(&[&str], Kind); 11] = [
    (&["timestamp", "elapsed", "elapsed time", "t", "seconds", "uptime"], Kind::Time),
    (&["millis", "milliseconds", "ms"], Kind::Milliseconds),
    (&["time"], Kind::TimeOfDay),
    (&["millisecond"], Kind::Millisecond),
    (&["store no.", "store no", "no.", "no", "index"], Kind::Number),
    (&["power", "p", "p-e", "p-sigma", "p-σ", "active power"], Kind::Power),
    (&["watt", "watts"], Kind::Watt),
    (&["current"], Kind::Current),
    (
        &["bus", "bus voltage", "load voltage", "load", "voltage", "supply", "supply voltage"],
        Kind::Voltage,
    ),
    (&["d0-d7"], Kind::DigitalGroup),
    (&["marker", "label", "event"], Kind::Marker),
];

/// Splits a name into what it names and its unit: `current (ma)`, `current_ma`, `p-e1[w]`.
fn base_and_unit(name: &str) -> (&str, Option<&str>) {
    let bracketed = name.strip_suffix([')', ']']).and_then(|name| name.rsplit_once(['(', '[']));
    let (base, unit) = match bracketed {
        Some((base, unit)) => (base.trim_end(), Some(unit.trim())),
        None => match name.rsplit_once(' ') {
            Some((base, unit)) if UNITS.contains(&unit) => (base.trim_end(), Some(unit)),
            _ => (name, None),
        },
    };
    // An element of a meter: `p-e1`, `p1`.
    let element = base.strip_suffix('1').filter(|base| matches!(*base, "p-e" | "p" | "power"));
    (element.unwrap_or(base), unit)
}

const UNITS: [&str; 16] = [
    "s", "sec", "seconds", "ms", "msec", "us", "w", "mw", "uw", "kw", "a", "ma", "ua", "na", "v",
    "mv",
];

/// Returns the factor of a unit with a prefix; without a unit, that of the unit alone.
fn prefixed(unit: Option<&str>, base: &str) -> Option<f64> {
    let Some(unit) = unit else { return Some(1.0) };
    match unit.strip_suffix(base)? {
        "" => Some(1.0),
        "m" => Some(1e-3),
        "u" => Some(1e-6),
        "n" => Some(1e-9),
        "k" => Some(1e3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(heading: &str) -> (Format, Vec<Option<Column>>) {
        let columns = Columns::of(heading).unwrap_or_else(|| panic!("no columns: {heading}"));
        (columns.format, columns.kinds)
    }

    #[test]
    fn headings_of_loggers_are_known() {
        use Column::*;
        assert_eq!(of("time_s,watt"), (Format::Plain, vec![Some(Time(1.0)), Some(Power(1.0))]));
        assert_eq!(
            of("Timestamp(ms),Current(uA),D0-D7"),
            (Format::Ppk2, vec![Some(Time(1e-3)), Some(Current(1e-6)), Some(DigitalGroup)])
        );
        assert_eq!(of("Timestamp(ms),Current(uA),D0,D7").1[3], Some(Digital(7)));
        assert_eq!(
            of("time_ms,bus_V,shunt_mV,current_mA,power_mW"),
            (
                Format::Ina219,
                vec![
                    Some(Time(1e-3)),
                    Some(Voltage(1.0)),
                    None,
                    Some(Current(1e-3)),
                    Some(Power(1e-3))
                ]
            )
        );
        assert_eq!(of("Millis;Bus Voltage (V);Current (mA)").0, Format::Ina219);
        assert_eq!(of("time,bus_voltage_v,current_ma").0, Format::Ina219);
        let (format, columns) =
            of("\"Store No.\",\"Date\",\"Time\",\"Millisecond\",\"U-E1[V]\",\"P-E1[mW]\"");
        assert_eq!(format, Format::Wt310);
        let expected =
            [Some(Number), None, Some(TimeOfDay), Some(Millisecond), None, Some(Power(1e-3))];
        assert_eq!(columns, expected);
    }

    #[test]
    fn what_is_no_heading_is_none() {
        for line in ["", "WT310E,C2QA01001V", "time,temperature", "power_mW,current_mA", "1,2,3"] {
            assert_eq!(Columns::of(line), None, "{line}");
        }
    }

    #[test]
    fn quotes_keep_a_separator() {
        let cells: Vec<_> = cells("a, \"b,c\" ,d", ',').map(|c| (c.text, c.offset)).collect();
        assert_eq!(cells, [("a", 0), ("b,c", 4), ("d", 10)]);
    }
}
