//! The page over all studies that were run again.

use super::page::{Page, PageBlock, Section};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::capitalised;
use super::verdicts::{cards, matrix, tiles};
use crate::verdict::{Outcome, Verdict};

/// A study in the overview.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Its name on the command line.
    pub id: String,
    /// What the study is about.
    pub title: String,
    /// Where its report is, as a link.
    pub report: String,
    /// Its findings.
    pub verdicts: Vec<Verdict>,
    /// How long it took (s).
    pub seconds: f64,
}

/// Renders the page over all studies.
pub fn overview(studies: &[Overview]) -> String {
    let all: Vec<&Verdict> = studies.iter().flat_map(|study| &study.verdicts).collect();
    let prefix = |study: &Overview| format!("{}-", study.id);
    let rows: Vec<_> =
        studies.iter().map(|study| (name(&study.id), &*study.verdicts, prefix(study))).collect();
    let mut columns = vec![PageColumn::text("Study", |study: &Overview| {
        PageCell::link(&format!("#{}", study.id), &study.title)
    })];
    columns.extend(Outcome::ALL.map(|outcome| {
        PageColumn::number(capitalised(outcome.name()), "", move |study: &Overview| {
            let found = study.verdicts.iter().filter(|verdict| verdict.outcome == outcome);
            found.count().to_string()
        })
    }));
    columns.extend([
        PageColumn::number("Time", "s", |study: &Overview| format!("{:.0}", study.seconds)),
        PageColumn::text("Report", |study: &Overview| {
            PageCell::link(&study.report, "the whole report")
        }),
    ]);
    let outcomes = vec![
        PageBlock::note("A square is a finding; it leads to the finding's card."),
        matrix(&rows),
        PageBlock::Table(PageTable::of("Studies", studies, columns)),
    ];
    let cards = studies.iter().map(|study| {
        let cards = cards(&study.verdicts, &prefix(study));
        Section::new(&study.id, &study.title, vec![cards])
    });
    let page = Page {
        kind: format!("{} studies", studies.len()),
        title: "Do the findings hold when the schemes themselves run?".to_owned(),
        lead: vec![format!(
            "{} published findings about group key schemes, each decided by code that a device would run: \
             counts and sizes decide what is about algorithms, a model what is about a device, simulated \
             networks what is about loss and delay.",
            all.len()
        )],
        tiles: tiles(&all),
        sections: [Section::new("outcomes", "All outcomes", outcomes)]
            .into_iter()
            .chain(cards)
            .collect(),
        ..Page::default()
    };
    page.render()
}

/// Returns a study's name for readers: `Network impact`.
fn name(id: &str) -> String {
    match id {
        "tgdh" => "TGDH".to_owned(),
        _ => capitalised(&id.replace('-', " ")),
    }
}
