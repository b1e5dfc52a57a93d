//! Draws a real run as inline SVG: the messages between parties, and the new keys of the tree.

use std::collections::BTreeSet;
use std::fmt::Write;

use groupkey::{Channel, MemberId, PartyId, Recipient};

use super::super::text::escaped;
use super::run::{Episode, Tree};

/// The most messages that are drawn; the other messages are only counted.
const MOST: usize = 24;

const COLUMN: f64 = 78.0;
const ROW: f64 = 25.0;

/// Draws the messages of an operation, in the order in which they were sent.
pub(super) fn sequence(id: &str, episode: &Episode) -> String {
    let parties = parties(episode);
    let shown = episode.messages.len().min(MOST);
    let width = COLUMN * parties.len() as f64 + 8.0;
    let height = 44.0
        + ROW * (shown.max(1)) as f64
        + if shown < episode.messages.len() { 20.0 } else { 0.0 };
    let title = format!("{}: {} messages", episode.title, episode.messages.len());
    let mut svg = open(id, &title, width, height, "sequence");
    let x = |party: PartyId| {
        let place = parties.iter().position(|&other| other == party).unwrap_or_default();
        COLUMN * (place as f64 + 0.5) + 4.0
    };
    for &party in &parties {
        let _ = write!(
            svg,
            "<text class='party' x='{x:.1}' y='16' text-anchor='middle'>{}</text>\
             <path class='lifeline' d='M{x:.1} 24V{:.1}'/>",
            escaped(&name(party)),
            height - 6.0,
            x = x(party),
        );
    }
    for (row, message) in episode.messages.iter().take(MOST).enumerate() {
        let y = 44.0 + ROW * row as f64;
        let from = x(message.from);
        let (targets, reach): (Vec<f64>, &str) = match message.to {
            Recipient::Controller => (vec![x(PartyId::Controller)], "to one"),
            Recipient::Member(member) => (vec![x(member.into())], "to one"),
            Recipient::SubgroupController(subgroup) => (vec![x(subgroup.into())], "to one"),
            Recipient::Group => (others(&parties, message.from, x), "to all members"),
            Recipient::Subset(_) => (others(&parties, message.from, x), "to a subset"),
        };
        let confidential = message.channel == Channel::Confidential;
        let class = match (message.to, confidential) {
            (Recipient::Subset(_), _) => "message subset",
            (_, true) => "message confidential",
            (_, false) => "message",
        };
        let words = format!(
            "{} {reach}: {} B, of which the scheme's own {} B; {} channel",
            name(message.from),
            message.bytes,
            message.body_bytes,
            if confidential { "confidential" } else { "open" },
        );
        let (low, high) = targets
            .iter()
            .fold((from, from), |(low, high), &target| (low.min(target), high.max(target)));
        let _ = write!(
            svg,
            "<g class='{class}'><title>{}</title><path d='M{low:.1} {y:.1}H{high:.1}'/>\
             <circle cx='{from:.1}' cy='{y:.1}' r='2.6'/>",
            escaped(&words)
        );
        for &target in &targets {
            let back = if target > from { -6.5 } else { 6.5 };
            let _ = write!(svg, "<path class='head' d='M{target:.1} {y:.1}l{back} -3.6v7.2z'/>");
        }
        let nearest =
            targets.iter().copied().min_by(|a, b| (a - from).abs().total_cmp(&(b - from).abs()));
        let middle = nearest.map_or(from, |target| (from + target) / 2.0);
        let _ = write!(
            svg,
            "<text class='size' x='{middle:.1}' y='{:.1}' text-anchor='middle'>{} B</text></g>",
            y - 4.0,
            message.bytes
        );
    }
    if shown < episode.messages.len() {
        let _ = write!(
            svg,
            "<text class='more' x='6' y='{:.1}'>and {} more messages</text>",
            height - 6.0,
            episode.messages.len() - shown
        );
    }
    svg + "</svg>"
}

