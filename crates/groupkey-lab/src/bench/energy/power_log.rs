//! Logs of power meters and current loggers: CSV files of four makes, recognised by their heading.

use std::path::Path;

use super::columns::{Cell, Column, Columns};
use super::equations::PowerMeter;
use super::marks::Mark;
use super::meter_log::{MeterLog, Reading};
use crate::input::{InputError, Mistake};

/// A kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `time_s,watt`, and `marker` if there is one.
    Plain,
    /// Yokogawa's WT310, as WTViewer writes it: time of day or number of a reading, and power.
    Wt310,
    /// Nordic's Power Profiler Kit II: milliseconds, microamperes and digital channels.
    Ppk2,
    /// An INA219 or its relatives: time, and power or voltage and current.
    Ina219,
}

/// What a log does not say of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Supplement {
    /// The kind of log, if it is not the one that its heading looks like.
    pub format: Option<Format>,
    /// The supply voltage (V), for a log of currents alone.
    pub volts: Option<f64>,
    /// The time between two readings (s), for a log of numbered readings.
    pub interval: Option<f64>,
    /// The digital channel that is high while an operation runs.
    pub channel: u8,
}

/// A log, read.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLog {
    /// The kind of log.
    pub format: Format,
    /// Its readings. The first is at time 0 if the log has times of the day or numbers.
    pub log: MeterLog,
    /// The operations that the log itself marks.
    pub marks: Vec<Mark>,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Wt310, Self::Ppk2, Self::Ina219];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Wt310 => "wt310",
            Self::Ppk2 => "ppk2",
            Self::Ina219 => "ina219",
        }
    }

    /// Returns what the format is.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Plain => "time_s,watt, and a column marker if there is one",
            Self::Wt310 => "Yokogawa WT310 by WTViewer: Time or Store No., and P",
            Self::Ppk2 => "Nordic PPK2: Timestamp(ms),Current(uA) and D0-D7; needs --volts",
            Self::Ina219 => "INA219 loggers: a time, and power_mW or bus_V and current_mA",
        }
    }

    /// Returns the error of its readings: published for the WT310, assumed for the others.
    pub const fn meter(self) -> PowerMeter {
        match self {
            Self::Plain | Self::Wt310 => PowerMeter::WT310,
            Self::Ppk2 => PowerMeter::PPK2,
            Self::Ina219 => PowerMeter::INA219,
        }
    }
}

impl PowerLog {
    /// Reads a file.
    pub fn load(path: &Path, supplement: &Supplement) -> Result<Self, InputError> {
        Self::parse(&InputError::read(path)?, path, supplement)
    }

    /// Reads the text of a file. Errors name the file by `path`. Lines before the heading, empty
    /// lines and lines with `#` are skipped. At least two readings follow, each later than the one
    /// before.
    pub fn parse(text: &str, path: &Path, supplement: &Supplement) -> Result<Self, InputError> {
        parse(text, supplement).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

fn parse(text: &str, supplement: &Supplement) -> Result<PowerLog, Mistake> {
    let mut lines = Lines { text, offset: 0 };
    let columns = heading(&mut lines)?;
    let format = supplement.format.unwrap_or(columns.format);
    let mut reader = Reader::new(&columns, supplement, text.len())?;
    for (offset, line) in lines {
        if line.is_empty() || line.starts_with('#') || is_units(line, &columns) {
            continue;
        }
        reader.take(line, offset)?;
    }
    reader.end(format, text.len())
}

/// The lines of a text without white space around them, each with its byte offset.
struct Lines<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.offset..).filter(|rest| !rest.is_empty())?;
        let whole = rest.split_inclusive('\n').next()?;
        let at = self.offset + (whole.len() - whole.trim_start().len());
        self.offset += whole.len();
        Some((at, whole.trim()))
    }
}

/// How many lines may stand before the heading.
const PREAMBLE: usize = 100;

fn heading(lines: &mut Lines<'_>) -> Result<Columns, Mistake> {
    lines.take(PREAMBLE).find_map(|(_, line)| Columns::of(line)).ok_or_else(|| {
        Mistake::at(
            0,
            "no heading with a time and a power or a current: known are time_s,watt; \
             Timestamp(ms),Current(uA),D0-D7; time_ms,bus_V,current_mA,power_mW; Store No.,Time,P-E1",
        )
    })
}

