//! `groupkey report`: one page of results that are there already.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::audit::Finding;
use groupkey_lab::report::{Benchmark, render_benchmark};

use crate::failure::Failure;

/// Arguments of `groupkey report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page is one HTML file: charts, tables, data and script are inside, and it opens from disk without
a network. Schemes have drawings of a real run: their messages and key trees.

Examples:
  groupkey bench --scheme skdc,lkh-group --members 10,100,1000 --out measured
  groupkey report measured/results.jsonl
  groupkey audit --quick --json > findings.jsonl
  groupkey report measured/results.jsonl --audit findings.jsonl --out all.html")]
pub(crate) struct ReportArguments {
    /// Results of benchmarks and of network studies: the results.jsonl that --out left behind.
    #[arg(value_name = "RESULTS.jsonl", required = true)]
    results: Vec<PathBuf>,

    /// What `groupkey audit --json` printed: the page sets it beside what schemes claim.
    #[arg(long, value_name = "FINDINGS.jsonl")]
    audit: Option<PathBuf>,

    /// The page.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

/// Writes the page.
pub(crate) fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut benchmark = Benchmark::default();
    for path in &arguments.results {
        benchmark.read(path).map_err(|error| {
            Failure::input(error.to_string())
                .with_help("give the results.jsonl that groupkey wrote")
        })?;
    }
    if let Some(path) = &arguments.audit {
        benchmark.findings = findings(path)?;
    }
    let page = render_benchmark(&benchmark);
    fs::write(&arguments.out, page).map_err(|error| {
        Failure::running(format!("cannot write {}: {error}", arguments.out.display()))
            .with_help("choose another file with --out")
    })?;
    writeln!(out, "report:  {}", arguments.out.display())?;
    Ok(())
}

/// Reads findings, one a line.
fn findings(path: &Path) -> Result<Vec<Finding>, Failure> {
    let unreadable = |line: Option<usize>, problem: String| {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        Failure::input(format!("{}{line}: {problem}", path.display()))
            .with_help("groupkey audit --json prints such a file")
    };
    let file = File::open(path).map_err(|error| unreadable(None, error.to_string()))?;
    let mut findings = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| unreadable(Some(number + 1), error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let finding = serde_json::from_str(&line).map_err(|error| {
            unreadable(Some(number + 1), format!("not a finding of an audit: {error}"))
        })?;
        findings.push(finding);
    }
    Ok(findings)
}