/// Draws the tree. Nodes with new keys are filled.
pub(super) fn tree(id: &str, tree: &Tree) -> String {
    let places = places(tree);
    let (mut width, mut height) = (0.0_f64, 0.0_f64);
    for &(x, y) in &places {
        (width, height) = (width.max(x), height.max(y));
    }
    let changed = tree.changed.iter().filter(|changed| **changed).count();
    let title = format!("{}: {changed} of {} keys are new", tree.title, tree.nodes.len());
    let mut svg = open(id, &title, width + 24.0, height + 38.0, "tree");
    for (node, &(x, y)) in tree.nodes.iter().zip(&places) {
        if let Some((above_x, above_y)) = node.parent.map(|parent| places[parent]) {
            let middle = (above_y + y) / 2.0;
            let _ = write!(
                svg,
                "<path class='branch' d='M{above_x:.1} {above_y:.1}V{middle:.1}H{x:.1}V{y:.1}'/>"
            );
        }
    }
    for ((node, &changed), &(x, y)) in tree.nodes.iter().zip(&tree.changed).zip(&places) {
        let class = match (changed, node.fingerprint) {
            (true, _) => "node new",
            (false, Some(_)) => "node",
            (false, None) => "node unknown",
        };
        let what = node.member.map_or_else(|| "A node".to_owned(), |member| name(member.into()));
        let words = match (changed, node.fingerprint) {
            (true, _) => "its key is new",
            (false, Some(_)) => "its key is the one of before",
            (false, None) => "none of those asked knows its key",
        };
        let _ = write!(
            svg,
            "<g class='{class}'><title>{}: {words}</title><circle cx='{x:.1}' cy='{y:.1}' r='8'/>",
            escaped(&what)
        );
        if changed {
            // A shape in addition to the colour.
            let _ = write!(svg, "<path class='tick-mark' d='M{:.1} {y:.1}l2.6 3 5 -6'/>", x - 3.8);
        }
        if let Some(MemberId(member)) = node.member {
            let _ = write!(
                svg,
                "<text x='{x:.1}' y='{:.1}' text-anchor='middle'>{member}</text>",
                y + 22.0
            );
        }
        svg.push_str("</g>");
    }
    svg + "</svg>"
}

fn open(id: &str, title: &str, width: f64, height: f64, class: &str) -> String {
    format!(
        "<svg class='drawing {class}' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' \
         height='{height:.0}' role='img' aria-labelledby='{id}'><title id='{id}'>{}</title>",
        escaped(title)
    )
}

/// Returns all parties that are in the group or send or receive a message, controllers first.
fn parties(episode: &Episode) -> Vec<PartyId> {
    let mut parties: BTreeSet<PartyId> =
        episode.members.iter().map(|&member| MemberId(member).into()).collect();
    for message in &episode.messages {
        parties.insert(message.from);
        match message.to {
            Recipient::Controller => parties.insert(PartyId::Controller),
            Recipient::Member(member) => parties.insert(member.into()),
            Recipient::SubgroupController(subgroup) => parties.insert(subgroup.into()),
            Recipient::Group | Recipient::Subset(_) => false,
        };
    }
    parties.into_iter().collect()
}

fn others(parties: &[PartyId], from: PartyId, x: impl Fn(PartyId) -> f64) -> Vec<f64> {
    let members = parties.iter().filter(|party| matches!(party, PartyId::Member(_)));
    members.filter(|&&party| party != from).map(|&party| x(party)).collect()
}

fn name(party: PartyId) -> String {
    match party {
        PartyId::Controller => "controller".to_owned(),
        PartyId::SubgroupController(subgroup) => format!("subgroup {subgroup}"),
        PartyId::Member(member) => format!("member {member}"),
    }
}

/// Places the leaves side by side, and each node above the middle of its children.
fn places(tree: &Tree) -> Vec<(f64, f64)> {
    let mut places = vec![(0.0, 0.0); tree.nodes.len()];
    let mut leaves = 0.0;
    for (at, node) in tree.nodes.iter().enumerate() {
        places[at].1 = node.parent.map_or(14.0, |parent| places[parent].1 + 44.0);
        if node.member.is_some() {
            places[at].0 = 16.0 + 34.0 * leaves;
            leaves += 1.0;
        }
    }
    for at in (0..tree.nodes.len()).rev().filter(|&at| tree.nodes[at].member.is_none()) {
        let below: Vec<f64> = (at + 1..tree.nodes.len())
            .filter(|&child| tree.nodes[child].parent == Some(at))
            .map(|child| places[child].0)
            .collect();
        if let (Some(first), Some(last)) = (below.first(), below.last()) {
            places[at].0 = (first + last) / 2.0;
        }
    }
    places
}
