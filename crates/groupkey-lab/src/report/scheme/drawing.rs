//! Draws a real run: the messages between parties, and the new keys of the tree.

use std::collections::BTreeSet;

use groupkey::{Channel, MemberId, PartyId, Recipient};
use minijinja::Value;

use super::run::{Episode, Sent, Tree};
use crate::report::svg::{Position, Svg};

/// The most messages that are drawn; the other messages are only counted.
const MOST: usize = 24;

const COLUMN: f64 = 78.0;
const ROW: f64 = 25.0;

/// Draws the messages of an operation, in the order in which they were sent.
pub(super) fn sequence(id: &str, episode: &Episode) -> Value {
    let parties = parties(episode);
    let (all, shown) = (episode.messages.len(), episode.messages.len().min(MOST));
    let more = if shown < all { 20.0 } else { 0.0 };
    let size = (COLUMN * parties.len() as f64 + 8.0, 44.0 + ROW * shown.max(1) as f64 + more);
    let title = format!("{}: {all} messages", episode.title);
    let mut svg = Svg::of_size("drawing sequence", size, id, &title);
    let x = |party: PartyId| {
        let place = parties.iter().position(|&other| other == party).unwrap_or_default();
        COLUMN * (place as f64 + 0.5) + 4.0
    };
    for &party in &parties {
        svg.text("party", (x(party), 16.0), "middle", &name(party));
        svg.path("lifeline", format_args!("M{:.1} 24V{:.1}", x(party), size.1 - 6.0));
    }
    for (row, message) in episode.messages.iter().take(MOST).enumerate() {
        let to = targets(message, &parties).into_iter().map(x).collect::<Vec<_>>();
        arrow(&mut svg, message, (x(message.from), 44.0 + ROW * row as f64), &to);
    }
    if shown < all {
        let words = format!("and {} more messages", all - shown);
        svg.text("more", (6.0, size.1 - 6.0), "start", &words);
    }
    svg.finish()
}

/// Draws a message from a place to those at these distances from the left.
fn arrow(svg: &mut Svg, message: &Sent, (from, y): Position, to: &[f64]) {
    let confidential = message.channel == Channel::Confidential;
    let (class, reach) = match (message.to, confidential) {
        (Recipient::Subset(_), _) => ("message subset", "to a subset"),
        (Recipient::Group, true) => ("message confidential", "to all members"),
        (Recipient::Group, false) => ("message", "to all members"),
        (_, true) => ("message confidential", "to one"),
        (_, false) => ("message", "to one"),
    };
    let words = format!(
        "{} {reach}: {} B, of which the scheme's own {} B; {} channel",
        name(message.from),
        message.bytes,
        message.body_bytes,
        if confidential { "confidential" } else { "open" },
    );
    svg.begin_named(class, &words);
    let low = to.iter().copied().fold(from, f64::min);
    let high = to.iter().copied().fold(from, f64::max);
    svg.path("way", format_args!("M{low:.1} {y:.1}H{high:.1}"));
    svg.circle("from", (from, y), 2.6);
    for &target in to {
        let back = if target > from { -6.5 } else { 6.5 };
        svg.path("head", format_args!("M{target:.1} {y:.1}l{back} -3.6v7.2z"));
    }
    let nearest = to.iter().copied().min_by(|a, b| (a - from).abs().total_cmp(&(b - from).abs()));
    let middle = nearest.map_or(from, |target| (from + target) / 2.0);
    svg.text("size", (middle, y - 4.0), "middle", &format!("{} B", message.bytes));
    svg.end();
}

/// Draws the tree. Nodes with new keys are filled.
pub(super) fn tree(id: &str, tree: &Tree) -> Value {
    let places = places(tree);
    let (mut width, mut height) = (0.0_f64, 0.0_f64);
    for &(x, y) in &places {
        (width, height) = (width.max(x), height.max(y));
    }
    let changed = tree.changed.iter().filter(|changed| **changed).count();
    let title = format!("{}: {changed} of {} keys are new", tree.title, tree.nodes.len());
    let mut svg = Svg::of_size("drawing tree", (width + 24.0, height + 38.0), id, &title);
    for (node, &(x, y)) in tree.nodes.iter().zip(&places) {
        if let Some((above_x, above_y)) = node.parent.map(|parent| places[parent]) {
            let middle = (above_y + y) / 2.0;
            svg.path(
                "branch",
                format_args!("M{above_x:.1} {above_y:.1}V{middle:.1}H{x:.1}V{y:.1}"),
            );
        }
    }
    for ((node, &changed), &(x, y)) in tree.nodes.iter().zip(&tree.changed).zip(&places) {
        let (class, words) = match (changed, node.fingerprint) {
            (true, _) => ("node new", "its key is new"),
            (false, Some(_)) => ("node", "its key is the one of before"),
            (false, None) => ("node unknown", "none of those asked knows its key"),
        };
        let what = node.member.map_or_else(|| "A node".to_owned(), |member| name(member.into()));
        svg.begin_named(class, &format!("{what}: {words}"));
        svg.circle("key", (x, y), 8.0);
        if changed {
            // A shape in addition to the colour.
            svg.path("tick-mark", format_args!("M{:.1} {y:.1}l2.6 3 5 -6", x - 3.8));
        }
        if let Some(MemberId(member)) = node.member {
            svg.text("member", (x, y + 22.0), "middle", &member.to_string());
        }
        svg.end();
    }
    svg.finish()
}

fn targets(message: &Sent, parties: &[PartyId]) -> Vec<PartyId> {
    match message.to {
        Recipient::Controller => vec![PartyId::Controller],
        Recipient::Member(member) => vec![member.into()],
        Recipient::SubgroupController(subgroup) => vec![subgroup.into()],
        Recipient::Group | Recipient::Subset(_) => {
            let members = parties.iter().filter(|party| matches!(party, PartyId::Member(_)));
            members.copied().filter(|&party| party != message.from).collect()
        }
    }
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
