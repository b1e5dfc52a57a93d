//! The section of a scheme: what the catalogue says of it, its audit, drawings of a real run, its
//! costs and their growth.

mod drawing;
mod run;

use std::collections::BTreeMap;

use groupkey::catalogue::Profile;
use groupkey_choose::number::{digits, fixed, time};
use minijinja::Value;

use super::audit;
use super::benchmark::{primitives, role_words, variant};
use super::content::{Entry, Report};
use super::page::Block;
use super::style::{Style, Styles};
use super::table::{Cell, Column, Table};
use super::text::escaped;
use crate::audit::Finding;
use crate::bench::growth::{CostAtSize, GrowthFit};
use crate::registry;

/// Builds a fold for each scheme that has rows.
pub(super) fn folds(
    report: &Report,
    entries: &[Entry],
    findings: &[Finding],
    styles: &Styles,
) -> Vec<Block> {
    styles.iter().map(|style| fold(report, entries, findings, style)).collect()
}

/// What a report says before the folds.
pub(super) const DRAWINGS: &str = "The drawings are of real runs with a handful of members, in the \
    suite standard, with a MAC on every message: arrows are messages in the order in which they were \
    sent, with their whole length; a dashed one went over a confidential channel before the group was \
    in operation. In a key tree, filled nodes have new keys.";

fn fold(report: &Report, entries: &[Entry], findings: &[Finding], style: &Style) -> Block {
    let id = &style.scheme;
    let own: Vec<&Entry> = entries.iter().filter(|entry| entry.row.scheme == *id).collect();
    let known = registry::scheme(id);
    let anchor = format!("scheme-{}", style.number);
    // The forms of a scheme differ in their claims and messages.
    let rows = own.iter().map(|entry| &entry.row.profile);
    let network = report.network_rows().filter(|row| row.setting.scheme == *id);
    let mut profiles = rows.chain(network.map(|row| &row.setting.profile));
    let profile = match profiles.next().map(String::as_str) {
        Some("published") => Profile::Published,
        _ => Profile::Sound,
    };

    let mut blocks = Vec::new();
    if let Some(scheme) = known {
        blocks.push(Block::text(format!("{}. Profile {}.", scheme.source, profile.name())));
    }
    let audited: Vec<&Finding> = findings.iter().filter(|one| one.scheme == *id).collect();
    if audited.is_empty() {
        blocks.extend(known.map(|scheme| {
            let claims = match profile {
                Profile::Published => scheme.published_claims,
                Profile::Sound => scheme.claims,
            };
            let claims = [
                ("forward secrecy", claims.forward_secrecy),
                ("backward secrecy", claims.backward_secrecy),
                ("collusion resistance", claims.collusion_resistance),
                ("key independence", claims.key_independence),
            ];
            let words = |(name, claimed)| {
                format!("{name}: {}, not audited", if claimed { "claimed" } else { "not claimed" })
            };
            Block::List { items: claims.map(words).to_vec() }
        }));
    } else {
        blocks.push(Block::heading("Claimed and audited"));
        blocks.extend(audit::findings(&audited, &format!("{anchor}-trace")));
    }
    if let Some(scheme) = known {
        let episodes = run::episodes(scheme, profile).into_iter().enumerate();
        let sequences = episodes.map(|(index, episode)| {
            let svg = drawing::sequence(&format!("{anchor}-sequence-{index}"), &episode);
            (episode.title, svg)
        });
        let trees = run::trees(scheme, profile).into_iter().enumerate();
        let trees = trees.map(|(index, tree)| {
            let svg = drawing::tree(&format!("{anchor}-tree-{index}"), &tree);
            (tree.title, svg)
        });
        let drawings = [("Messages", sequences.collect()), ("Key tree", trees.collect::<Vec<_>>())];
        let drawings =
            drawings.into_iter().filter(|(_, drawings): &(_, Vec<_>)| !drawings.is_empty());
        blocks.extend(drawings.map(|(title, drawings)| Block::Drawings { title, drawings }));
    }
    if let Some(first) = own.first() {
        let growth = growth(report, id);
        if !growth.is_empty() {
            blocks.extend([Block::heading("Growth of the counted cost"), Block::Table(growth)]);
        }
        let row = &first.row;
        let (suite, bits) = (&row.suite, row.security_bits);
        let title = format!("Costs in the largest group, suite {suite}, {bits} bit security");
        blocks.extend([Block::heading(title), Block::Table(costs(&own, report))]);
    }
    let name = known.map_or(id.as_str(), |scheme| scheme.name);
    let provenance = known.map_or("unknown", |scheme| scheme.provenance.name());
    Block::Fold {
        id: anchor,
        title: Value::from_safe_string(format!("{} {}", style.glyph(), escaped(name))),
        remark: format!("{id}, {}, {provenance}", style.class()),
        is_open: style.number == 0,
        blocks,
    }
}

/// The rows of one curve, from the smallest to the largest group.
struct Curve<'a> {
    entries: Vec<&'a Entry>,
}

