//! The files that keep rows: versioned JSON Lines, and CSV for spreadsheets.
//!
//! `results.jsonl` has a header line and then one row a line, raw samples included. The header's
//! [`FileHeader::FORMAT`] tells the kind of rows. `summary.csv` has the same rows without the
//! samples. The same rows give the same bytes in both files. What `--json` prints are rows without a
//! header; they are read as well.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt, fs};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::columns::{self, ResultColumn};

/// The first line of a results file.
pub trait FileHeader: Serialize + DeserializeOwned {
    /// The type of the other lines.
    type Row: FileRow;
    /// The value of the header's field `format`.
    const FORMAT: &'static str;
    /// The value of the header's field `version`. This code writes and reads only this version.
    const VERSION: u32;

    /// Returns the header of rows that were printed without one, by `--json`. `None` if no command
    /// prints such rows.
    fn of_printed(_rows: &[Self::Row]) -> Option<Self> {
        None
    }

    /// Returns where the results come from.
    fn origin(&self) -> Origin<'_>;

    /// Returns how a file with this many rows differs from the file that was to be written. `None`
    /// if it does not differ, or if the header does not say.
    fn lacking(&self, _rows: usize) -> Option<String> {
        None
    }
}

/// The origin of a results file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Origin<'a> {
    /// Commit of the code that ran.
    pub commit: &'a str,
    /// Processor model and number of cores.
    pub machine: &'a str,
    /// Seed of the run.
    pub seed: u64,
}

/// A line of a results file after the header.
pub trait FileRow: Serialize + DeserializeOwned {
    /// Returns the columns of the row in a table: everything except lists.
    fn columns() -> Vec<ResultColumn<Self>>;

    /// Checks a row of the right form. Negative and absurdly large numbers are checked elsewhere.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Writes a whole results file.
pub fn write_jsonl<H: FileHeader>(
    out: &mut impl Write,
    header: &H,
    rows: &[H::Row],
) -> io::Result<()> {
    write_line(out, header)?;
    rows.iter().try_for_each(|row| write_line(out, row))
}

/// Writes a header or a row as one line; a campaign calls it as each row is done.
pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes the rows, without samples, as RFC 4180 CSV (but with plain line feeds).
pub fn write_csv<R: FileRow>(out: &mut impl Write, rows: &[R]) -> io::Result<()> {
    columns::write(out, &R::columns(), rows)
}

/// Reads a results file.
///
/// An interrupted campaign may leave half a line at the end. That line is dropped, and the rows
/// before it are returned.
pub fn read_jsonl<H: FileHeader>(path: &Path) -> Result<(H, Vec<H::Row>), ResultsError> {
    let failed = |line, problem| ResultsError { path: path.to_owned(), line, problem };
    let bytes = lines_of(path).map_err(|error| failed(0, error.to_string()))?;
    parse(&bytes).map_err(|(line, problem)| failed(line, problem))
}

/// Reads a file line by line. What has no ends of lines may have no end.
fn lines_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(fs::File::open(path)?);
    let mut bytes = Vec::new();
    loop {
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(bytes);
        }
        if read as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
            let problem = "a line is longer than 64 MiB: is it the right file?";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
    }
}

/// Returns the first line of a results file: a header, or the first of rows that were printed.
pub(super) fn first_line(path: &Path) -> Result<Vec<u8>, ResultsError> {
    let failed = |error: io::Error| ResultsError::of_file(path, error.to_string());
    let mut first = Vec::new();
    let mut reader = BufReader::new(fs::File::open(path).map_err(failed)?.take(LONGEST_LINE));
    reader.read_until(b'\n', &mut first).map_err(failed)?;
    Ok(first)
}

/// Returns the format that a header names; `None` if the line is no header.
pub(super) fn format_named(line: &[u8]) -> Option<String> {
    serde_json::from_slice(line).ok().map(|Preamble { format, .. }| format)
}

/// Returns whether a line is a row without a header before it.
pub(super) fn is_row<R: FileRow>(line: &[u8]) -> bool {
    format_named(line).is_none() && serde_json::from_slice::<R>(line).is_ok()
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

impl ResultsError {
    pub(super) fn of_file(path: &Path, problem: String) -> Self {
        Self { path: path.to_owned(), line: 0, problem }
    }
}

/// What stands in a header in place of what rows alone do not say.
pub(crate) const UNKNOWN: &str = "unknown";

/// The assumption that stands in such a header.
pub(crate) const PRINTED: &str =
    "Printed by --json: nothing says on which machine it was run, or by which commit.";

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.problem),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.problem),
        }
    }
}

impl error::Error for ResultsError {}

/// A bound above the length of any first line (bytes): a row may have all its runs.
const LONGEST_LINE: u64 = 1 << 26;

type Parsed<H> = (H, Vec<<H as FileHeader>::Row>);

/// The line, counted from 1, and what is wrong with it.
type Refused = (usize, String);

/// The fields that every header has. The other fields depend on them.
#[derive(Deserialize)]
struct Preamble {
    format: String,
    version: u32,
}

