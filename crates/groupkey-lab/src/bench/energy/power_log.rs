//! Logs of power meters: CSV files with a time, a power, and what ran.

use std::path::Path;

use csv::{ReaderBuilder, Trim};
use groupkey_choose::input::{InputError, Mistake};
use serde::Deserialize;

use super::meter_log::{MeterLog, Reading};

/// A log, read.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLog {
    /// Its readings.
    pub log: MeterLog,
    /// The operations that it marks.
    pub marks: Vec<OperationMark>,
}

/// An operation that ran while a meter read.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationMark {
    /// What ran.
    pub label: String,
    /// When it began (s).
    pub start: f64,
    /// When it ended (s): the first reading without it.
    pub end: f64,
}

#[derive(Deserialize)]
struct Line {
    seconds: f64,
    watts: f64,
    marker: String,
}

impl PowerLog {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::parse(&InputError::read_long(path)?, path)
    }

    /// Reads the text of a file. Its heading is `seconds,watts,marker`. Lines with `#` are skipped.
    /// At least two readings follow, each later than the one before. An operation that still runs at
    /// the end is cut off, so it is not measured. Errors name the file by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

fn parse(text: &str) -> Result<PowerLog, Mistake> {
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).from_reader(text.as_bytes());
    if !reader.headers().is_ok_and(|heading| *heading == HEADING[..]) {
        return Err(Mistake::at(0, format!("the first line must be {}", HEADING.join(","))));
    }
    let heading = reader.headers().cloned().ok();
    let (mut readings, mut marks) = (Vec::<Reading>::new(), Vec::new());
    let mut open: Option<(String, f64)> = None;
    for record in reader.records() {
        let offset = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX);
        let record = record.map_err(|error| {
            let at = error.position().map_or(0, |position| offset(position.byte()));
            Mistake::at(at, LINE)
        })?;
        let at = record.position().map_or(0, |position| offset(position.byte()));
        let line = record.deserialize(heading.as_ref()).ok();
        let line = line.filter(|line: &Line| line.seconds.abs() < MOST && line.watts.abs() < MOST);
        let Line { seconds, watts: watt, marker } = line.ok_or_else(|| Mistake::at(at, LINE))?;
        if readings.last().is_some_and(|last| seconds <= last.seconds) {
            return Err(Mistake::at(at, "each reading must be later than the one before"));
        }
        readings.push(Reading { seconds, watt });
        if open.as_ref().is_some_and(|(label, _)| *label == marker) {
            continue;
        }
        if let Some((label, start)) = open.take() {
            marks.push(OperationMark { label, start, end: seconds });
        }
        open = (!marker.is_empty()).then_some((marker, seconds));
    }
    let log = MeterLog::new(readings)
        .ok_or_else(|| Mistake::at(text.len(), "at least two readings are needed"))?;
    Ok(PowerLog { log, marks })
}

const HEADING: [&str; 3] = ["seconds", "watts", "marker"];
const LINE: &str = "write a time in seconds, a power in watts, and the operation that runs, if one \
    does: 2.5,0.218,rekey or 2.6,0.205,";
/// A bound above any number in a log, and above none that is infinite or not a number.
const MOST: f64 = 1e15;
