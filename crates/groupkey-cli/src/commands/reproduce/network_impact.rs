//! `groupkey reproduce network-impact`: the campaign, its files, and the output at the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use groupkey::Suite;
use groupkey_choose::number::figure;
use groupkey_lab::campaign::{CampaignOutcome, remaining};
use groupkey_lab::plan::Plan;
use groupkey_lab::report::{PublishedValue, Report, Reproduction, render};
use groupkey_lab::results::{self, FileHeader, NetworkRow, ResultsHeader};
use groupkey_lab::verdict::Verdict;
use groupkey_reproduce::expectations::ClaimEntry;
use groupkey_reproduce::network_impact;
use groupkey_sim::group::Rest;
use serde::Serialize;

use crate::campaign;
use crate::commands::reproduce::printing::{from_before, print_verdicts, quoted};
use crate::commands::reproduce::recorded::{OutcomeComparison, RecordedArguments};
use crate::failure::Failure;
use crate::results_folder::{EarlierArguments, RESULTS, ResultsFiles, ResultsFolder};
use crate::table::{Column, Table};
use crate::{number, provenance};

/// Arguments of `groupkey reproduce network-impact`.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes into the folder: results.jsonl (every row with every run), summary.csv (the rows without the
runs) and report.html (findings, charts; opens from disk). Settings are run
up to eight times as often where a finding depends on it. Ctrl-C keeps what is done; --resume
continues, and the files are then the same, byte for byte, as those without a break. The exit code
is 1 if an outcome is not as recorded.

Examples:
  groupkey reproduce network-impact
  groupkey reproduce network-impact --runs 5 --out quick
  groupkey reproduce network-impact --resume")]
pub(crate) struct NetworkImpactArguments {
    /// Runs of each setting; the study had 30. Settings that leave a finding open get more.
    #[arg(
        long,
        value_name = "R",
        default_value = "30",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=100_000),
    )]
    runs: u32,

    /// Seed of the randomness.
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    out: PathBuf,

    /// Threads to run on; the results do not depend on their number [default: as many as
    /// there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    #[command(flatten)]
    earlier: EarlierArguments,

    #[command(flatten)]
    recorded: RecordedArguments,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// Runs the campaign and compares our values with the published ones.
pub(super) fn run(arguments: &NetworkImpactArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let expected = arguments.recorded.expected(arguments.is_of_record())?;
    let done = reproduce(arguments)?;
    let CampaignResults { study, files, seconds, .. } = &done;
    let verdicts = &study.verdicts;
    let claims = ClaimEntry::of_study("network-impact", verdicts, *seconds, &arguments.command());
    let comparison = OutcomeComparison::of(&claims, expected.as_deref());
    if arguments.json {
        let published = &study.published_times;
        let told = NetworkReproduction { published, verdicts, files, seconds: *seconds };
        writeln!(out, "{}", serde_json::to_string(&told).expect("it is plain data"))?;
    } else {
        print(&done, out)?;
        if let Some(comparison) = &comparison {
            comparison.print(out)?;
        }
    }
    comparison.map_or(Ok(()), |comparison| comparison.check())
}

pub(super) fn reproduce(arguments: &NetworkImpactArguments) -> Result<CampaignResults, Failure> {
    let started = Instant::now();
    let plans = network_impact::plans(arguments.runs, arguments.seed);
    let folder = ResultsFolder::create(&arguments.out)?;
    let header = header(arguments);
    let (mut rows, mut growing) =
        folder.begin(&header, arguments.earlier.choice(), network_impact::plans)?;
    let earlier_rows = rows.len();

    let outcome = campaign::run(remaining(&plans, &rows).plans, arguments.threads, |row| {
        rows.push(row.clone());
        growing.add(row)
    })?;
    if let CampaignOutcome::Interrupted { done, total } = outcome {
        let done = plans.len() - total + done;
        return Err(Failure::interrupted(format!(
            "{done} of {} settings are done and kept in {}",
            plans.len(),
            folder.file(RESULTS).display()
        ))
        .with_help(format!("continue with: {} --resume", arguments.command())));
    }
    run_until_decided(arguments, &folder, &header, &plans, &mut rows)?;

    let study = reproduction(&header, &rows, arguments);
    let mut report = Report { reproduction: Some(study.clone()), ..Report::default() };
    report.add_network(header.clone(), rows.clone());
    let files = folder.finish(&header, &rows, &render(&report))?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(CampaignResults { study, header, rows, files, earlier_rows, seconds })
}

