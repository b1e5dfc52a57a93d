//! The output that studies share.

use std::io::{self, Write};

use groupkey_lab::report::{Outcome, Verdict};

use crate::paragraph::Paragraph;

/// Prints findings with their outcomes.
pub(super) fn print_verdicts(verdicts: &[Verdict], out: &mut dyn Write) -> io::Result<()> {
    for Verdict { id, claim, outcome, evidence } in verdicts {
        writeln!(out, "{}", Paragraph { indent: 0, text: &format!("{id} {claim}") })?;
        let evidence = format!("{}. {evidence}", sentence(*outcome));
        writeln!(out, "{}\n", Paragraph { indent: 3, text: &evidence })?;
    }
    Ok(())
}

/// Says whether a finding held, as the beginning of a sentence.
const fn sentence(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Confirmed => "Confirmed",
        Outcome::NotDecidable => "Not decidable",
        Outcome::Refuted => "Refuted",
    }
}

/// Returns a remark on how many of the rows an earlier run has left.
pub(super) fn from_before(earlier: usize, rows: usize) -> String {
    match earlier {
        0 => String::new(),
        _ if earlier == rows => " (all from before)".to_owned(),
        _ => format!(" ({earlier} from before)"),
    }
}

/// Returns a path as a shell takes it.
pub(super) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