/// Whether a line under the heading has units alone, such as `s,V,A,W`.
fn is_units(line: &str, columns: &Columns) -> bool {
    columns.cells(line).all(|cell| {
        let word = cell.text.trim_matches(['[', ']', '(', ')']);
        word.len() <= 4 && word.chars().all(char::is_alphabetic)
    }) && columns.cells(line).any(|cell| cell.text.to_lowercase().ends_with('w'))
}

/// Takes readings line by line.
struct Reader<'c> {
    columns: &'c Columns,
    supplement: &'c Supplement,
    readings: Vec<Reading>,
    /// The operation that runs, and since when.
    open: Option<(String, f64)>,
    marks: Vec<Mark>,
    /// The first reading's time of day or number, and the days since.
    first: Option<f64>,
    days: f64,
}

/// What one line says.
#[derive(Default)]
struct Line {
    seconds: Option<f64>,
    of_day: Option<f64>,
    milliseconds: f64,
    number: Option<f64>,
    power: Option<f64>,
    current: Option<f64>,
    voltage: Option<f64>,
    marker: Option<String>,
}

impl<'c> Reader<'c> {
    fn new(columns: &'c Columns, supplement: &'c Supplement, end: usize) -> Result<Self, Mistake> {
        let has = |wanted| columns.has(wanted);
        if !has(|column| matches!(column, Column::Power(_) | Column::Voltage(_)))
            && supplement.volts.is_none()
        {
            return Err(Mistake::at(
                0,
                "a log of currents needs the supply voltage: give it with --volts, such as --volts 3.0",
            ));
        }
        if !has(|column| matches!(column, Column::Time(_) | Column::TimeOfDay))
            && supplement.interval.is_none()
        {
            return Err(Mistake::at(
                0,
                "a log of numbered readings needs the time between them: give it with --interval, in seconds",
            ));
        }
        Ok(Self {
            columns,
            supplement,
            // A guess that keeps the vector from growing often: 20 bytes a line.
            readings: Vec::with_capacity(end / 20),
            open: None,
            marks: Vec::new(),
            first: None,
            days: 0.0,
        })
    }

    fn take(&mut self, line: &str, offset: usize) -> Result<(), Mistake> {
        let said = self.read(line, offset)?;
        let seconds =
            self.seconds(&said).ok_or_else(|| Mistake::at(offset, "the time is missing"))?;
        let volts = said.voltage.or(self.supplement.volts);
        let watt = said.power.or_else(|| Some(said.current? * volts?));
        let watt = watt.ok_or_else(|| Mistake::at(offset, "the power is missing"))?;
        if self.readings.last().is_some_and(|last| seconds <= last.seconds) {
            return Err(Mistake::at(offset, "each reading must be later than the one before"));
        }
        self.mark(said.marker, seconds);
        self.readings.push(Reading { seconds, watt });
        Ok(())
    }

    fn read(&self, line: &str, offset: usize) -> Result<Line, Mistake> {
        let kinds = &self.columns.kinds;
        if self.columns.cells(line).count() < kinds.len() {
            let problem = format!("the heading has {} columns, this line fewer", kinds.len());
            return Err(Mistake::at(offset + line.len(), problem));
        }
        let mut said = Line::default();
        for (kind, cell) in kinds.iter().zip(self.columns.cells(line)) {
            if let Some(kind) = kind {
                self.read_cell(*kind, &cell, &mut said)
                    .map_err(|problem| Mistake::at(offset + cell.offset, problem))?;
            }
        }
        Ok(said)
    }