fn parse<H: FileHeader>(bytes: &[u8]) -> Result<Parsed<H>, Refused> {
    let mut lines = bytes.split_inclusive(|&b| b == b'\n').enumerate().peekable();
    let (_, first) = lines.peek().ok_or_else(|| (1, "empty file".to_owned()))?;
    let header = match is_row::<H::Row>(first) {
        true => None,
        false => {
            let header = parse_header(first).map_err(|problem| (1, problem))?;
            lines.next();
            Some(header)
        }
    };

    let columns = H::Row::columns();
    let check = |row: &H::Row| {
        row.check()?;
        columns.iter().try_for_each(|column| column.check(row))
    };
    let mut rows = Vec::new();
    for (index, line) in lines {
        match serde_json::from_slice::<H::Row>(line) {
            Ok(row) => {
                check(&row).map_err(|problem| (index + 1, problem))?;
                rows.push(row);
            }
            // Only the last line can lack its line feed.
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => return Err((index + 1, format!("not a result row: {error}"))),
        }
    }
    let header = header.or_else(|| H::of_printed(&rows));
    Ok((header.ok_or_else(|| (1, "not a header, but a row".to_owned()))?, rows))
}

fn parse_header<H: FileHeader>(line: &[u8]) -> Result<H, String> {
    let not_a_header = |error: serde_json::Error| format!("not a header: {error}");
    let Preamble { format, version } = serde_json::from_slice(line).map_err(not_a_header)?;
    if format != H::FORMAT {
        return Err(format!("format is {format:?}, not {:?}", H::FORMAT));
    }
    if version != H::VERSION {
        return Err(format!("version {version} is not {}", H::VERSION));
    }
    serde_json::from_slice(line).map_err(not_a_header)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::example::{samples, setting};
    use crate::results::{NetworkRow, ResultsHeader, RunSample};

    #[test]
    fn a_truncated_last_line_is_dropped() {
        let row = NetworkRow::from_samples(setting(), samples());
        let mut bytes = file(&[row.clone(), row]);
        bytes.truncate(bytes.len() - 9);
        assert_eq!(parse::<ResultsHeader>(&bytes).map(|(_, rows)| rows.len()), Ok(1));
    }

    #[test]
    fn a_broken_line_is_named() {
        let mut bytes = file(&[]);
        bytes.extend_from_slice(b"{\"scheme\": 7}\n");
        let (line, problem) = parse::<ResultsHeader>(&bytes).expect_err("a number is no scheme");
        assert_eq!(line, 2);
        assert!(problem.contains("not a result row"), "{problem}");
    }

    #[test]
    fn times_that_cannot_be_are_refused() {
        let row = NetworkRow::from_samples(setting(), samples());
        let run = RunSample { total_ms: 1.7e308, ..samples()[0] };
        for (absurd, words) in [
            (NetworkRow { mean_ms: 1.7e308, ..row.clone() }, "mean_ms is 1.7e308"),
            (NetworkRow { sd_ms: Some(1e19), ..row.clone() }, "sd_ms is 1e19"),
            (NetworkRow { p50_ms: -1.0, ..row.clone() }, "p50_ms is -1"),
            (NetworkRow { samples: vec![run], ..row.clone() }, "a run took 1.7e308 ms"),
        ] {
            let (line, problem) =
                parse::<ResultsHeader>(&file(&[row.clone(), absurd])).expect_err(words);
            assert_eq!(line, 3);
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn other_formats_and_versions_are_refused() {
        for (from, to) in [("groupkey-results", "gpx"), ("\"version\":1", "\"version\":2")] {
            let text = String::from_utf8(file(&[])).expect("JSON is UTF-8").replace(from, to);
            assert_eq!(parse::<ResultsHeader>(text.as_bytes()).map_err(|(line, _)| line), Err(1));
        }
        assert!(parse::<ResultsHeader>(b"").is_err());
    }

    #[test]
    fn rows_without_a_header_are_read() {
        let row = NetworkRow::from_samples(setting(), samples());
        let line = serde_json::to_string(&row).expect("a row") + "\n";
        let (header, rows) = parse::<ResultsHeader>(line.as_bytes()).expect("rows");
        assert_eq!(rows, [row]);
        assert_eq!((header.seed, &*header.commit), (setting().seed, UNKNOWN));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_jsonl::<ResultsHeader>(Path::new("no-such-results.jsonl"))
            .expect_err("there is none");
        assert!(error.to_string().starts_with("no-such-results.jsonl: "), "{error}");
    }

    #[test]
    fn csv_has_a_field_for_every_column() {
        let mut row = NetworkRow::from_samples(setting(), samples());
        row.setting.device = "ESP32, 240 MHz".to_owned();
        let mut out = Vec::new();
        write_csv(&mut out, &[row]).expect("writing to memory");
        let text = String::from_utf8(out).expect("UTF-8");
        let (columns, fields) = text.split_once('\n').expect("two lines");
        assert_eq!(columns.split(',').count() + 1, fields.split(',').count(), "{text}");
        assert!(fields.contains(",\"ESP32, 240 MHz\",,,42,2,15,"), "{fields}");
    }

    proptest! {
        #[test]
        fn rows_read_back_as_written(times in prop::collection::vec(0.0..1e8_f64, 1..5)) {
            let samples = times.iter().map(|&t| RunSample { total_ms: t, ..samples()[0] }).collect();
            let row = NetworkRow::from_samples(setting(), samples);
            let bytes = file(std::slice::from_ref(&row));
            let (_, rows) = parse::<ResultsHeader>(&bytes).expect("just written");
            prop_assert_eq!(&rows, &[row]);
            prop_assert_eq!(file(&rows), bytes);
        }
    }

    fn file(rows: &[NetworkRow]) -> Vec<u8> {
        let header = ResultsHeader {
            format: ResultsHeader::FORMAT.to_owned(),
            version: ResultsHeader::VERSION,
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
