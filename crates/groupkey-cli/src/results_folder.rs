//! The folder that a campaign leaves behind, safe against interruption and overwriting.
//!
//! `results.jsonl` grows by a line as each row is done. `summary.csv` and `report.html`
//! are written whole at the end. A file that is written whole appears complete or not at all.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use groupkey_lab::campaign::remaining;
use groupkey_lab::plan::Plan;
use groupkey_lab::results::{self, FileHeader, NetworkRow, ResultsHeader};
use serde::Serialize;

use crate::failure::Failure;
use crate::whole_file;

/// Name of the results file.
pub(crate) const RESULTS: &str = "results.jsonl";
const SUMMARY: &str = "summary.csv";
const REPORT: &str = "report.html";

/// The paths of a campaign's files.
#[derive(Debug, Serialize)]
pub(crate) struct ResultsFiles {
    results: PathBuf,
    summary: PathBuf,
    pub(crate) report: PathBuf,
}

/// Parses the path of results: of the file, or of the folder that `--out` named.
pub(crate) fn results_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| if path.is_dir() { path.join(RESULTS) } else { path })
}

/// What to do with existing results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Replace complete results; unfinished results are an error.
    Keep,
    /// Replace all existing results.
    Replace,
    /// Continue where the results end.
    Resume,
}

/// The arguments that say what to do with existing results.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct EarlierArguments {
    /// Continue an interrupted run.
    #[arg(long)]
    pub(crate) resume: bool,

    /// Start again even if there are results, finished or not.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) fresh: bool,
}

/// Where rows go that are written when all of them are there.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OutArguments {
    /// Also write into this folder: results.jsonl (a header, then every row), summary.csv (the
    /// rows as columns), and report.html (charts; opens from disk).
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Replace the results that are in the folder.
    #[arg(long, requires = "out")]
    pub(crate) fresh: bool,
}

impl OutArguments {
    /// Makes the folder, if there is to be one. Refuses to replace results that nobody gave up.
    pub(crate) fn folder(&self) -> Result<Option<ResultsFolder>, Failure> {
        let Some(path) = &self.out else { return Ok(None) };
        let folder = ResultsFolder::create(path)?;
        folder.refuse_to_replace(if self.fresh { Earlier::Replace } else { Earlier::Keep })?;
        Ok(Some(folder))
    }
}

/// Returns the name of a run in its header: that of a file, without its path and extension.
pub(crate) fn run_name(file: &Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// A folder that can be written to.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    path: PathBuf,
}

/// A results file that grows.
#[derive(Debug)]
pub(crate) struct Growing {
    path: PathBuf,
    file: File,
}

impl EarlierArguments {
    pub(crate) const fn choice(self) -> Earlier {
        match (self.resume, self.fresh) {
            (true, _) => Earlier::Resume,
            (false, true) => Earlier::Replace,
            (false, false) => Earlier::Keep,
        }
    }
}

impl ResultsFolder {
    /// The names of the files that [`finish`](Self::finish) writes.
    pub(crate) const NAMES: [&str; 3] = [RESULTS, SUMMARY, REPORT];

    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let folder = Self { path: path.to_owned() };
        let trial = folder.path.join(".groupkey-can-write");
        fs::create_dir_all(path)
            .and_then(|()| fs::write(&trial, b""))
            .and_then(|()| fs::remove_file(&trial))
            .map_err(|error| {
                Failure::running(format!("cannot write into {}: {error}", path.display()))
                    .with_help("choose another folder with --out")
            })?;
        Ok(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Begins the results file, or continues it. Returns the rows that are already there.
    ///
    /// `plans` makes the campaign's plans from the number of runs and the seed.
    pub(crate) fn begin(
        &self,
        header: &ResultsHeader,
        earlier: Earlier,
        plans: impl Fn(u32, u64) -> Vec<Plan>,
    ) -> Result<(Vec<NetworkRow>, Growing), Failure> {
        let path = self.file(RESULTS);
        let mut rows = Vec::new();
        if earlier != Earlier::Replace && path.exists() {
            let (found, found_rows) = read(&path)?;
            let plans = plans(found.runs, found.seed);
            let remainder = remaining(&plans, &found_rows);
            if earlier == Earlier::Resume {
                refuse_another_campaign(&path, &found, header)?;
                rows = found_rows;
                rows.truncate(remainder.complete_rows);
            } else if !remainder.plans.is_empty() {
                return Err(unfinished(&path, plans.len() - remainder.plans.len(), plans.len()));
            } else {
                // The same campaign gives the same results, or a newer version's. Those of another
                // campaign stay.
                let commit = header.commit.clone();
                refuse_another_campaign(&path, &ResultsHeader { commit, ..found }, header)?;
            }
        }

        // An incomplete line at the end and the rows of an incomplete plan are gone after this.
        let mut whole = Vec::new();
        results::write_jsonl(&mut whole, header, &rows).expect("writing to memory");
        Ok((rows, self.grow(&whole)?))
    }

    pub(crate) fn grow(&self, begun_with: &[u8]) -> Result<Growing, Failure> {
        let path = self.write_whole(RESULTS, begun_with)?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|error| cannot_write(&path, &error))?;
        Ok(Growing { path, file })
    }

