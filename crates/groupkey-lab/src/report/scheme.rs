//! The section of a scheme: what the catalogue says of it, its audit, drawings of a real run, and
//! the growth of its costs.

mod drawing;
mod run;

use std::collections::BTreeMap;

use groupkey::catalogue::{Profile, Scheme};
use groupkey_choose::number::{digits, time};
use minijinja::Value;

use super::audit;
use super::benchmark::{role_words, variant};
use super::content::{Entry, Report};
use super::page::PageBlock;
use super::style::{Style, Styles};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::escaped;
use crate::audit::Finding;
use crate::bench::growth::{CostAtSize, GrowthFit};
use crate::registry;

pub(super) fn folds(report: &Report, findings: &[Finding], styles: &Styles) -> Vec<PageBlock> {
    styles.iter().map(|style| fold(report, findings, style)).collect()
}

/// What a report says before the folds.
pub(super) const DRAWINGS: &str = "The drawings are of real runs with a handful of members, in the \
    suite standard, with a MAC on every message: arrows are messages in the order in which they were \
    sent, with their whole length; a dashed one went over a confidential channel before the group was \
    in operation. In a key tree, filled nodes have new keys.";

fn fold(report: &Report, findings: &[Finding], style: &Style) -> PageBlock {
    let id = &style.scheme;
    let known = registry::scheme(id);
    let anchor = format!("scheme-{}", style.number);
    // The forms of a scheme differ in their claims and messages.
    let rows = report.entries.iter().map(|entry| (&entry.row.scheme, &entry.row.profile));
    let network = report.network_rows().map(|row| (&row.setting.scheme, &row.setting.profile));
    let profile = rows.chain(network).find(|(scheme, _)| *scheme == id);
    let profile = match profile.map(|(_, profile)| profile.as_str()) {
        Some("published") => Profile::Published,
        _ => Profile::Sound,
    };

    let audited: Vec<&Finding> = findings.iter().filter(|one| one.scheme == *id).collect();
    let mut blocks = Vec::new();
    if let Some(scheme) = known {
        blocks.push(PageBlock::text(format!("{}. Profile {}.", scheme.source, profile.name())));
        if audited.is_empty() {
            blocks.push(claims(scheme, profile));
        }
    }
    if !audited.is_empty() {
        blocks.push(PageBlock::heading("Claimed and audited"));
        blocks.extend(audit::findings(&audited, &format!("{anchor}-trace"), true));
    }
    blocks.extend(known.into_iter().flat_map(|scheme| drawings(scheme, profile, &anchor)));
    let growth = growth(report, id);
    if !growth.is_empty() {
        blocks.extend([PageBlock::heading("Growth of the counted cost"), PageBlock::Table(growth)]);
    }
    let name = known.map_or(id.as_str(), |scheme| scheme.name);
    let provenance = known.map_or("unknown", |scheme| scheme.provenance.name());
    PageBlock::Fold {
        id: anchor,
        name: id.clone(),
        title: Value::from_safe_string(format!("{} {}", style.glyph(), escaped(name))),
        remark: format!("{id}, {}, {provenance}", style.class()),
        is_open: style.number == 0,
        blocks,
    }
}

/// Lists what nobody audited.
fn claims(scheme: &Scheme, profile: Profile) -> PageBlock {
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
    PageBlock::List { items: claims.map(words).to_vec() }
}

fn drawings(scheme: &'static Scheme, profile: Profile, anchor: &str) -> Vec<PageBlock> {
    let episodes = run::episodes(scheme, profile).into_iter().enumerate();
    let sequences = episodes.map(|(index, episode)| {
        let svg = drawing::sequence(&format!("{anchor}-sequence-{index}"), &episode);
        (episode.title, svg)
    });
    let trees = run::trees(scheme, profile).into_iter().enumerate().map(|(index, tree)| {
        let svg = drawing::tree(&format!("{anchor}-tree-{index}"), &tree);
        (tree.title, svg)
    });
    let mut drawn: Vec<(&str, Vec<_>)> =
        vec![("Messages", sequences.collect()), ("Key tree", trees.collect())];
    drawn.retain(|(_, drawings)| !drawings.is_empty());
    drawn.into_iter().map(|(title, drawings)| PageBlock::Drawings { title, drawings }).collect()
}

/// The rows of one curve, from the smallest to the largest group.
struct Curve<'a>(Vec<&'a Entry>);

/// Shows how the counted cost grows from the smallest to the largest group that was run.
fn growth(report: &Report, scheme: &str) -> PageTable {
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
            Curve(entries)
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
        PageColumn::text("Operation", |curve: &Curve<'_>| curve.last().row.operation.clone()),
        PageColumn::text("Role", |curve: &Curve<'_>| role(curve.last(), report)),
        PageColumn::text("Form", |curve: &Curve<'_>| curve.form()),
        PageColumn::number("Members", "", |curve: &Curve<'_>| {
            format!("{} to {}", curve.first().row.members, curve.last().row.members)
        }),
        PageColumn::number("Group", "", ratio(|entry| f64::from(entry.row.members))),
        PageColumn::number("Counted, from", "", |curve: &Curve<'_>| {
            time(curve.first().row.counted_ns)
        }),
        PageColumn::number("to", "", |curve: &Curve<'_>| time(curve.last().row.counted_ns)),
        PageColumn::number("Cost", "", ratio(|entry| entry.row.counted_ns)),
        PageColumn::number("Bytes sent", "", ratio(|entry| entry.row.wire_bytes as f64)),
    ];
    PageTable::of(format!("Growth of {scheme}"), &curves, columns)
}

impl Curve<'_> {
    fn first(&self) -> &Entry {
        self.0[0]
    }

    fn last(&self) -> &Entry {
        self.0[self.0.len() - 1]
    }

    fn form(&self) -> Option<&'static str> {
        let points = self
            .0
            .iter()
            .map(|entry| CostAtSize { members: entry.row.members, cost: entry.row.counted_ns });
        GrowthFit::of(&points.collect::<Vec<_>>()).map(|fit| fit.form.name())
    }
}

/// Describes the role of a row, and the circumstances of its measurement. Names the file only if
/// there are several.
fn role(entry: &Entry, report: &Report) -> PageCell {
    let mut parts = variant(entry);
    if report.sources.len() < 2 {
        parts.pop();
    }
    parts.retain(|part| !part.is_empty());
    let role = format!("{}, {}", role_words(&entry.row.role), entry.row.phase);
    let variant = escaped(&parts.join(", "));
    PageCell::markup(format!("{}<br><small>{variant}</small>", escaped(&role)), role)
}
