//! The pages: one of each study, and one over all. HTML that opens from disk, without a network.

use minijinja::{Environment, Value, context};

use super::cells::{grouped, modelled_ns, scheme_name, time_words};
use super::claims::outcome_words;
use super::study::{Examination, Study};
use crate::bench::{BenchHeader, BenchRow};
use crate::report::{Outcome, Verdict};

/// All that a study's page shows.
#[derive(Clone, Debug)]
pub struct StudyReport {
    /// The study.
    pub study: &'static Study,
    /// Header of the results file.
    pub header: BenchHeader,
    /// The rows.
    pub rows: Vec<BenchRow>,
    /// What was made of them.
    pub examination: Examination,
    /// The command that makes these results again.
    pub reproduce: String,
}

/// A study in the overview.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Its name on the command line.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where its report is, as a link.
    pub report: String,
    /// Its findings.
    pub verdicts: Vec<Verdict>,
    /// How long it took (s).
    pub seconds: f64,
}

/// A study's page.
pub fn render(report: &StudyReport) -> String {
    let StudyReport { study, header, rows, examination, reproduce } = report;
    let published = examination.published.iter().map(|value| {
        let shown = |value: Option<f64>| value.map(figure);
        context! {
            what => &value.what,
            published => match value.error {
                Some(error) => format!("{} ± {}", figure(value.published), figure(error)),
                None => figure(value.published),
            },
            measured => shown(value.measured),
            modelled => shown(value.modelled),
            unit => value.unit,
            note => &value.note,
        }
    });
    let page = context! {
        title => study.title,
        study => study.id,
        source => study.source,
        seed => header.seed,
        commit => &header.commit,
        machine => &header.machine,
        assumptions => study.assumptions.to_vec(),
        counts => counts(&examination.verdicts),
        verdicts => examination.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        published => published.collect::<Vec<_>>(),
        rows => rows.iter().map(|row| line(study, row)).collect::<Vec<_>>(),
        reproduce => reproduce,
    };
    fill("study.html", page)
}

/// The page over all studies.
pub fn overview(studies: &[Overview]) -> String {
    let all: Vec<Verdict> = studies.iter().flat_map(|study| study.verdicts.clone()).collect();
    let told = studies.iter().map(|study| {
        context! {
            id => &study.id,
            title => &study.title,
            report => &study.report,
            counts => counts(&study.verdicts),
            verdicts => study.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        }
    });
    let page = context! { studies => told.collect::<Vec<_>>(), counts => counts(&all) };
    fill("overview.html", page)
}

fn fill(name: &str, page: Value) -> String {
    let mut environment = Environment::new();
    for (name, source) in [
        ("study.html", include_str!("../../templates/study.html")),
        ("overview.html", include_str!("../../templates/overview.html")),
        ("findings.html", include_str!("../../templates/findings.html")),
        ("report.css", include_str!("../../templates/report.css")),
    ] {
        environment.add_template(name, source).expect("the page's template parses");
    }
    environment
        .get_template(name)
        .and_then(|template| template.render(page))
        // The template is part of the program, and a test renders it.
        .expect("the page's template is sound")
}

fn counts(verdicts: &[Verdict]) -> Value {
    let of = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    context! {
        all => verdicts.len(),
        confirmed => of(Outcome::Confirmed),
        refuted => of(Outcome::Refuted),
        open => of(Outcome::NotDecidable),
    }
}

fn verdict(verdict: &Verdict) -> Value {
    let class = match verdict.outcome {
        Outcome::Confirmed => "confirmed",
        Outcome::NotDecidable => "open",
        Outcome::Refuted => "refuted",
    };
    context! {
        id => &verdict.id,
        claim => &verdict.claim,
        evidence => &verdict.evidence,
        word => outcome_words(verdict.outcome),
        class,
    }
}

fn line(study: &Study, row: &BenchRow) -> Value {
    let device = (study.device)(&row.role);
    let modelled = modelled_ns(device, row, &row.primitives);
    context! {
        scheme => scheme_name(&row.scheme),
        operation => &row.operation,
        phase => &row.phase,
        role => &row.role,
        members => grouped(row.members.into()),
        mean => time_words(row.mean_ns),
        ci95 => time_words(row.ci95_ns),
        counted => time_words(row.counted_ns),
        modelled => if modelled.is_nan() { "-".to_owned() } else { time_words(modelled) },
        device,
        permanent => grouped(row.permanent_bytes as f64),
        temporary => grouped(row.temporary_bytes as f64),
        payload => grouped(row.payload_bytes as f64),
        provenance => &row.provenance,
    }
}

/// A number for people.
fn figure(value: f64) -> String {
    match value.abs() {
        1_000.0.. => grouped(value),
        10.0.. if value.fract() != 0.0 => format!("{value:.1}"),
        _ if value.fract() == 0.0 => format!("{value}"),
        1.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}
