//! `groupkey reproduce all`: every study, and one table and page about all of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::report::{Overview, overview};
use groupkey_lab::verdict::Verdict;
use groupkey_reproduce::expectations::{ClaimEntry, claims_page, settle_together};
use groupkey_reproduce::{GradedRows, Sensitivity, sensitivity, studies};
use serde::Serialize;

use super::network_impact::{self, NetworkImpactArguments};
use super::printing::outcomes;
use super::recorded::{OutcomeComparison, RecordedArguments};
use super::study::{self, StudyArguments};
use crate::failure::Failure;
use crate::number;
use crate::results_folder::{EarlierArguments, RESULTS, ResultsFolder};
use crate::table::{Column, Table};

/// Arguments of `groupkey reproduce all`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each study has a folder of its own inside, as if it were run alone. overview.html covers all of
them; claims.md and claims.json have each finding with the command that decides it, claims.md also
each statement of the papers. sensitivity.json has what half and twice of each threshold would
change. The exit code is 1 if an outcome is not as recorded: a refuted finding is no failure.

Examples:
  groupkey reproduce all --quick
  groupkey reproduce all --resume")]
pub(crate) struct AllArguments {
    /// A few sizes and repetitions of each, for a first look: minutes instead of hours.
    #[arg(long)]
    quick: bool,

    /// Repetitions of each operation, and runs of each network [default: each study's own].
    #[arg(long, value_name = "R", value_parser = number::whole(2..=100_000))]
    repetitions: Option<u32>,

    /// Leave out measured groups of more members than this.
    #[arg(
        long,
        value_name = "N",
        default_value = "1000000",
        hide_default_value = true,
        value_parser = number::whole(2..=1_000_000),
    )]
    most_members: u32,

    /// Seed of the randomness.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Folder for the folders of the studies.
    #[arg(long, value_name = "DIR", default_value = "groupkey-results")]
    out: PathBuf,

    #[command(flatten)]
    earlier: EarlierArguments,

    #[command(flatten)]
    recorded: RecordedArguments,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// Runs all studies.
pub(super) fn run(arguments: &AllArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let expected = arguments.recorded.expected(arguments.is_expected())?;
    let folder = ResultsFolder::create(&arguments.out)?;
    let mut done = Vec::new();
    let mut rows = Vec::new();
    for study in studies() {
        let own = arguments.of_study(study.id);
        let found = study::reproduce(study, &own)?;
        done.push(Overview {
            id: study.id.to_owned(),
            title: study.title.to_owned(),
            report: format!("{}/report.html", study.id),
            verdicts: found.verdicts,
            seconds: found.seconds,
        });
        rows.push((study, found.measured));
    }
    let found = network_impact::reproduce(&arguments.of_network_impact())?;
    done.push(Overview {
        id: NETWORK_IMPACT.to_owned(),
        title: groupkey_reproduce::network_impact::TITLE.to_owned(),
        report: format!("{NETWORK_IMPACT}/report.html"),
        verdicts: found.study.verdicts.clone(),
        seconds: found.seconds,
    });
    let mut verdicts: Vec<&mut Vec<Verdict>> =
        done.iter_mut().map(|study| &mut study.verdicts).collect();
    settle_together(&mut verdicts);
    let page = folder.write_whole("overview.html", overview(&done).as_bytes())?;
    let claims = claims(&done, arguments);
    let rows = GradedRows {
        computations: rows.iter().map(|(study, rows)| (*study, &rows[..])).collect(),
        network: &found.rows,
        runs: found.header.runs,
    };
    let sensitivity = sensitivity(&rows);
    for (file, json) in [
        ("claims.json", serde_json::to_vec_pretty(&claims)),
        ("sensitivity.json", serde_json::to_vec_pretty(&sensitivity)),
    ] {
        folder.write_whole(file, &json.expect("it is plain data"))?;
    }
    folder.write_whole("claims.md", claims_page(&claims, &sensitivity).as_bytes())?;
    let comparison = OutcomeComparison::of(&claims, expected.as_deref());
    if arguments.json {
        let studies: Vec<_> = done.iter().map(StudyRow::new).collect();
        let object = serde_json::json!({
            "studies": studies,
            "overview": page,
            "sensitivity": sensitivity,
            "differences": comparison.as_ref().map(OutcomeComparison::differences),
        });
        writeln!(out, "{object}")?;
    } else {
        print(&done, &sensitivity, &page, out)?;
        if let Some(comparison) = &comparison {
            comparison.print(out)?;
        }
    }
    comparison.map_or(Ok(()), |comparison| comparison.check())
}

