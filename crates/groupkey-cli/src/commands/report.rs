//! `groupkey report`: one page from existing results, and its figures as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_lab::report::{Report, figures, render};
use groupkey_reproduce::printed;

use crate::failure::Failure;
use crate::output::{BesideFiles, remark};
use crate::results_folder::{ResultsFolder, results_path};
use crate::whole_file;

/// Arguments of `groupkey report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page is one HTML file: charts, tables, data and script are inside, and it opens from disk
without a network. Rows of several files share charts; what differs between rows of one scheme
divides panels, at last the file. Schemes have drawings of a real run: their messages and key trees.

Each figure can be saved in the page. --figures writes all of them without a browser: a panel is as
wide as a column of a paper (3.5 inches). The same rows give the same bytes.

Examples:
  groupkey net --scheme skdc,lkh-group --loss 0,5,10 --out measured
  groupkey report measured
  groupkey net --scheme oft --loss 0,5,10 --out another
  groupkey report measured another --figures figures
  groupkey audit --scheme oft --quick --json > findings.jsonl
  groupkey report another findings.jsonl --out all.html")]
pub(crate) struct ReportArguments {
    /// Results of net, bench, audit, choose, trace and reproduce: the folder that --out named, its
    /// results.jsonl, or a file of rows that --json printed.
    #[arg(value_name = "RESULTS", required = true, value_parser = results_path())]
    results: Vec<PathBuf>,

    /// File for the page.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,

    /// Also write each figure into this folder, as SVG.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Writes the page, and the figures.
pub(crate) fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let report = read(&arguments.results)?;
    let folder = arguments.figures.as_deref().map(figures_folder).transpose()?;
    let page = render(&report);
    whole_file::write(&arguments.out, page.as_bytes()).map_err(|error| {
        Failure::running(format!("cannot write {}: {error}", arguments.out.display()))
            .with_help("choose another file with --out")
    })?;
    let out = &mut BesideFiles::new(out, true);
    writeln!(out, "report:  {}", arguments.out.display())?;
    if let Some(folder) = folder {
        for figure in figures(&report) {
            let name = format!("{}.svg", figure.name);
            folder.write_whole(&name, figure.svg.as_bytes())?;
            writeln!(out, "figure:  {}: {}", folder.file(&name).display(), figure.title)?;
        }
    }
    Ok(())
}

fn read(paths: &[PathBuf]) -> Result<Report, Failure> {
    let mut report = Report { printed: printed(), ..Report::default() };
    for path in paths {
        let lacking = report.read(path).map_err(|error| {
            Failure::input(error.to_string()).with_help(
                "give what net, bench, audit, choose, trace or reproduce wrote with --out DIR, or \
                 printed with --json",
            )
        })?;
        if let Some(lacking) = lacking {
            remark(&format!("note: {} is {lacking}", path.display()));
        }
    }
    if report.sources.iter().all(|source| source.rows == 0) {
        return Err(Failure::input("there is nothing to show: no file has a row")
            .with_help("groupkey bench --resume goes on with what is unfinished"));
    }
    Ok(report)
}

fn figures_folder(path: &Path) -> Result<ResultsFolder, Failure> {
    ResultsFolder::create(path)
        .map_err(|failure| failure.with_help("choose another folder with --figures"))
}
