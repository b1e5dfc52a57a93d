//! `groupkey report`: one page from existing results.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use groupkey_lab::audit::recorded;
use groupkey_lab::report::{Report, render};
use groupkey_reproduce::printed;

use crate::failure::Failure;
use crate::output::remark;
use crate::results_folder::results_path;
use crate::whole_file;

/// Arguments of `groupkey report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page is one HTML file: charts, tables, data and script are inside, and it opens from disk
without a network. Schemes have drawings of a real run: their messages and key trees.

Examples:
  groupkey bench --scheme skdc,lkh-group --members 10,100,1000 --out measured
  groupkey report measured
  groupkey audit --quick --json > findings.jsonl
  groupkey report measured/results.jsonl --audit findings.jsonl --out all.html")]
pub(crate) struct ReportArguments {
    /// Results of benchmarks and of network studies: the results.jsonl that --out left behind,
    /// or its folder.
    #[arg(value_name = "RESULTS", required = true, value_parser = results_path())]
    results: Vec<PathBuf>,

    /// Output of `groupkey audit --json`, to show beside the claims instead of the recorded audit.
    #[arg(long, value_name = "FINDINGS.jsonl")]
    audit: Option<PathBuf>,

    /// File for the page.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

/// Writes the page.
pub(crate) fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut report = Report { printed: printed(), ..Report::default() };
    for path in &arguments.results {
        let lacking = report.read(path).map_err(|error| {
            Failure::input(error.to_string())
                .with_help("give the results.jsonl that groupkey wrote")
        })?;
        if let Some(lacking) = lacking {
            remark(&format!("note: {} is {lacking}", path.display()));
        }
    }
    if report.sources.iter().all(|source| source.rows == 0) {
        return Err(Failure::input("there is nothing to show: no file has a row")
            .with_help("groupkey bench --resume goes on with what is unfinished"));
    }
    if let Some(path) = &arguments.audit {
        let findings = recorded::read(path).map_err(|error| {
            Failure::input(error.to_string()).with_help("groupkey audit --json prints such a file")
        })?;
        report.findings = Some(findings);
    }
    let page = render(&report);
    whole_file::write(&arguments.out, page.as_bytes()).map_err(|error| {
        Failure::running(format!("cannot write {}: {error}", arguments.out.display()))
            .with_help("choose another file with --out")
    })?;
    writeln!(out, "report:  {}", arguments.out.display())?;
    Ok(())
}
