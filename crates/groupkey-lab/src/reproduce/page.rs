//! The pages: one for each study, and one over all studies. The HTML opens from disk, without a
//! network.

use minijinja::{Value, context};

use super::cells::modelled_ns;
use super::study::{Examination, Study};
use crate::bench::{BenchHeader, BenchRow};
use crate::report::{Benchmark, Reproduction, Verdict, bar, capitalised, fill, matrix, verdicts};

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

impl Study {
    /// Builds a study's page: the page of a benchmark with the study's findings, and its devices'
    /// times beside ours. `command` makes these results again.
    pub fn page(
        &self,
        header: &BenchHeader,
        rows: &[BenchRow],
        examination: &Examination,
        command: String,
    ) -> Benchmark {
        let reproduction = Reproduction {
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            published: examination.published.clone(),
            verdicts: examination.verdicts.clone(),
            command,
        };
        let mut benchmark = Benchmark { reproduction: Some(reproduction), ..Benchmark::default() };
        benchmark.add(header, rows.iter().map(|row| self.on_its_device(row.clone())));
        benchmark
    }

    /// Adds to the row its cost on the study's device, if the cost is known.
    fn on_its_device(&self, mut row: BenchRow) -> BenchRow {
        let device = (self.device)(&row.role);
        let modelled = modelled_ns(device, &row, &row.primitives);
        if !modelled.is_nan() {
            row.device = Some(device.to_owned());
            row.device_ns = Some(modelled);
        }
        row
    }
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