/// Shows how the counted cost grows from the smallest to the largest group that was run.
fn growth(report: &Report, scheme: &str) -> Table {
    let mut curves: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in report.entries.iter().filter(|entry| entry.row.scheme == scheme) {
        let row = &entry.row;
        let what = (&row.operation, &row.role, &row.phase, &row.profile, &row.suite);
        curves.entry((what, row.message_bytes, variant(entry))).or_default().push(entry);
    }
    let curves: Vec<Curve<'_>> = curves
        .into_values()
        .map(|mut entries| {
            entries.sort_by_key(|entry| entry.row.members);
            Curve { entries }
        })
        .filter(|curve| curve.first().row.members < curve.last().row.members)
        .collect();
    let ratio = |of: fn(&Entry) -> f64| {
        move |curve: &Curve<'_>| {
            let ratio = of(curve.last()) / of(curve.first());
            ratio.is_finite().then(|| format!("× {}", digits(ratio)))
        }
    };
    let columns = vec![
        Column::text("Operation", |curve: &Curve<'_>| curve.last().row.operation.clone()),
        Column::text("Role", |curve: &Curve<'_>| role(curve.last(), report)),
        Column::text("Form", |curve: &Curve<'_>| curve.form()),
        Column::number("Members", "", |curve: &Curve<'_>| {
            format!("{} to {}", curve.first().row.members, curve.last().row.members)
        }),
        Column::number("Group", "", ratio(|entry| f64::from(entry.row.members))),
        Column::number("Counted, from", "", |curve: &Curve<'_>| time(curve.first().row.counted_ns)),
        Column::number("to", "", |curve: &Curve<'_>| time(curve.last().row.counted_ns)),
        Column::number("Cost", "", ratio(|entry| entry.row.counted_ns)),
        Column::number("Bytes sent", "", ratio(|entry| entry.row.wire_bytes as f64)),
    ];
    Table::of(format!("Growth of {scheme}"), &curves, columns)
}

impl Curve<'_> {
    fn first(&self) -> &Entry {
        self.entries[0]
    }

    fn last(&self) -> &Entry {
        self.entries[self.entries.len() - 1]
    }

    fn form(&self) -> Option<&'static str> {
        let points = self
            .entries
            .iter()
            .map(|entry| CostAtSize { members: entry.row.members, cost: entry.row.counted_ns });
        GrowthFit::of(&points.collect::<Vec<_>>()).map(|fit| fit.form.name())
    }
}

/// Describes the role of a row, and the circumstances of its measurement. Names the file only if
/// there are several.
fn role(entry: &Entry, report: &Report) -> Cell {
    let mut parts = variant(entry);
    if report.sources.len() < 2 {
        parts.pop();
    }
    parts.retain(|part| !part.is_empty());
    let role = format!("{}, {}", role_words(&entry.row.role), entry.row.phase);
    let variant = escaped(&parts.join(", "));
    Cell::markup(format!("{}<br><small>{variant}</small>", escaped(&role)), role)
}

/// Shows what each operation costs each role in the largest group that was run.
fn costs(own: &[&Entry], report: &Report) -> Table {
    let mut largest: BTreeMap<_, &Entry> = BTreeMap::new();
    for &entry in own {
        let row = &entry.row;
        let what = (&row.profile, &row.suite, &row.operation, &row.role, &row.phase);
        let key = (what, row.message_bytes, variant(entry));
        let kept = largest.entry(key).or_insert(entry);
        if kept.row.members < row.members {
            *kept = entry;
        }
    }
    let whole = |name: &'static str, of: fn(&Entry) -> u64| {
        Column::number(name, "", move |entry: &Entry| fixed(of(entry) as f64, 0))
    };
    let columns = vec![
        Column::text("Operation", |entry: &Entry| entry.row.operation.clone()),
        Column::text("Role", |entry: &Entry| role(entry, report)),
        Column::number("Members", "", |entry: &Entry| entry.row.members.to_string()),
        Column::number("Mean, measured", "", |entry: &Entry| match entry.row.ci95_ns {
            Some(ci95) => format!("{} ± {}", time(entry.row.mean_ns), time(ci95)),
            None => time(entry.row.mean_ns),
        }),
        Column::number("Counted", "", |entry: &Entry| time(entry.row.counted_ns)),
        Column::number("Measured / counted", "", |entry: &Entry| {
            entry.row.measured_over_counted.map(|ratio| fixed(ratio, 2))
        }),
        Column::text("Primitives", primitives),
        whole("Permanent B", |entry| entry.row.permanent_bytes),
        whole("Temporary B", |entry| entry.row.temporary_bytes),
        whole("Messages", |entry| entry.row.messages),
        whole("Payload B", |entry| entry.row.payload_bytes),
        whole("Whole B", |entry| entry.row.wire_bytes),
    ];
    Table::of(format!("Costs of {}", own[0].row.scheme), largest.into_values(), columns)
}
