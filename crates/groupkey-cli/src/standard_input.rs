//! Standard input, line by line or as a whole, for a command that also waits for other events.

use std::io::{self, BufRead, Read};
use std::{fmt, thread};

use tokio::sync::mpsc;

/// A line of any bytes without its line break, or the reason why there is none.
pub(crate) type LineResult = Result<Vec<u8>, LineError>;

/// The reason why a line cannot be handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineError {
    /// The line is not UTF-8, but text is needed.
    NotText,
    /// The line, or the whole input, is longer than [`LONGEST`].
    TooLong,
    /// Reading failed; no more lines come.
    Unreadable(io::ErrorKind),
}

/// How the input is cut into messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Lines of any bytes. Only the line feed is taken away.
    Bytes,
    /// Lines of text, whose ends may have a carriage return, too.
    #[default]
    Text,
    /// All of the input, up to its end.
    Whole,
}

/// Returns the lines of text as they arrive. The channel closes when the input ends.
pub(crate) fn of_standard_input() -> mpsc::Receiver<LineResult> {
    framed(Framing::Text)
}

/// Returns what is between two ends of this kind as it arrives. The channel closes when the input ends.
pub(crate) fn framed(framing: Framing) -> mpsc::Receiver<LineResult> {
    let (sender, lines) = mpsc::channel(64);
    // Reading cannot be interrupted, so it has a thread that ends with the process.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next(&mut input, framing) {
            let is_last = matches!(line, Err(LineError::Unreadable(_)));
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

pub(crate) fn text(line: LineResult) -> Result<String, LineError> {
    String::from_utf8(line?).map_err(|_| LineError::NotText)
}

/// Longest line in bytes. No message to a group is longer.
const LONGEST: u64 = 1 << 16;

/// Reads the next line. Returns `None` at the end of the input. Drops a line that is too long.
fn next(input: &mut impl BufRead, framing: Framing) -> Option<LineResult> {
    if framing == Framing::Whole {
        return whole(input);
    }
    let mut line = Vec::new();
    // Room for a line break of two bytes.
    let read = input.by_ref().take(LONGEST + 2).read_until(b'\n', &mut line);
    let ended = line.pop_if(|last| *last == b'\n').is_some();
    let skipped = match read {
        Ok(0) => return None,
        Ok(_) if !ended && line.len() as u64 > LONGEST => input.skip_until(b'\n').map(|_| ()),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = skipped {
        return Some(Err(LineError::Unreadable(error.kind())));
    }
    if ended && framing == Framing::Text {
        line.pop_if(|last| *last == b'\r');
    }
    Some(if line.len() as u64 > LONGEST { Err(LineError::TooLong) } else { Ok(line) })
}

/// Reads all that is left. Returns `None` if that is nothing.
fn whole(input: &mut impl BufRead) -> Option<LineResult> {
    let mut all = Vec::new();
    match input.by_ref().take(LONGEST + 1).read_to_end(&mut all) {
        Ok(0) => None,
        Ok(_) if all.len() as u64 <= LONGEST => Some(Ok(all)),
        Ok(_) => {
            let drained = io::copy(input, &mut io::sink());
            Some(Err(drained
                .map_or_else(|error| LineError::Unreadable(error.kind()), |_| LineError::TooLong)))
        }
        Err(error) => Some(Err(LineError::Unreadable(error.kind()))),
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("the line is not UTF-8"),
            Self::TooLong => write!(f, "the line is longer than {LONGEST} bytes"),
            Self::Unreadable(kind) => write!(f, "standard input cannot be read: {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_any_bytes_and_lose_their_ends() {
        let lines = all(b"one\r\n\xff\xfe\n\nlast\r");
        assert_eq!(lines, [&b"one"[..], b"\xff\xfe", b"", b"last\r"].map(|line| Ok(line.to_vec())));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let longest = vec![b'x'; LONGEST as usize];
        for end in [&b"\n"[..], b"\r\n", b""] {
            assert_eq!(all(&[&longest, end].concat()), [Ok(longest.clone())]);
        }
        for more in [1, 2, 3, LONGEST as usize] {
            let input = [&longest[..], &vec![b'x'; more], b"\nshort\n"].concat();
            let expected = [Err(LineError::TooLong), Ok(b"short".to_vec())];
            assert_eq!(all(&input), expected, "{more}");
        }
    }

    #[test]
    fn bytes_are_not_touched() {
        let input = b"\xff\r\n\r\n\0";
        let lines = [&b"\xff\r"[..], b"\r", b"\0"].map(|line| Ok(line.to_vec()));
        assert_eq!(cut(input, Framing::Bytes), lines);
        assert_eq!(cut(input, Framing::Whole), [Ok(input.to_vec())]);
        assert_eq!(cut(b"", Framing::Whole), []);
        let longest = vec![b'\n'; LONGEST as usize];
        assert_eq!(cut(&longest, Framing::Whole), [Ok(longest.clone())]);
        let more = [&longest[..], b"\n"].concat();
        assert_eq!(cut(&more, Framing::Whole), [Err(LineError::TooLong)]);
    }

    fn all(input: &[u8]) -> Vec<LineResult> {
        cut(input, Framing::Text)
    }

    fn cut(mut input: &[u8], framing: Framing) -> Vec<LineResult> {
        std::iter::from_fn(|| next(&mut input, framing)).collect()
    }
}
