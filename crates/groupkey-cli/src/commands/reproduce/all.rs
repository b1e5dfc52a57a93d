//! `groupkey reproduce all`: every study, and one table and page about all of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::report::{Overview, overview};
use groupkey_lab::verdict::Verdict;
use groupkey_reproduce::expectations::{ClaimEntry, claims_page, differences, expected};
use groupkey_reproduce::studies;
use serde::Serialize;

use super::network_impact::{self, NetworkImpactArguments};
use super::printing::outcomes;
use super::study::{self, StudyArguments};
use crate::failure::Failure;
use crate::number;
use crate::results_folder::{EarlierArguments, RESULTS, ResultsFolder};
use crate::table::{Column, Table};

/// Arguments of `groupkey reproduce all`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each study has a folder of its own inside, as if it were run alone. overview.html covers all of
them; claims.md and claims.json have each finding with the command that decides it. The exit code
is 0 if everything ran, whatever the findings.

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

    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// Runs all studies.
pub(super) fn run(arguments: &AllArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let folder = ResultsFolder::create(&arguments.out)?;
    let mut done = Vec::new();
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
    }
    let found = network_impact::reproduce(&arguments.of_network_impact())?;
    done.push(Overview {
        id: NETWORK_IMPACT.to_owned(),
        title: groupkey_reproduce::network_impact::TITLE.to_owned(),
        report: format!("{NETWORK_IMPACT}/report.html"),
        verdicts: found.study.verdicts,
        seconds: found.seconds,
    });
    let page = folder.write_whole("overview.html", overview(&done).as_bytes())?;
    let claims = claims(&done, arguments);
    let json = serde_json::to_vec_pretty(&claims).expect("it is plain data");
    folder.write_whole("claims.json", &json)?;
    folder.write_whole("claims.md", claims_page(&claims).as_bytes())?;
    if arguments.json {
        let studies: Vec<_> = done.iter().map(StudyRow::new).collect();
        let object = serde_json::json!({ "studies": studies, "overview": page });
        writeln!(out, "{object}")?;
        return Ok(());
    }
    print(&done, &page, out)?;
    if arguments.is_expected() {
        let expected = expected();
        let differences = differences(&claims, &expected);
        let same = claims.len() - differences.len();
        writeln!(out, "{same} of {} outcomes are as expected", claims.len())?;
        for difference in differences {
            writeln!(out, "  {difference}")?;
        }
    }
    Ok(())
}

/// Lists the claims, each with the command that decides it.
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
    /// Returns whether these are the arguments whose outcomes are recorded.
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

fn print(done: &[Overview], page: &Path, out: &mut dyn Write) -> io::Result<()> {
    let studies = done.iter().map(|study| (&*study.id, &*study.verdicts, study.seconds));
    writeln!(out, "{}", outcomes(studies))?;
    let mut findings =
        Table::new([Column::text("study"), Column::text("finding"), Column::text("outcome")]);
    for study in done {
        for verdict in &study.verdicts {
            let outcome = verdict.outcome.name();
            findings.row([study.id.clone(), verdict.id.clone(), outcome.to_owned()]);
        }
    }
    writeln!(out, "{findings}\nWhy, with the figures: {}", page.display())
}
