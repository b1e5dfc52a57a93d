//! Errors in files that users write, and their positions.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{error, fmt};

/// An input file that cannot be used. Displays as `file:line:column: problem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file.
    pub path: PathBuf,
    /// Line and column, both from 1. `None` if the file could not be read, or if the problem has no
    /// position.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

/// A problem in a text.
#[derive(Debug)]
pub struct Mistake {
    /// Where the problem is (bytes from the beginning).
    pub offset: usize,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

impl InputError {
    /// Reads the text of a file that somebody wrote, without a byte order mark. Refuses a file of more
    /// than 1 MiB.
    pub fn read(path: &Path) -> Result<String, Self> {
        Self::read_to(path, 1)
    }

    /// Reads the text of a file that a program wrote, such as a trace or a log. Refuses a file of more
    /// than 64 MiB.
    pub fn read_long(path: &Path) -> Result<String, Self> {
        Self::read_to(path, 64)
    }

    fn read_to(path: &Path, limit: u64) -> Result<String, Self> {
        let file = File::open(path).map_err(|error| error.to_string());
        file.and_then(|file| text_to(file, limit)).map_err(|problem| Self {
            path: path.to_owned(),
            position: None,
            problem,
        })
    }

    /// Turns a mistake in this text into an error of the file.
    pub fn in_text(path: &Path, text: &str, mistake: Mistake) -> Self {
        Self {
            path: path.to_owned(),
            position: Some(line_and_column(text, mistake.offset)),
            problem: mistake.problem,
        }
    }
}

/// Reads a text to its end, without a byte order mark. Spreadsheets and editors for Windows write
/// one.
///
/// # Errors
///
/// Fails if the text is longer than 1 MiB: it may have no end, as that of `/dev/zero`.
pub fn text(from: impl Read) -> Result<String, String> {
    text_to(from, 1)
}

/// Reads a text of at most `limit` MiB.
fn text_to(from: impl Read, limit: u64) -> Result<String, String> {
    let longest = limit << 20;
    let mut bytes = Vec::new();
    from.take(longest + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > longest {
        return Err(format!("it is longer than {limit} MiB: is it the right file?"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Mistake {
    /// Makes a mistake at this place.
    pub fn at(offset: usize, problem: impl ToString) -> Self {
        Self { offset, problem: problem.to_string() }
    }
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Self {
        let problem = in_words(error.message());
        Self::at(error.span().map_or(0, |span| span.start), problem)
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, position, problem } = self;
        write!(f, "{}:", path.display())?;
        if let Some((line, column)) = position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {problem}")
    }
}

impl error::Error for InputError {}

/// Returns a message of serde without the names of Rust's types: `expected a number, not "a"`.
pub fn in_words(message: &str) -> String {
    let told = ["invalid type: ", "invalid value: "].into_iter().find_map(|kind| {
        let (before, mistake) = message.split_once(kind)?;
        let (found, expected) = mistake.split_once(", expected ")?;
        // JSON's errors end with their place.
        let place = expected.find(" at line ").unwrap_or(expected.len());
        let (expected, place) = expected.split_at(place);
        Some(format!("{before}expected {}, not {}{place}", wanted(expected), given(found)))
    });
    told.unwrap_or_else(|| message.to_owned())
}

/// Returns what serde wants in words that need no Rust.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

fn given(found: &str) -> &str {
    match found {
        "map" => "a table",
        "null" => "nothing",
        "sequence" => "a list",
        _ => {
            let kinds = ["string ", "integer ", "floating point ", "boolean ", "character "];
            let value = kinds.into_iter().find_map(|kind| found.strip_prefix(kind));
            value.unwrap_or(found).trim_matches('`')
        }
    }
}

/// Returns the line and the column (in characters) of a byte, both from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use std::io::{empty, repeat};

    use super::*;

    #[test]
    fn a_text_is_read_without_its_mark_and_to_a_bound() {
        assert_eq!(text(&b"\xef\xbb\xbfone"[..]), Ok("one".to_owned()));
        assert_eq!(text(&b"one\xef\xbb\xbf"[..]), Ok("one\u{feff}".to_owned()));
        assert_eq!(text(empty()), Ok(String::new()));
        for limit in [1, 2] {
            let longest = limit << 20;
            let read = text_to(repeat(b'x').take(longest), limit);
            assert_eq!(read.map(|text| text.len() as u64), Ok(longest));
            let endless = text_to(repeat(0), limit).expect_err("it has no end");
            assert!(endless.contains(&format!("longer than {limit} MiB")), "{endless}");
        }
        assert!(text(&b"\xff"[..]).is_err());
    }

    #[test]
    fn types_are_told_in_words() {
        for (message, told) in [
            ("invalid type: string \"a\", expected u32", "expected a whole number, not \"a\""),
            (
                "invalid type: floating point `2.5`, expected u32",
                "expected a whole number, not 2.5",
            ),
            (
                "not a row: invalid type: boolean `true`, expected f64 at line 1 column 7",
                "not a row: expected a number, not true at line 1 column 7",
            ),
            ("invalid type: map, expected a sequence", "expected a list, not a table"),
            ("invalid type: integer `7`, expected struct Board", "expected a table, not 7"),
            ("unknown field `f64`", "unknown field `f64`"),
        ] {
            assert_eq!(in_words(message), told);
        }
    }
}
