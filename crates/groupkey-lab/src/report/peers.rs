//! The page of the peers: who is ahead, where and why, then figures and all rows.

mod figures;

use std::collections::BTreeSet;

use groupkey_choose::number::{fixed, grouped, rounded};
use serde_json::json;

use self::figures::{figures, words};
use super::content::Report;
use super::page::{Data, Page, PageBlock, Section};
use super::style::{Style, Styles};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::factor;
use crate::peers::{
    DEVICE, LeadCount, PeerEffort, PeerFailure, PeerField, PeerLead, PeerRival, PeerRow,
    assumptions, past_effects, sentence, tallies,
};

/// What the page shows.
#[derive(Clone, Debug)]
pub struct PeerPage<'a> {
    /// The rows.
    pub rows: &'a [PeerRow],
    /// Who is ahead in them.
    pub leads: &'a [PeerLead],
    /// What could not be run.
    pub failures: &'a [PeerFailure],
    /// Which foreign libraries the build has, and how to get the others.
    pub libraries: &'a str,
    /// The command that makes these results again.
    pub command: &'a str,
    /// The commit of the command.
    pub commit: &'a str,
    /// The machine, if anything was measured on it.
    pub machine: Option<&'a str>,
}

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render_peers(content: &PeerPage<'_>) -> String {
    let PeerPage { rows, leads, .. } = *content;
    let styles = Styles::of_schemes(rows.iter().map(|row| &*row.scheme));
    let page = Page {
        kind: "peers".to_owned(),
        title: "Who is ahead, where, and why".to_owned(),
        lead: vec![
            format!(
                "{} schemes that do the same job, with the code that a device would run: created, joined \
                 and left, in three simulated networks. Sentences follow from the rows by rules.",
                styles.iter().count()
            ),
            content.libraries.to_owned(),
        ],
        tiles: tiles(rows, leads, &styles),
        sections: vec![
            Section::new("ahead", "Who is ahead", ahead(content)),
            Section::new(
                "leads",
                "Every comparison",
                vec![
                    PageBlock::note(
                        "A line is a stretch of sizes with the same schemes ahead; less is better. Ahead is who \
                     is at most 5 % behind the best at each of them. Factors are those of the largest size.",
                    ),
                    PageBlock::Table(lead_table(leads).sortable(Vec::new())),
                ],
            ),
            Section::new("figures", "Figures", figures(rows, &styles)),
            Section::new(
                "rows",
                "All rows",
                vec![PageBlock::Table(
                    table(rows.iter(), &styles)
                        .without_empty()
                        .sortable(styles.iter().map(Style::choice).collect()),
                )],
            ),
            Section::new("method", "Method", method(content)),
        ],
        data: Data::of(&json!({ "rows": rows, "leads": leads })),
        ..Page::default()
    };
    page.render()
}

fn tiles(rows: &[PeerRow], leads: &[PeerLead], styles: &Styles) -> Vec<(String, String)> {
    let sizes: BTreeSet<u32> = rows.iter().map(|row| row.members).collect();
    let compared: usize =
        leads.iter().filter(|lead| lead.field == PeerField::All).map(|lead| lead.sizes).sum();
    let mut tiles = vec![
        (styles.iter().count().to_string(), "schemes".to_owned()),
        (grouped(rows.len() as f64), "rows".to_owned()),
        (grouped(compared as f64), "comparisons".to_owned()),
    ];
    if let Some(most) = sizes.last() {
        tiles.push((grouped((*most).into()), "members at most".to_owned()));
    }
    tiles
}

