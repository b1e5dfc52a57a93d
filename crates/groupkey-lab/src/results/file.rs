//! The files that rows are kept in: versioned JSON Lines, and CSV for spreadsheets.
//!
//! `results.jsonl` is a [`Header`] line and then one [`NetworkRow`] a line, raw samples included.
//! `summary.csv` has the same rows without the samples. Both are the same bytes for the same rows.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt, fs};

use serde::Serialize;

use super::{Header, NetworkRow};

/// Writes a whole results file.
pub fn write_jsonl(out: &mut impl Write, header: &Header, rows: &[NetworkRow]) -> io::Result<()> {
    write_line(out, header)?;
    rows.iter().try_for_each(|row| write_line(out, row))
}

/// Writes one [`Header`] or [`NetworkRow`] as one line; a campaign calls it as each row is done.
pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Reads a results file.
///
/// A campaign that was interrupted may leave half a line at the end: it is dropped, and the rows
/// before it are returned.
pub fn read_jsonl(path: &Path) -> Result<(Header, Vec<NetworkRow>), ResultsError> {
    let failed = |line, problem| ResultsError { path: path.to_owned(), line, problem };
    let bytes = fs::read(path).map_err(|error| failed(0, error.to_string()))?;
    parse(&bytes).map_err(|(line, problem)| failed(line, problem))
}

/// A results file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1; 0 if the file could not be opened.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.problem),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.problem),
        }
    }
}

impl error::Error for ResultsError {}

/// Writes the rows, without samples, as RFC 4180 CSV (but with plain line feeds).
pub fn write_csv(out: &mut impl Write, rows: &[NetworkRow]) -> io::Result<()> {
    writeln!(
        out,
        "scheme,profile,suite,protection,provenance,operation,members,loss_percent,delay_ms,qos,\
         device,runs,seed,mean_ms,sd_ms,ci95_ms,p50_ms,p90_ms,p99_ms,transmission_ms,computation_ms,\
         member_mean_ms,messages,payload_bytes,wire_bytes,retransmissions"
    )?;
    for row in rows {
        let NetworkRow { scheme, profile, suite, protection, provenance, operation, .. } = row;
        let quoted = [scheme, profile, suite, protection, provenance, operation];
        let quoted = quoted.map(|text| csv_field(text)).join(",");
        write!(out, "{quoted},{},{},{}", row.members, row.loss_percent, row.delay_ms)?;
        write!(out, ",{},{},{},{}", row.qos, csv_field(&row.device), row.runs, row.seed)?;
        for number in [
            row.mean_ms,
            row.sd_ms,
            row.ci95_ms,
            row.p50_ms,
            row.p90_ms,
            row.p99_ms,
            row.transmission_ms,
            row.computation_ms,
            row.member_mean_ms,
            row.messages,
            row.payload_bytes,
            row.wire_bytes,
            row.retransmissions,
        ] {
            write!(out, ",{number}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn parse(bytes: &[u8]) -> Result<(Header, Vec<NetworkRow>), (usize, String)> {
    let mut lines = bytes.split_inclusive(|&b| b == b'\n').enumerate();
    let (_, first) = lines.next().ok_or_else(|| (1, "empty file".to_owned()))?;
    let header = parse_header(first).map_err(|problem| (1, problem))?;

    let mut rows = Vec::new();
    for (index, line) in lines {
        match serde_json::from_slice(line) {
            Ok(row) => rows.push(row),
            // Only the last line can lack its line feed.
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => return Err((index + 1, format!("not a result row: {error}"))),
        }
    }
    Ok((header, rows))
}

fn parse_header(line: &[u8]) -> Result<Header, String> {
    let header: Header =
        serde_json::from_slice(line).map_err(|error| format!("not a header: {error}"))?;
    if header.format != Header::FORMAT {
        return Err(format!("format is {:?}, not {:?}", header.format, Header::FORMAT));
    }
    if header.version != Header::VERSION {
        return Err(format!("version {} is not {}", header.version, Header::VERSION));
    }
    Ok(header)
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::RunSample;
    use crate::results::example::{samples, setting};

    #[test]
    fn a_truncated_last_line_is_dropped() {
        let row = NetworkRow::from_samples(setting(), samples());
        let mut bytes = file(&[row.clone(), row]);
        bytes.truncate(bytes.len() - 9);
        assert_eq!(parse(&bytes).map(|(_, rows)| rows.len()), Ok(1));
    }

    #[test]
    fn a_broken_line_is_named() {
        let mut bytes = file(&[]);
        bytes.extend_from_slice(b"{\"scheme\": 7}\n");
        let (line, problem) = parse(&bytes).expect_err("a number is no scheme");
        assert_eq!(line, 2);
        assert!(problem.contains("not a result row"), "{problem}");
    }

    #[test]
    fn other_formats_and_versions_are_refused() {
        for (from, to) in [("groupkey-results", "gpx"), ("\"version\":1", "\"version\":2")] {
            let text = String::from_utf8(file(&[])).expect("JSON is UTF-8").replace(from, to);
            assert_eq!(parse(text.as_bytes()).map_err(|(line, _)| line), Err(1));
        }
        assert!(parse(b"").is_err());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_jsonl(Path::new("no-such-results.jsonl")).expect_err("there is none");
        assert!(error.to_string().starts_with("no-such-results.jsonl: "), "{error}");
    }

    #[test]
    fn csv_has_a_field_for_every_column() {
        let mut row = NetworkRow::from_samples(setting(), samples());
        row.device = "ESP32, 240 MHz".to_owned();
        let mut out = Vec::new();
        write_csv(&mut out, &[row]).expect("writing to memory");
        let text = String::from_utf8(out).expect("UTF-8");
        let (columns, fields) = text.split_once('\n').expect("two lines");
        assert_eq!(columns.split(',').count() + 1, fields.split(',').count(), "{text}");
        assert!(fields.contains(",\"ESP32, 240 MHz\",2,42,15,"), "{fields}");
    }

    proptest! {
        #[test]
        fn rows_read_back_as_written(times in prop::collection::vec(0.0..1e8_f64, 1..5)) {
            let samples = times.iter().map(|&t| RunSample { total_ms: t, ..samples()[0] }).collect();
            let row = NetworkRow::from_samples(setting(), samples);
            let bytes = file(std::slice::from_ref(&row));
            let (_, rows) = parse(&bytes).expect("just written");
            prop_assert_eq!(&rows, &[row]);
            prop_assert_eq!(file(&rows), bytes);
        }
    }

    fn file(rows: &[NetworkRow]) -> Vec<u8> {
        let header = Header {
            format: Header::FORMAT.to_owned(),
            version: Header::VERSION,
            study: "network".to_owned(),
            seed: 1,
            runs: 2,
            commit: "0123abc".to_owned(),
            machine: "a processor, 2 cores".to_owned(),
            suite: "standard".to_owned(),
            assumptions: vec!["Clocks agree.".to_owned()],
        };
        let mut out = Vec::new();
        write_jsonl(&mut out, &header, rows).expect("writing to memory");
        out
    }
}
