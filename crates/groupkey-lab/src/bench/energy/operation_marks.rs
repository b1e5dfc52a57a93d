//! Marks in a power log: which operation ran from when to when.

use std::path::Path;

use groupkey_choose::input::{InputError, Mistake};

/// An operation that ran while a meter read.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationMark {
    /// What ran.
    pub label: String,
    /// When it began (s), on the log's clock.
    pub start: f64,
    /// When it ended (s).
    pub end: f64,
}

impl OperationMark {
    /// Reads a file of markers.
    pub fn load(path: &Path) -> Result<Vec<Self>, InputError> {
        Self::parse(&InputError::read_long(path)?, path)
    }

    /// Reads the text of a file of markers: the heading `time_s,label`, then a line for each moment
    /// at which something begins. A label runs until the next line; an empty one, or `idle`, is no
    /// operation. Errors name the file by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Vec<Self>, InputError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
    }

    /// Returns the same mark on a clock that is this much ahead (s).
    #[must_use]
    pub fn later_by(self, seconds: f64) -> Self {
        Self { start: self.start + seconds, end: self.end + seconds, ..self }
    }
}

fn parse(text: &str) -> Result<Vec<OperationMark>, Mistake> {
    let mut offset = 0;
    let mut has_heading = false;
    let mut marks: Vec<OperationMark> = Vec::new();
    let mut open: Option<(f64, String)> = None;
    for whole in text.split_inclusive('\n') {
        let at = offset;
        offset += whole.len();
        let line = whole.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !has_heading {
            if line != HEADING {
                return Err(Mistake::at(at, format!("the first line must be {HEADING}")));
            }
            has_heading = true;
            continue;
        }
        let read = line.split_once(',').and_then(|(seconds, label)| {
            let seconds = seconds.trim().parse().ok().filter(|s: &f64| s.is_finite())?;
            Some((seconds, label.trim().trim_matches('"').to_owned()))
        });
        let Some((seconds, label)) = read else {
            return Err(Mistake::at(at, "write a time in seconds and a label, such as 2.5,join"));
        };
        if open.as_ref().is_some_and(|(start, _)| seconds <= *start) {
            return Err(Mistake::at(at, "each marker must be later than the one before"));
        }
        if let Some((start, label)) = open.replace((seconds, label))
            && !label.is_empty()
            && label != IDLE
        {
            marks.push(OperationMark { label, start, end: seconds });
        }
    }
    match open {
        Some((_, label)) if !label.is_empty() && label != IDLE => Err(Mistake::at(
            text.len(),
            format!("{label:?} has no end: add a line with the time at which it ends, and {IDLE}"),
        )),
        _ if marks.is_empty() => Err(Mistake::at(text.len(), "there is no operation in it")),
        _ => Ok(marks),
    }
}

const HEADING: &str = "time_s,label";

/// The label of no operation.
const IDLE: &str = "idle";

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(lines: &str) -> Result<Vec<OperationMark>, InputError> {
        OperationMark::parse(&format!("{HEADING}\n{lines}"), Path::new("marks.csv"))
    }

    #[test]
    fn a_label_runs_until_the_next_one() {
        let read = marks("1,join\n# noted later\n3,leave\n4.5,idle\n6,join\n7,\n").expect("marks");
        let told: Vec<_> = read.iter().map(|m| (m.label.as_str(), m.start, m.end)).collect();
        assert_eq!(told, [("join", 1.0, 3.0), ("leave", 3.0, 4.5), ("join", 6.0, 7.0)]);
        let later = read[0].clone().later_by(0.5);
        assert_eq!((later.start, later.end), (1.5, 3.5));
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        for (lines, position, told) in [
            ("1,join\n", "marks.csv:3:1:", "no end"),
            ("1,join\n1,idle\n", "marks.csv:3:1:", "later"),
            ("x,join\n", "marks.csv:2:1:", "a time in seconds"),
            ("1\n", "marks.csv:2:1:", "a label"),
            ("", "marks.csv:2:1:", "no operation"),
            ("1,idle\n", "marks.csv:3:1:", "no operation"),
        ] {
            let error = marks(lines).expect_err("a mistake").to_string();
            assert!(error.starts_with(position) && error.contains(told), "{lines}: {error}");
        }
        assert!(OperationMark::parse("t,l\n", Path::new("m")).is_err());
    }
}