    /// Writes all files in their final form: the rows, the rows without their samples as columns,
    /// and the page.
    pub(crate) fn finish<H: FileHeader>(
        &self,
        header: &H,
        rows: &[H::Row],
        page: &str,
    ) -> Result<ResultsFiles, Failure> {
        let (mut whole, mut summary) = (Vec::new(), Vec::new());
        results::write_jsonl(&mut whole, header, rows).expect("writing to memory");
        results::write_csv(&mut summary, rows).expect("writing to memory");
        Ok(ResultsFiles {
            results: self.write_whole(RESULTS, &whole)?,
            summary: self.write_whole(SUMMARY, &summary)?,
            report: self.write_whole(REPORT, page.as_bytes())?,
        })
    }

    fn refuse_to_replace(&self, earlier: Earlier) -> Result<(), Failure> {
        let path = self.file(RESULTS);
        match earlier == Earlier::Replace || !path.exists() {
            true => Ok(()),
            false => Err(Failure::input(format!("{} has results", path.display()))
                .with_help("--fresh replaces them, --out takes another folder")),
        }
    }

    /// Writes a file that appears complete or not at all.
    pub(crate) fn write_whole(&self, name: &str, content: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.file(name);
        whole_file::write(&path, content).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }
}

impl Growing {
    pub(crate) fn add(&mut self, row: &impl Serialize) -> io::Result<()> {
        let mut line = Vec::new();
        results::write_line(&mut line, row)?;
        self.file.write_all(&line).map_err(|error| {
            let problem = format!("{}: {error}", self.path.display());
            io::Error::new(error.kind(), problem)
        })
    }
}

impl fmt::Display for ResultsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { results, summary, report } = self;
        writeln!(f, "report:  {}", report.display())?;
        writeln!(f, "results: {}", results.display())?;
        writeln!(f, "summary: {}", summary.display())
    }
}

fn read(path: &Path) -> Result<(ResultsHeader, Vec<NetworkRow>), Failure> {
    results::read_jsonl(path)
        .map_err(|error| Failure::input(error.to_string()).with_help("--fresh replaces the file"))
}

/// Refuses to replace finished measurements, which a repetition would not give back.
pub(crate) fn finished(path: &Path) -> Failure {
    Failure::input(format!("{} is finished, and measuring again would replace it", path.display()))
        .with_help("--resume shows it, --fresh measures again, --out takes another folder")
}

pub(crate) fn unfinished(path: &Path, done: usize, total: usize) -> Failure {
    Failure::input(format!("{} is unfinished: {done} of {total} settings", path.display()))
        .with_help("--resume continues it, --fresh starts again")
}

fn refuse_another_campaign(
    path: &Path,
    found: &ResultsHeader,
    wanted: &ResultsHeader,
) -> Result<(), Failure> {
    let (seed, runs) = (found.seed, found.runs);
    let reason = if (seed, runs) != (wanted.seed, wanted.runs) {
        format!("was begun with --seed {seed} --runs {runs}")
    } else if found.study != wanted.study {
        format!("belongs to another study, {}", found.study)
    } else if found.commit != wanted.commit {
        format!("was begun by another version of groupkey, {}", found.commit)
    } else {
        return Ok(());
    };
    Err(Failure::input(format!("{} {reason}", path.display()))
        .with_help("give the same, choose another --out, or replace it with --fresh"))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::running(format!("cannot write {}: {error}", path.display()))
}