/// How often who is ahead, the sentences about new groups, and what a past changes.
fn ahead(content: &PeerPage<'_>) -> Vec<PageBlock> {
    let PeerPage { rows, leads, .. } = *content;
    let mut blocks = Vec::new();
    for field in PeerField::ALL {
        let found = tallies(leads, field);
        let columns = vec![
            PageColumn::text("Scheme", |tally: &LeadCount| tally.scheme.clone()),
            PageColumn::number("Ahead", "", |tally: &LeadCount| {
                PageCell::of(tally.ahead as f64, grouped(tally.ahead as f64))
            }),
            PageColumn::number("Of", "", |tally: &LeadCount| grouped(tally.of as f64)),
            PageColumn::number("Share", "%", |tally: &LeadCount| {
                let share = 100.0 * tally.ahead as f64 / tally.of.max(1) as f64;
                PageCell::of(share, fixed(share, 0)).shaded(share)
            }),
        ];
        let counts = PageTable::of(format!("Ahead, {}", field.words()), &found, columns);
        if counts.is_empty() {
            continue;
        }
        blocks.push(PageBlock::heading(format!("Among {}", field.words())));
        blocks.push(PageBlock::Table(counts));
        let told = leads.iter().filter(|lead| lead.field == field && lead.past == "new");
        blocks.push(PageBlock::List { items: told.map(sentence).collect() });
    }
    let effects = past_effects(rows);
    if !effects.is_empty() {
        blocks.push(PageBlock::heading("What a past changes"));
        blocks.push(PageBlock::List { items: effects });
    }
    blocks
}

fn lead_table(leads: &[PeerLead]) -> PageTable {
    let rival = |rival: &Option<PeerRival>| rival.as_ref().map(|rival| rival.scheme.clone());
    let times = |rival: &Option<PeerRival>| {
        let times = rival.as_ref().and_then(|rival| rival.times)?;
        Some(PageCell::of(times, factor(times)))
    };
    let columns = vec![
        PageColumn::text("Ahead", |lead: &PeerLead| lead.ahead.join(", ")).key("ahead"),
        PageColumn::text("Operation", |lead: &PeerLead| lead.operation.clone()).filter("operation"),
        PageColumn::text("Quantity", |lead: &PeerLead| lead.quantity.words()).filter("quantity"),
        PageColumn::text("Network", |lead: &PeerLead| lead.network).filter("network"),
        PageColumn::text("Past", |lead: &PeerLead| lead.past).filter("past"),
        PageColumn::text("Among", |lead: &PeerLead| lead.field.words()).filter("among"),
        PageColumn::number("From", "members", |lead: &PeerLead| lead.members.0.to_string()),
        PageColumn::number("To", "members", |lead: &PeerLead| lead.members.1.to_string()),
        PageColumn::number("Value", "", |lead: &PeerLead| {
            PageCell::of(lead.value, words(lead.quantity, lead.value))
        }),
        PageColumn::text("Next", move |lead: &PeerLead| rival(&lead.next)),
        PageColumn::number("Times", "", move |lead: &PeerLead| times(&lead.next)),
        PageColumn::text("Last", move |lead: &PeerLead| rival(&lead.last)),
        PageColumn::number("Times", "", move |lead: &PeerLead| times(&lead.last)),
        PageColumn::text("Why", |lead: &PeerLead| lead.reason.clone()),
    ];
    PageTable::of("Every comparison", leads, columns)
}

