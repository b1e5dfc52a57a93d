//! The output that shows what changed.

use std::collections::BTreeSet;
use std::io::{self, Write};

use groupkey_choose::number::figure;
use groupkey_lab::bench::compare::{Comparable, Comparison, RowKey};
use groupkey_lab::results::Origin;

use super::Changes;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table};

/// Prints the origins of the two files, as far as they differ.
pub(super) fn print_origins(origins: &[Origin<'_>; 2], out: &mut dyn Write) -> io::Result<()> {
    let [first, second] = origins;
    for (file, origin) in [("A", first), ("B", second)] {
        let differs = [
            (first.commit != second.commit).then(|| format!("commit {}", origin.commit)),
            (first.seed != second.seed).then(|| format!("seed {}", origin.seed)),
            (first.machine != second.machine).then(|| format!("machine {}", origin.machine)),
        ];
        let differs: Vec<_> = differs.into_iter().flatten().collect();
        if !differs.is_empty() {
            writeln!(out, "{file}: {}", differs.join(", "))?;
        }
    }
    Ok(())
}

/// Prints how many rows changed, and the changed rows.
pub(super) fn print<R: Comparable>(
    comparison: &Comparison,
    changes: &Changes<'_>,
    threshold: f64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Comparison { matched, missing, new, other_devices } = comparison;
    let (names, time) = (R::KEY, R::TIME);
    writeln!(
        out,
        "{} rows are in both files, {} in A only, {} in B only.",
        matched.len(),
        missing.len(),
        new.len()
    )?;
    let keys = matched.iter().map(|row| &row.key).chain(missing).chain(new);
    let label = RowLabel::of(names, keys);
    if !label.common.is_empty() {
        writeln!(out, "{}", Paragraph { indent: 0, text: &format!("All: {}.", label.common) })?;
    }
    if matched.is_empty() {
        return only(out, &label, missing, new);
    }
    let (all, tested) = (matched.len(), comparison.tested());
    let changed = changes.certain.len();
    match time {
        None => writeln!(out, "{changed} of {all} rows changed.")?,
        Some(_) => writeln!(
            out,
            "Counts, sizes and bytes: {changed} of {all} rows changed.\n\
             Times: {} of {tested} rows changed (Welch's t, Holm's correction, p < {}, \
             at least {threshold} %).",
            changes.times.len(),
            Comparison::LEVEL
        )?,
    }
    if time.is_some() && tested < all {
        let rows = if all - tested == 1 { "row" } else { "rows" };
        writeln!(out, "{} {rows} of a single repetition cannot be tested.", all - tested)?;
    }
    if let Some(overlapping) = comparison.overlapping() {
        let percent = 100.0 * overlapping;
        writeln!(
            out,
            "The 95 % confidence intervals of the means overlap in {percent:.1} % of the rows."
        )?;
    }
    for [first, second] in other_devices {
        let [first, second] = [first, second].map(|device| match device {
            Some(device) => format!("is of {device}"),
            None => "has none".to_owned(),
        });
        writeln!(out, "Modelled times are not compared: A {first}, B {second}.")?;
    }

    if !changes.certain.is_empty() {
        let what = [Column::text("what"), Column::number("A"), Column::number("B")];
        let mut table = Table::new(label.columns().chain(what));
        for row in &changes.certain {
            for change in &row.changes {
                let cells = [&change.column, &change.before, &change.after].map(String::clone);
                table.row(label.cells(&row.key).chain(cells));
            }
        }
        write!(out, "\n{table}")?;
    }
    if !changes.times.is_empty() {
        let what = ["A", "B", "change %", "p", "effect"].map(Column::number);
        let mut table = Table::new(label.columns().chain(what));
        for row in &changes.times {
            let time = row.time;
            let absent = || "-".to_owned();
            table.row(label.cells(&row.key).chain([
                figure(time.before),
                figure(time.after),
                time.percent.map_or_else(absent, |percent| format!("{percent:+.1}")),
                format!("{:.1e}", time.corrected_p_value),
                time.effect.map_or_else(absent, |effect| format!("{effect:+.1}")),
            ]));
        }
        write!(out, "\n{}:\n{table}", time.unwrap_or_default())?;
    }
    only(out, &label, missing, new)
}

/// Prints the rows that one file lacks.
fn only(
    out: &mut dyn Write,
    label: &RowLabel,
    missing: &[RowKey],
    new: &[RowKey],
) -> Result<(), Failure> {
    for (file, keys) in [("A", missing), ("B", new)] {
        if keys.is_empty() {
            continue;
        }
        let mut table = Table::new(label.columns());
        keys.iter().for_each(|key| table.row(label.cells(key)));
        write!(out, "\nIn {file} only:\n{table}")?;
    }
    Ok(())
}

/// The parts of keys that tell rows apart, and the parts that all rows have in common.
struct RowLabel {
    common: String,
    telling: Vec<(usize, &'static str)>,
}

impl RowLabel {
    fn of<'a>(names: &[&'static str], keys: impl Iterator<Item = &'a RowKey>) -> Self {
        let mut values = vec![BTreeSet::new(); names.len()];
        for key in keys {
            for (set, value) in values.iter_mut().zip(&key.0) {
                set.insert(value);
            }
        }
        let (mut common, mut telling) = (Vec::new(), Vec::new());
        for (place, (&name, values)) in names.iter().zip(&values).enumerate() {
            match (values.len(), values.first()) {
                // A part that is empty in all rows is left out.
                (1, Some(value)) if value.is_empty() => {}
                (1, Some(value)) => common.push(format!("{name} {value}")),
                _ => telling.push((place, name)),
            }
        }
        Self { common: common.join(", "), telling }
    }

    fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.telling.iter().map(|&(_, name)| Column::text(name))
    }

    fn cells(&self, key: &RowKey) -> impl Iterator<Item = String> {
        self.telling.iter().map(|&(place, _)| match &*key.0[place] {
            "" => "-".to_owned(),
            value => value.to_owned(),
        })
    }
}
