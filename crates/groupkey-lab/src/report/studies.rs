//! The page over all studies that were run again.

use minijinja::{Value, context};

use super::template::fill;
use super::text::capitalised;
use super::verdicts::{bar, matrix, verdicts};
use crate::verdict::Verdict;

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
    let all: Vec<Verdict> = studies.iter().flat_map(|study| study.verdicts.clone()).collect();
    let found: Vec<Value> =
        studies.iter().map(|study| verdicts(&study.verdicts, &format!("{}-", study.id))).collect();
    let names: Vec<String> = studies.iter().map(|study| name(&study.id)).collect();
    let told = studies.iter().zip(&found).map(|(study, found)| {
        context! {
            id => &study.id,
            name => name(&study.id),
            title => &study.title,
            report => &study.report,
            seconds => format!("{:.0} s", study.seconds),
            bar => bar(&study.verdicts, &format!("Outcomes of {}", study.id)),
            verdicts => found,
        }
    });
    let all = verdicts(&all, "");
    let page = context! {
        studies => told.collect::<Vec<_>>(),
        matrix => matrix(names.iter().map(String::as_str).zip(&found)),
        legend => all.get_attr("legend").ok(),
        all,
    };
    fill("overview.html", page)
}

/// Returns a study's name for readers: `Network impact`.
fn name(id: &str) -> String {
    match id {
        "tgdh" => "TGDH".to_owned(),
        _ => capitalised(&id.replace('-', " ")),
    }
}
