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
    /// Reads the text of a file, without a byte order mark. Refuses a file of more than 64 MiB.
    pub fn read(path: &Path) -> Result<String, Self> {
        let file = File::open(path).map_err(|error| error.to_string());
        file.and_then(text).map_err(|problem| Self {
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
/// Fails if the text is longer than 64 MiB: it may have no end, as that of `/dev/zero`.
pub fn text(from: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST {
        return Err("it is longer than 64 MiB: is it the right file?".to_owned());
    }
    let mut text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The longest text that is read, in bytes. A trace of a million events is shorter.
const LONGEST: u64 = 64 << 20;

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

/// Returns a message of serde without the names of Rust's types.
pub fn in_words(message: &str) -> String {
    let (whole, number) = ("a whole number", "a number");
    let names = [("u8", whole), ("u16", whole), ("u32", whole), ("u64", whole), ("usize", whole)];
    let mut names = names.into_iter().chain([("i64", whole), ("f64", number)]);
    let told = names.find_map(|(name, words)| {
        let before = message.strip_suffix(name)?.strip_suffix("expected ")?;
        Some(format!("{before}expected {words}"))
    });
    told.unwrap_or_else(|| message.to_owned())
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
        assert_eq!(text(repeat(b'x').take(LONGEST)).map(|text| text.len() as u64), Ok(LONGEST));
        let endless = text(repeat(0)).expect_err("it has no end");
        assert!(endless.contains("longer than 64 MiB"), "{endless}");
        assert!(text(&b"\xff"[..]).is_err());
    }

    #[test]
    fn types_are_told_in_words() {
        for (message, told) in [
            (
                "invalid type: string \"a\", expected u32",
                "invalid type: string \"a\", expected a whole number",
            ),
            (
                "invalid type: string \"a\", expected f64",
                "invalid type: string \"a\", expected a number",
            ),
            ("unknown field `f64`", "unknown field `f64`"),
        ] {
            assert_eq!(in_words(message), told);
        }
    }
}
