//! Logs of power meters: CSV files with a time and a power.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use groupkey_choose::input::{InputError, Mistake};

use super::meter_log::{MeterLog, Reading};
use super::operation_marks::OperationMark;

/// A log, read.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLog {
    /// Its readings. The first is at time 0 if the log has times of the day or numbers.
    pub log: MeterLog,
    /// The operations that the log itself marks.
    pub marks: Vec<OperationMark>,
}

impl PowerLog {
    /// Reads a file.
    pub fn load(path: &Path, interval: Option<f64>) -> Result<Self, InputError> {
        Self::parse(&InputError::read_long(path)?, path, interval)
    }

    /// Reads the text of a file. Its heading is `time_s,watt`, with a third column `marker` if there
    /// is one, or that of Yokogawa's WT310 as WTViewer writes it: the number of a reading (`Store
    /// No.`) or a time of the day (`Time`, `Millisecond`), and a power (`P`, `P1`, `P-E1`, in W or
    /// mW). `interval` is the time between two readings (s), for a log that only numbers them.
    ///
    /// Lines before the heading and lines with `#` are skipped. At least two readings follow, each
    /// later than the one before. Errors name the file by `path`.
    pub fn parse(text: &str, path: &Path, interval: Option<f64>) -> Result<Self, InputError> {
        parse(text, interval).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

fn parse(text: &str, interval: Option<f64>) -> Result<PowerLog, Mistake> {
    let records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(text.as_bytes())
        .into_records();
    let mut columns = None;
    let mut reader = LogReader::new(interval);
    for record in records {
        let record = record.map_err(|error| {
            let at = error.position().map_or(0, |position| offset(position.byte()));
            Mistake::at(at, "this is no line of a CSV file in UTF-8")
        })?;
        let at = record.position().map_or(0, |position| offset(position.byte()));
        match &columns {
            None => columns = Columns::of(&record),
            Some(columns) if columns.is_units(&record) => {}
            Some(columns) => {
                reader.take(columns, &record).map_err(|problem| Mistake::at(at, problem))?;
            }
        }
    }
    if columns.is_none() {
        return Err(Mistake::at(
            0,
            "no heading with a time and a power: known are time_s,watt,marker and \
             Store No.,Date,Time,Millisecond,P-E1",
        ));
    }
    reader.end(text.len())
}

fn offset(byte: u64) -> usize {
    usize::try_from(byte).unwrap_or(usize::MAX)
}

/// Which column holds what.
struct Columns {
    time: LogTime,
    power: usize,
    /// Watts of a power as it is written.
    watt: f64,
    marker: Option<usize>,
}

/// How a log tells the time.
enum LogTime {
    /// Seconds.
    Seconds(usize),
    /// The time of the day, and milliseconds beyond it.
    OfDay(usize, Option<usize>),
    /// The number of the reading.
    Number(usize),
}

impl Columns {
    /// Returns the columns if this is a heading.
    fn of(heading: &StringRecord) -> Option<Self> {
        let names: Vec<String> = heading.iter().map(str::to_lowercase).collect();
        let place = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let time = place(&["time_s"])
            .map(LogTime::Seconds)
            .or_else(|| Some(LogTime::OfDay(place(&["time"])?, place(&["millisecond"]))))
            .or_else(|| Some(LogTime::Number(place(&["store no.", "no."])?)))?;
        let power = names.iter().position(|name| watts(name).is_some())?;
        Some(Self { time, power, watt: watts(&names[power])?, marker: place(&["marker"]) })
    }

    /// Returns whether a line under the heading has units alone, such as `s,V,A,W`.
    fn is_units(&self, record: &StringRecord) -> bool {
        record.get(self.power).is_some_and(|unit| matches!(unit, "W" | "[W]" | "mW" | "[mW]"))
    }
}

/// Returns the watts of one unit of a column of powers.
fn watts(name: &str) -> Option<f64> {
    let name = name.replace(' ', "");
    let (base, unit) = name.split_once('[').unwrap_or((&name, "w]"));
    let factor = match unit {
        "w]" => 1.0,
        "mw]" => 1e-3,
        _ => return None,
    };
    matches!(base, "watt" | "p" | "p1" | "p-e1").then_some(factor)
}

/// Takes readings line by line.
struct LogReader {
    interval: Option<f64>,
    readings: Vec<Reading>,
    /// The operation that runs, and since when.
    open: Option<(String, f64)>,
    marks: Vec<OperationMark>,
    /// The first reading's time of day or number, and the days since.
    first: Option<f64>,
    days: f64,
}

impl LogReader {
    fn new(interval: Option<f64>) -> Self {
        Self {
            interval,
            readings: Vec::new(),
            open: None,
            marks: Vec::new(),
            first: None,
            days: 0.0,
        }
    }

    fn take(&mut self, columns: &Columns, record: &StringRecord) -> Result<(), String> {
        let seconds = self.seconds(&columns.time, record)?;
        let watt = columns.watt * number(record, columns.power, "power")?;
        if self.readings.last().is_some_and(|last| seconds <= last.seconds) {
            return Err("each reading must be later than the one before".to_owned());
        }
        if let Some(marker) = columns.marker {
            self.mark(record.get(marker).ok_or("the marker is missing")?, seconds);
        }
        self.readings.push(Reading { seconds, watt });
        Ok(())
    }

    /// Returns the time of a line (s). Times of the day and numbers begin at 0.
    fn seconds(&mut self, time: &LogTime, record: &StringRecord) -> Result<f64, String> {
        match *time {
            LogTime::Seconds(column) => number(record, column, "time"),
            LogTime::OfDay(column, milliseconds) => {
                let text = record.get(column).unwrap_or_default();
                let Some(of_day) = time_of_day(text) else {
                    return number(record, column, "time");
                };
                let beyond = match milliseconds {
                    Some(column) => number(record, column, "millisecond")? / 1e3,
                    None => 0.0,
                };
                Ok(self.of_day(of_day + beyond))
            }
            LogTime::Number(column) => {
                let interval = self.interval.ok_or(
                    "a log of numbered readings needs the time between them: give it with \
                     --interval, in seconds",
                )?;
                let number = number(record, column, "number of the reading")?;
                Ok((number - *self.first.get_or_insert(number)) * interval)
            }
        }
    }

    fn of_day(&mut self, time: f64) -> f64 {
        let first = *self.first.get_or_insert(time);
        let elapsed = time + self.days * DAY - first;
        match self.readings.last() {
            Some(last) if elapsed < last.seconds - DAY / 2.0 => {
                self.days += 1.0;
                elapsed + DAY
            }
            _ => elapsed,
        }
    }

    fn mark(&mut self, marker: &str, seconds: f64) {
        if self.open.as_ref().is_some_and(|(label, _)| label == marker) {
            return;
        }
        if let Some((label, start)) = self.open.take() {
            self.marks.push(OperationMark { label, start, end: seconds });
        }
        if !marker.is_empty() {
            self.open = Some((marker.to_owned(), seconds));
        }
    }

    /// Returns what was read. An operation that still runs at the end is cut off, so it is not
    /// measured.
    fn end(self, end: usize) -> Result<PowerLog, Mistake> {
        let log = MeterLog::new(self.readings)
            .ok_or_else(|| Mistake::at(end, "at least two readings are needed"))?;
        Ok(PowerLog { log, marks: self.marks })
    }
}

/// Seconds.
const DAY: f64 = 86_400.0;

fn number(record: &StringRecord, column: usize, name: &str) -> Result<f64, String> {
    let text = record.get(column).unwrap_or_default();
    let number = text.parse().ok().filter(|number: &f64| number.abs() < 1e15);
    number.ok_or_else(|| match text {
        "" => format!("the {name} is missing"),
        _ if text.trim_matches('-').is_empty() => {
            format!("the meter had no {name} here: cut the log before or after")
        }
        _ => format!("the {name} {:?} is no number", text.chars().take(20).collect::<String>()),
    })
}

/// Reads `13:05:59` or `13:05:59.250`, in seconds of the day.
fn time_of_day(text: &str) -> Option<f64> {
    let [hours, minutes, seconds] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let within = |text: &str, limit: f64| {
        text.parse().ok().filter(|number: &f64| (0.0..limit).contains(number))
    };
    Some(within(hours, 24.0)? * 3_600.0 + within(minutes, 60.0)? * 60.0 + within(seconds, 61.0)?)
}