/// Runs settings more often where a finding depends on it, and keeps the results of each round.
fn run_until_decided(
    arguments: &NetworkImpactArguments,
    folder: &ResultsFolder,
    header: &ResultsHeader,
    plans: &[Plan],
    rows: &mut [NetworkRow],
) -> Result<(), Failure> {
    loop {
        let more = network_impact::more_runs(plans, rows, header.runs);
        if more.is_empty() {
            return Ok(());
        }
        if let CampaignOutcome::Interrupted { .. } =
            campaign::extend(&more, arguments.threads, rows)?
        {
            return Err(Failure::interrupted(format!(
                "all settings are done and kept in {}; {} of them take more runs to decide a finding",
                folder.file(RESULTS).display(),
                more.len(),
            ))
            .with_help(format!("continue with: {} --resume", arguments.command())));
        }
        let mut whole = Vec::new();
        results::write_jsonl(&mut whole, header, rows).expect("writing to memory");
        folder.write_whole(RESULTS, &whole)?;
    }
}

/// The folder for the results without `--out`.
const DEFAULT_FOLDER: &str = "groupkey-results/network-impact";

/// The object that `--json` prints.
#[derive(Serialize)]
struct NetworkReproduction<'a> {
    published: &'a [PublishedValue],
    verdicts: &'a [Verdict],
    files: &'a ResultsFiles,
    seconds: f64,
}

pub(super) struct CampaignResults {
    pub(super) study: Reproduction,
    pub(super) header: ResultsHeader,
    pub(super) rows: Vec<NetworkRow>,
    files: ResultsFiles,
    earlier_rows: usize,
    pub(super) seconds: f64,
}

impl NetworkImpactArguments {
    pub(super) const fn of_all(
        runs: u32,
        seed: u64,
        out: PathBuf,
        earlier: EarlierArguments,
    ) -> Self {
        let recorded = RecordedArguments { against: None };
        Self { runs, seed, out, threads: None, earlier, recorded, json: false }
    }

    fn is_of_record(&self) -> bool {
        self.runs == 30 && self.seed == 1
    }

    fn command(&self) -> String {
        let Self { runs, seed, .. } = self;
        let mut command = format!("groupkey reproduce network-impact --runs {runs} --seed {seed}");
        if self.out != Path::new(DEFAULT_FOLDER) {
            command += &format!(" --out {}", quoted(&self.out.display().to_string()));
        }
        command
    }
}

fn header(arguments: &NetworkImpactArguments) -> ResultsHeader {
    ResultsHeader {
        format: ResultsHeader::FORMAT.to_owned(),
        version: ResultsHeader::VERSION,
        study: "network-impact".to_owned(),
        seed: arguments.seed,
        runs: arguments.runs,
        commit: provenance::COMMIT.to_owned(),
        machine: provenance::machine(),
        suite: Suite::Published.name().to_owned(),
        assumptions: network_impact::assumptions(),
    }
}

fn reproduction(
    header: &ResultsHeader,
    rows: &[NetworkRow],
    arguments: &NetworkImpactArguments,
) -> Reproduction {
    Reproduction {
        title: network_impact::TITLE.to_owned(),
        source: network_impact::SOURCE.to_owned(),
        published: Vec::new(),
        published_times: network_impact::compare(rows),
        verdicts: network_impact::verdicts(rows, header.runs),
        calibration: network_impact::calibration(),
        method: network_impact::method(),
        command: arguments.command(),
        replay: replay(),
    }
}

/// Returns the command that runs one row again.
fn replay() -> String {
    let plans = network_impact::plans(1, 1);
    // All plans of the study agree in the settings that are not in a row.
    let Plan { profile, suite, protection, request_bytes, device, controller_device, rest, .. } =
        &plans[0];
    let rest = match rest {
        Rest::Idle(time) => format!(" --rest {}", time.as_nanos() / 1_000_000_000),
        Rest::Settled => String::new(),
    };
    let request = request_bytes.map_or_else(String::new, |bytes| format!(" --request {bytes}"));
    format!(
        "groupkey net --scheme {{scheme}} --operation {{operation}} --members {{members}} \
         --loss {{loss}} --delay {{delay}} --qos {{qos}} --runs {{runs}} --seed {{seed}} \
         --profile {} --suite {} --protection {} --device {} --controller-device {}{request}{rest}",
        profile.name(),
        suite.name(),
        protection.name(),
        device.name,
        controller_device.name,
    )
}

fn print(done: &CampaignResults, out: &mut dyn Write) -> io::Result<()> {
    let CampaignResults { study, header, rows, files, earlier_rows, seconds } = done;
    let mut table = Table::new([
        Column::text("published value"),
        Column::number("published"),
        Column::number("ours"),
        Column::text("unit"),
        Column::number("ours / published"),
    ]);
    for value in &study.published_times {
        table.row([
            value.key.clone(),
            figure(value.published),
            figure(value.ours),
            value.unit.clone(),
            format!("{:.2}", value.ours / value.published),
        ]);
    }
    writeln!(out, "{table}")?;

    print_verdicts(&study.verdicts, out)?;
    writeln!(
        out,
        "{} rows of {} runs or more{} in {seconds:.1} s",
        rows.len(),
        header.runs,
        from_before(*earlier_rows, rows.len()),
    )?;
    write!(out, "{files}")
}