    fn read_cell(&self, kind: Column, cell: &Cell<'_>, said: &mut Line) -> Result<(), String> {
        let number = || number(cell.text, self.columns.separator);
        match kind {
            Column::Time(factor) => said.seconds = Some(number()? * factor),
            Column::TimeOfDay => match time_of_day(cell.text) {
                Some(seconds) => said.of_day = Some(seconds),
                None => said.seconds = Some(number()?),
            },
            Column::Millisecond => said.milliseconds = number()?,
            Column::Number => said.number = Some(number()?),
            Column::Power(factor) => said.power = Some(number()? * factor),
            Column::Current(factor) => said.current = Some(number()? * factor),
            Column::Voltage(factor) => said.voltage = Some(number()? * factor),
            Column::Digital(channel) if channel == self.supplement.channel => {
                let is_high = match cell.text {
                    "0" => false,
                    "1" => true,
                    _ => return Err("a digital channel is 0 or 1".to_owned()),
                };
                said.marker = Some(label(channel, is_high));
            }
            Column::Digital(_) => {}
            Column::DigitalGroup => {
                let is_group =
                    cell.text.len() == 8 && cell.text.bytes().all(|b| b"01".contains(&b));
                if !is_group {
                    return Err("the digital channels are eight digits 0 or 1, D0 first".to_owned());
                }
                let channel = self.supplement.channel;
                let is_high = cell.text.as_bytes().get(usize::from(channel)) == Some(&b'1');
                said.marker = Some(label(channel, is_high));
            }
            Column::Marker => said.marker = Some(cell.text.to_owned()),
        }
        Ok(())
    }

    /// Returns the time of a line (s). Times of the day and numbers begin at 0.
    fn seconds(&mut self, said: &Line) -> Option<f64> {
        if let Some(seconds) = said.seconds {
            return Some(seconds);
        }
        if let Some(of_day) = said.of_day {
            let time = of_day + said.milliseconds / 1e3;
            let first = *self.first.get_or_insert(time);
            let elapsed = time + self.days * DAY - first;
            let is_next_day =
                self.readings.last().is_some_and(|last| elapsed < last.seconds - DAY / 2.0);
            self.days += f64::from(u8::from(is_next_day));
            return Some(if is_next_day { elapsed + DAY } else { elapsed });
        }
        let number = said.number?;
        let first = *self.first.get_or_insert(number);
        Some((number - first) * self.supplement.interval?)
    }

    fn mark(&mut self, marker: Option<String>, seconds: f64) {
        let Some(marker) = marker else { return };
        if self.open.as_ref().is_some_and(|(label, _)| *label == marker) {
            return;
        }
        if let Some((label, start)) = self.open.take() {
            self.marks.push(Mark { label, start, end: seconds });
        }
        if !marker.is_empty() {
            self.open = Some((marker, seconds));
        }
    }

    fn end(mut self, format: Format, end: usize) -> Result<PowerLog, Mistake> {
        // An operation that still runs at the end is cut off, so it is not measured.
        self.open = None;
        let log = MeterLog::new(self.readings)
            .ok_or_else(|| Mistake::at(end, "at least two readings are needed"))?;
        Ok(PowerLog { format, log, marks: self.marks })
    }
}

const DAY: f64 = 86_400.0;

/// The label of a digital channel's operations; none while it is low.
fn label(channel: u8, is_high: bool) -> String {
    if is_high { format!("D{channel}") } else { String::new() }
}

fn number(text: &str, separator: char) -> Result<f64, String> {
    // Where the comma does not separate, it may be the decimal sign.
    let read = match separator {
        ',' => text.parse(),
        _ => text.replace(',', ".").parse(),
    };
    let number = read.ok().filter(|number: &f64| number.is_finite() && number.abs() < 1e15);
    number.ok_or_else(|| match text {
        "" => "a number is missing".to_owned(),
        _ if text.starts_with('-') && text.trim_matches('-').is_empty() => {
            "the meter had no reading here: cut the log before or after".to_owned()
        }
        _ => format!("{:?} is no number", shortened(text)),
    })
}

/// Returns the beginning of a text, for a message.
fn shortened(text: &str) -> String {
    text.chars().take(20).collect()
}

/// Reads `13:05:59` or `13:05:59.250`, in seconds of the day.
fn time_of_day(text: &str) -> Option<f64> {
    let [hours, minutes, seconds] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let within = |text: &str, limit: f64| {
        text.parse().ok().filter(|number: &f64| (0.0..limit).contains(number))
    };
    Some(within(hours, 24.0)? * 3_600.0 + within(minutes, 60.0)? * 60.0 + within(seconds, 61.0)?)
}