/// Makes the table of rows.
pub(super) fn table<'r>(rows: impl IntoIterator<Item = &'r PeerRow>, styles: &Styles) -> PageTable {
    type Own<'a> = PageColumn<'a, PeerRow>;
    let number = |name: &'static str, unit, of: fn(&PeerRow) -> Option<f64>| {
        Own::number(name, unit, move |row: &PeerRow| {
            of(row).map(|value| PageCell::of(value, rounded(value)))
        })
    };
    let effort = |name: &'static str, of: fn(&PeerRow) -> Option<&PeerEffort>| {
        Own::number(name, "ms", move |row: &PeerRow| {
            of(row).map(|effort| PageCell::of(effort.ms, rounded(effort.ms)))
        })
    };
    let measured = |name: &'static str, of: fn(&PeerRow) -> Option<f64>| number(name, "µs", of);
    let columns = vec![
        Own::text("Scheme", |row: &PeerRow| styles.of_scheme(&row.scheme).cell()).key("scheme"),
        Own::text("Class", |row| row.class.clone()).filter("class"),
        Own::text("Operation", |row| row.operation.clone()).filter("operation"),
        Own::text("Past", |row| row.past.clone()).filter("past"),
        Own::text("Network", |row| row.network.clone()).filter("network"),
        number("Members", "", |row| Some(row.members.into())).filter("members"),
        number("Completion, simulated", "ms", |row| Some(row.completion_ms)),
        number("± 95 %", "ms", |row| row.completion_ci95_ms),
        number("Of that computing", "ms", |row| Some(row.computation_ms)),
        number("Messages", "", |row| Some(row.messages as f64)),
        number("Their bytes", "B", |row| Some(row.payload_bytes as f64)),
        number("On the wire", "B", |row| Some(row.wire_bytes)),
        number("Reach a member", "B", |row| Some(row.received_bytes)),
        effort("Sender, modelled", |row| Some(&row.sender)),
        Own::text("Mostly", |row| row.sender.mostly.clone()),
        effort("Member, modelled", |row| row.member.as_ref()),
        effort("Newcomer, modelled", |row| row.newcomer.as_ref()),
        number("Keys of a member", "B", |row| Some(row.member_keys_bytes as f64)),
        number("Keys of the sender", "B", |row| Some(row.sender_keys_bytes as f64)),
        measured("Sender, measured", |row| row.measured.as_ref()?.sender_us),
        measured("Member, measured", |row| row.measured.as_ref()?.member_us),
        measured("Newcomer, measured", |row| row.measured.as_ref()?.newcomer_us),
        number("Runs", "", |row| Some(row.runs.into())),
    ];
    PageTable::of("Peers", rows, columns)
}

/// Makes the table of a report's rows.
pub(super) fn table_of(report: &Report, styles: &Styles) -> PageTable {
    table(report.peers.iter().map(|(_, row)| row), styles)
}

fn method(content: &PeerPage<'_>) -> Vec<PageBlock> {
    let mut blocks = vec![PageBlock::List { items: assumptions() }];
    let command = match content.machine {
        Some(machine) => format!(
            "Commit {}. What is measured is processor time of {machine}; all else comes out the same \
             everywhere.",
            content.commit
        ),
        None => format!("Commit {}. The same command makes the same page.", content.commit),
    };
    blocks.extend([PageBlock::text(command), PageBlock::code(content.command)]);
    if !content.failures.is_empty() {
        let items = content.failures.iter();
        let items =
            items.map(|failure| format!("{}: {}", failure.group, failure.problem)).collect();
        blocks.extend([PageBlock::heading("What did not complete"), PageBlock::List { items }]);
    }
    blocks.push(PageBlock::note(format!("Prices: groupkey device show {DEVICE}.")));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::leads;

    #[test]
    fn the_page_says_who_is_ahead_and_why() {
        let rows = [
            PeerRow::example("skdc", 2, 1.0),
            PeerRow::example("lkh-group", 2, 1.2),
            PeerRow { messages: 100, ..PeerRow::example("skdc", 100, 20.0) },
            PeerRow::example("lkh-group", 100, 4.0),
        ];
        let failures =
            [PeerFailure { group: "str, 100 members".to_owned(), problem: "no".to_owned() }];
        let content = PeerPage {
            rows: &rows,
            leads: &leads(&rows),
            failures: &failures,
            libraries: "mls-rs is not in this build.",
            command: "groupkey reproduce peers --quick",
            commit: "0123",
            machine: None,
        };
        let page = render_peers(&content);
        for told in [
            "lkh-group takes 1 message, and skdc 100 messages",
            "mls-rs is not in this build.",
            "groupkey reproduce peers --quick",
            "str, 100 members: no",
            "Among all schemes",
        ] {
            assert!(page.contains(told), "{told}");
        }
        assert!(!page.contains("Among schemes without a controller"), "there is none");
        assert_eq!(page, render_peers(&content));
    }
}
