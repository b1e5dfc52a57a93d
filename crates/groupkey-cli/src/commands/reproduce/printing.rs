//! The output that studies share.

use std::io::{self, Write};

use groupkey_lab::verdict::{Outcome, Verdict};

use crate::paragraph::Paragraph;
use crate::table::{Column, Table};

pub(super) fn print_verdicts(verdicts: &[Verdict], out: &mut dyn Write) -> io::Result<()> {
    for Verdict { id, claim, outcome, sentence, dissent, remark, .. } in verdicts {
        writeln!(out, "{}", Paragraph { indent: 0, text: &format!("{id} {claim}") })?;
        let mut told = format!("{}: {sentence}", capitalised(outcome.name()));
        for more in dissent.iter().chain([remark]).filter(|text| !text.is_empty()) {
            told += " ";
            told += more;
        }
        writeln!(out, "{}\n", Paragraph { indent: 3, text: &told })?;
    }
    Ok(())
}

pub(super) fn outcomes<'s>(studies: impl Iterator<Item = (&'s str, &'s [Verdict], f64)>) -> Table {
    let columns = [Column::text("study"), Column::number("findings")];
    let outcomes = Outcome::ALL.map(|outcome| Column::number(outcome.name()));
    let columns = columns.into_iter().chain(outcomes).chain([Column::number("seconds")]);
    let mut table = Table::new(columns);
    let mut all: Vec<Verdict> = Vec::new();
    let mut total_seconds = 0.0;
    let line = |name: &str, verdicts: &[Verdict], seconds: f64| {
        let of = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count().to_string();
        [name.to_owned(), verdicts.len().to_string()]
            .into_iter()
            .chain(Outcome::ALL.map(of))
            .chain([format!("{seconds:.1}")])
            .collect::<Vec<_>>()
    };
    for (name, verdicts, seconds) in studies {
        table.row(line(name, verdicts, seconds));
        all.extend_from_slice(verdicts);
        total_seconds += seconds;
    }
    table.row(line("all", &all, total_seconds));
    table
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

pub(super) fn from_before(earlier: usize, rows: usize) -> String {
    match earlier {
        0 => String::new(),
        _ if earlier == rows => " (all from before)".to_owned(),
        _ => format!(" ({earlier} from before)"),
    }
}

pub(super) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
