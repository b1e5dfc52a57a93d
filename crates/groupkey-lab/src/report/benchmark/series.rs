//! Rows that make a line of a figure. They differ only in the number of members.

use crate::report::content::Entry;
use crate::report::style::{Style, Styles};

/// A line: rows by ascending members.
#[derive(Clone, Debug)]
pub(super) struct Series<'a> {
    pub(super) label: String,
    pub(super) style: Style,
    pub(super) entries: Vec<&'a Entry>,
}

/// Groups these rows into lines. Properties that differ besides the scheme follow its name.
pub(super) fn of_entries<'a>(entries: &[&'a Entry], styles: &Styles) -> Vec<Series<'a>> {
    let variants: Vec<Vec<String>> = entries.iter().map(|entry| variant(entry)).collect();
    let differs: Vec<bool> = (0..variants.first().map_or(0, Vec::len))
        .map(|part| variants.iter().any(|variant| variant[part] != variants[0][part]))
        .collect();
    let mut lines: Vec<(&str, &Vec<String>, Series<'_>)> = Vec::new();
    for (&entry, variant) in entries.iter().zip(&variants) {
        let scheme = entry.row.scheme.as_str();
        if let Some((.., series)) =
            lines.iter_mut().find(|(other, theirs, _)| *other == scheme && *theirs == variant)
        {
            series.entries.push(entry);
            continue;
        }
        let own: Vec<&str> = variant
            .iter()
            .zip(&differs)
            .filter(|(_, differs)| **differs)
            .map(|(part, _)| part.as_str())
            .collect();
        let label = match own.is_empty() {
            true => scheme.to_owned(),
            false => format!("{scheme} ({})", own.join(", ")),
        };
        let series = Series { label, style: styles.of_scheme(scheme), entries: vec![entry] };
        lines.push((scheme, variant, series));
    }
    let mut series: Vec<_> = lines.into_iter().map(|(.., series)| series).collect();
    for series in &mut series {
        series.entries.sort_by_key(|entry| entry.row.members);
    }
    series
}

/// Returns the properties that may differ between rows of a scheme in one panel. The number of
/// subgroups may follow from the number of members, so it does not separate lines.
pub(in crate::report) fn variant(entry: &Entry) -> Vec<String> {
    let row = &entry.row;
    let source = format!("file {}", entry.source + 1);
    let device = row.device.clone().unwrap_or_default();
    [&row.profile, &row.parameters, &row.suite, &row.protection, &row.workload, &device, &source]
        .map(Clone::clone)
        .to_vec()
}

/// Keeps as many rows as a page can hold: the ends of each line, and sizes between them in even
/// ratios.
pub(in crate::report) fn thinned(entries: Vec<Entry>, most: usize) -> Vec<Entry> {
    if entries.len() <= most {
        return entries;
    }
    let key = |entry: &Entry| {
        let row = &entry.row;
        let what = (row.scheme.clone(), row.operation.clone(), row.role.clone());
        (what, row.phase.clone(), row.message_bytes, variant(entry))
    };
    let mut groups = std::collections::BTreeMap::<_, Vec<usize>>::new();
    for (place, entry) in entries.iter().enumerate() {
        groups.entry(key(entry)).or_default().push(place);
    }
    let share = (most / groups.len().max(1)).max(3);
    let mut kept = vec![false; entries.len()];
    for mut places in groups.into_values() {
        places.sort_by_key(|&place| entries[place].row.members);
        for step in 0..share {
            kept[places[nearest(&entries, &places, step as f64 / (share - 1) as f64)]] = true;
        }
    }
    let mut kept = kept.into_iter();
    entries.into_iter().filter(|_| kept.next() == Some(true)).collect()
}

/// Returns the place nearest to a part of the way from the fewest to the most members, in ratios.
fn nearest(entries: &[Entry], places: &[usize], part: f64) -> usize {
    let size = |at: usize| f64::from(entries[places[at]].row.members).max(1.0).ln();
    let (first, last) = (size(0), size(places.len() - 1));
    let wanted = first + part * (last - first);
    let distance = |at: &usize| (size(*at) - wanted).abs();
    (0..places.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or_default()
}
