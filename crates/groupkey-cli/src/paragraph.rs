//! Text in lines of a readable length.

use std::fmt;

use crate::table::terminal_width;

/// Words that are broken into lines of at most [`width`] characters, each line indented.
#[derive(Debug)]
pub(crate) struct Paragraph<'a> {
    /// Spaces before each line.
    pub(crate) indent: usize,
    /// The words.
    pub(crate) text: &'a str,
}

/// Returns how many characters a line of text has: as many as are readable, or as the terminal has.
pub(crate) fn width() -> usize {
    terminal_width().clamp(LEAST, READABLE)
}

const READABLE: usize = 100;

/// A narrower terminal breaks the lines itself.
const LEAST: usize = 40;

impl fmt::Display for Paragraph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut column, width) = (0, width());
        for word in self.text.split_whitespace() {
            let length = word.chars().count();
            if column == 0 {
                write!(f, "{:1$}{word}", "", self.indent)?;
                column = self.indent + length;
            } else if column + 1 + length > width {
                write!(f, "\n{:1$}{word}", "", self.indent)?;
                column = self.indent + length;
            } else {
                write!(f, " {word}")?;
                column += 1 + length;
            }
        }
        Ok(())
    }
}

/// A line of a list: a label, two spaces or more, and words. Words that have no room go on below the
/// first of them. A command to copy stays whole.
#[derive(Debug)]
pub(crate) struct ListLine<'a> {
    /// Spaces before each line.
    pub(crate) indent: usize,
    pub(crate) text: &'a str,
}

impl fmt::Display for ListLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indent, text } = *self;
        let is_command = text.trim_start().starts_with("groupkey ");
        if is_command || indent + text.chars().count() <= width() {
            return write!(f, "{:indent$}{text}", "");
        }
        let (label, words) = text.split_at(label(text));
        let column = indent + label.chars().count();
        let below = if column > width() / 2 { indent + 2 } else { column };
        write!(f, "{:indent$}{label}", "")?;
        let mut at = column;
        for (place, word) in words.split_whitespace().enumerate() {
            let length = word.chars().count();
            match place {
                0 => write!(f, "{word}")?,
                _ if at + 1 + length > width() => {
                    write!(f, "\n{:below$}{word}", "")?;
                    at = below;
                }
                _ => {
                    write!(f, " {word}")?;
                    at += 1;
                }
            }
            at += length;
        }
        Ok(())
    }
}

/// Returns the length of a line's label with the spaces after it; 0 if there is none.
fn label(text: &str) -> usize {
    let begin = text.len() - text.trim_start().len();
    let Some(gap) = text[begin..].find("  ") else { return begin };
    let rest = &text[begin + gap..];
    begin + gap + (rest.len() - rest.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        let text = "word ".repeat(30);
        let lines = Paragraph { indent: 3, text: &text }.to_string();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.starts_with("   w") && line.len() <= READABLE));
        assert_eq!(lines[0].split_whitespace().count() + lines[1].split_whitespace().count(), 30);
    }

    #[test]
    fn a_list_goes_on_below_its_words_and_a_command_stays_whole() {
        let text = format!("label     {}", "word ".repeat(30));
        let lines = ListLine { indent: 2, text: text.trim_end() }.to_string();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("  label     word") && lines[1].starts_with("            word")
        );
        assert!(lines.iter().all(|line| line.len() <= READABLE), "{lines:?}");
        let command = format!("groupkey net {}", "--runs 1 ".repeat(30));
        assert_eq!(ListLine { indent: 0, text: &command }.to_string(), command);
        assert_eq!(ListLine { indent: 1, text: "short" }.to_string(), " short");
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        let text = format!("a {} b", "x".repeat(200));
        let lines = Paragraph { indent: 0, text: &text }.to_string();
        assert_eq!(lines.lines().count(), 3);
    }
}
