//! The section of a scheme: its description, its costs and their growth, and drawings of a real
//! run.

use std::collections::BTreeMap;

use groupkey::catalogue::Profile;
use groupkey_choose::number::{digits, fixed, time};
use minijinja::{Value, context};

use super::content::{Benchmark, Entry};
use super::figures::role_words;
use super::series::{self, Styles};
use super::{audit, drawing, run, table};
use crate::audit::Finding;
use crate::bench::BenchRow;
use crate::bench::growth::{Fit, Point};
use crate::registry;

/// Builds one section for each scheme of the rows.
pub(super) fn sections(
    benchmark: &Benchmark,
    entries: &[Entry],
    findings: &[Finding],
    styles: &Styles,
) -> Vec<Value> {
    let section = |(number, id): (usize, &String)| {
        let own: Vec<&Entry> = entries.iter().filter(|entry| entry.row.scheme == *id).collect();
        section(benchmark, number, &own, findings, styles)
    };
    styles.schemes().iter().enumerate().filter_map(section).collect()
}

fn section(
    benchmark: &Benchmark,
    number: usize,
    own: &[&Entry],
    findings: &[Finding],
    styles: &Styles,
) -> Option<Value> {
    let first = &own.first()?.row;
    let known = registry::scheme(&first.scheme);
    let profile = match first.profile.as_str() {
        "published" => Profile::Published,
        _ => Profile::Sound,
    };
    let anchor = format!("scheme-{number}");
    let (mut sequences, mut trees) = (Vec::new(), Vec::new());
    if let Some(scheme) = known {
        for (index, episode) in run::episodes(scheme, profile).iter().enumerate() {
            let svg = drawing::sequence(&format!("{anchor}-sequence-{index}"), episode);
            sequences
                .push(context! { title => &episode.title, svg => Value::from_safe_string(svg) });
        }
        for (index, tree) in run::trees(scheme, profile).iter().enumerate() {
            let svg = drawing::tree(&format!("{anchor}-tree-{index}"), tree);
            trees.push(context! { title => &tree.title, svg => Value::from_safe_string(svg) });
        }
    }
    let claims = known.map(|scheme| match profile {
        Profile::Published => scheme.published_claims,
        Profile::Sound => scheme.claims,
    });
    let claims: Vec<Value> = claims
        .map(|claims| {
            [
                ("forward secrecy", claims.forward_secrecy),
                ("backward secrecy", claims.backward_secrecy),
                ("collusion resistance", claims.collusion_resistance),
                ("key independence", claims.key_independence),
            ]
            .map(|(name, claimed)| context! { name, claimed })
            .to_vec()
        })
        .unwrap_or_default();
    Some(context! {
        id => &anchor,
        scheme => &first.scheme,
        glyph => table::glyph(styles.of_scheme(&first.scheme)),
        name => known.map(|scheme| scheme.name),
        source => known.map(|scheme| scheme.source),
        class => &first.class,
        provenance => &first.provenance,
        profile => &first.profile,
        suite => &first.suite,
        bits => first.security_bits,
        claims,
        findings => audit::findings(findings, Some(&first.scheme)),
        growth => growth(benchmark, &first.scheme),
        costs => costs(own, benchmark),
        sequences,
        trees,
    })
}

/// Lists how the counted cost grows from the smallest to the largest group that was run.
fn growth(benchmark: &Benchmark, scheme: &str) -> Vec<Value> {
    let mut curves: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in benchmark.entries.iter().filter(|entry| entry.row.scheme == scheme) {
        let row = &entry.row;
        let what = (&row.operation, &row.role, &row.phase, &row.profile, &row.suite);
        curves.entry((what, row.message_bytes, series::variant(entry))).or_default().push(entry);
    }
    let lines = curves.into_values().filter_map(|mut entries| {
        entries.sort_by_key(|entry| entry.row.members);
        let (first, last) = (entries.first()?, entries.last()?);
        let (small, large) = (&first.row, &last.row);
        let ratio = large.counted_ns / small.counted_ns;
        let bytes = large.wire_bytes as f64 / small.wire_bytes as f64;
        let fit = Fit::of(&entries.iter().map(|entry| point(&entry.row)).collect::<Vec<_>>());
        let times = |ratio: f64| ratio.is_finite().then(|| format!("× {}", digits(ratio)));
        (small.members < large.members).then(|| {
            context! {
                operation => &large.operation,
                role => role_words(&large.role),
                phase => &large.phase,
                variant => variant_words(last, benchmark),
                form => fit.map(|fit| fit.form.name()),
                members => format!("{} to {}", small.members, large.members),
                size => times(f64::from(large.members) / f64::from(small.members)),
                small => time(small.counted_ns),
                large => time(large.counted_ns),
                ratio => times(ratio),
                bytes => times(bytes),
            }
        })
    });
    lines.collect()
}

fn point(row: &BenchRow) -> Point {
    Point { members: row.members, cost: row.counted_ns }
}

/// Describes the circumstances of a row's measurement. Names the file only if there are several.
fn variant_words(entry: &Entry, benchmark: &Benchmark) -> String {
    let mut parts = series::variant(entry);
    if benchmark.sources.len() < 2 {
        parts.pop();
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Lists what each operation costs each role in the largest group that was run.
fn costs(own: &[&Entry], benchmark: &Benchmark) -> Vec<Value> {
    let mut largest: BTreeMap<_, &Entry> = BTreeMap::new();
    for &entry in own {
        let row = &entry.row;
        let what = (&row.profile, &row.suite, &row.operation, &row.role, &row.phase);
        let key = (what, row.message_bytes, series::variant(entry));
        let kept = largest.entry(key).or_insert(entry);
        if kept.row.members < row.members {
            *kept = entry;
        }
    }
    let lines = largest.into_values().map(|entry| {
        let row = &entry.row;
        context! {
            operation => &row.operation,
            role => role_words(&row.role),
            phase => &row.phase,
            variant => variant_words(entry, benchmark),
            members => row.members,
            mean => time(row.mean_ns),
            interval => row.ci95_ns.map(time),
            counted => time(row.counted_ns),
            ratio => row.measured_over_counted.map(|ratio| fixed(ratio, 2)),
            primitives => table::primitives(entry),
            permanent => fixed(row.permanent_bytes as f64, 0),
            temporary => fixed(row.temporary_bytes as f64, 0),
            messages => row.messages,
            payload => fixed(row.payload_bytes as f64, 0),
            wire => fixed(row.wire_bytes as f64, 0),
        }
    });
    lines.collect()
}