fn claims(done: &[Overview], arguments: &AllArguments) -> Vec<ClaimEntry> {
    let of_study = |study: &Overview| {
        let command = match study.id.as_str() {
            NETWORK_IMPACT => format!("groupkey reproduce {NETWORK_IMPACT}"),
            id if arguments.quick => format!("groupkey reproduce {id} --quick"),
            id => format!("groupkey reproduce {id}"),
        };
        ClaimEntry::of_study(&study.id, &study.verdicts, study.seconds, &command)
    };
    done.iter().flat_map(of_study).collect()
}

const NETWORK_IMPACT: &str = "network-impact";

/// A study in the JSON object.
#[derive(Serialize)]
struct StudyRow<'o> {
    study: &'o str,
    seconds: f64,
    verdicts: &'o [Verdict],
}

impl<'o> StudyRow<'o> {
    fn new(overview: &'o Overview) -> Self {
        Self { study: &overview.id, seconds: overview.seconds, verdicts: &overview.verdicts }
    }
}

impl AllArguments {
    fn is_expected(&self) -> bool {
        self.quick && self.repetitions.is_none() && self.most_members == 1_000_000 && self.seed == 1
    }

    fn of_study(&self, id: &str) -> StudyArguments {
        let out = self.out.join(id);
        StudyArguments {
            quick: self.quick,
            repetitions: self.repetitions,
            most_members: self.most_members,
            seed: self.seed,
            earlier: self.earlier_in(&out),
            out: Some(out),
            recorded: RecordedArguments::default(),
            json: false,
        }
    }

    fn of_network_impact(&self) -> NetworkImpactArguments {
        let out = self.out.join(NETWORK_IMPACT);
        let earlier = self.earlier_in(&out);
        let runs = self.repetitions.unwrap_or(RUNS);
        NetworkImpactArguments::of_all(runs, self.seed, out, earlier)
    }

    /// Returns the choice for a study's folder. A study that has not begun cannot be resumed.
    fn earlier_in(&self, folder: &Path) -> EarlierArguments {
        let EarlierArguments { resume, fresh } = self.earlier;
        EarlierArguments { resume: resume && folder.join(RESULTS).exists(), fresh }
    }
}

/// Runs of each network setting, as in the study: with fewer, most of its findings stay open.
const RUNS: u32 = 30;

fn print(
    done: &[Overview],
    sensitivity: &[Sensitivity],
    page: &Path,
    out: &mut dyn Write,
) -> io::Result<()> {
    let studies = done.iter().map(|study| (&*study.id, &*study.verdicts, study.seconds));
    writeln!(out, "{}", outcomes(studies))?;
    let mut findings = Table::new([
        Column::text("study"),
        Column::text("finding"),
        Column::text("outcome"),
        Column::text("holds in"),
    ]);
    for study in done {
        for verdict in &study.verdicts {
            let outcome = verdict.outcome.name();
            let share = verdict.share.to_string();
            findings.row([study.id.clone(), verdict.id.clone(), outcome.to_owned(), share]);
        }
    }
    let mut thresholds = Table::new([
        Column::text("threshold"),
        Column::number("value"),
        Column::number("moved at half"),
        Column::number("moved at twice"),
    ]);
    for Sensitivity { threshold, value, half, twice } in sensitivity {
        let moved = [half, twice].map(|moved| moved.len().to_string());
        thresholds.row([threshold.clone(), value.to_string()].into_iter().chain(moved));
    }
    writeln!(out, "{findings}\n{thresholds}\nWhy, with the figures: {}", page.display())
}
