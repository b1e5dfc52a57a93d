//! Text in lines of a readable length.

use std::fmt;

/// Words that are broken into lines of at most [`WIDTH`] characters, each line indented.
#[derive(Debug)]
pub(crate) struct Paragraph<'a> {
    /// Spaces before each line.
    pub(crate) indent: usize,
    /// The words.
    pub(crate) text: &'a str,
}

const WIDTH: usize = 100;

impl fmt::Display for Paragraph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut column = 0;
        for word in self.text.split_whitespace() {
            let length = word.chars().count();
            if column == 0 {
                write!(f, "{:1$}{word}", "", self.indent)?;
                column = self.indent + length;
            } else if column + 1 + length > WIDTH {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        let text = "word ".repeat(30);
        let lines = Paragraph { indent: 3, text: &text }.to_string();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.starts_with("   w") && line.len() <= WIDTH));
        assert_eq!(lines[0].split_whitespace().count() + lines[1].split_whitespace().count(), 30);
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        let text = format!("a {} b", "x".repeat(200));
        let lines = Paragraph { indent: 0, text: &text }.to_string();
        assert_eq!(lines.lines().count(), 3);
    }
}
