//! The folder that a benchmark leaves behind: `results.jsonl`, which grows, `summary.csv`
//! and `report.html`.

use std::path::{Path, PathBuf};

use groupkey_lab::bench::{self, BenchHeader, BenchRow, Unit, remaining};
use groupkey_lab::report::{Report, render};

use crate::failure::Failure;
use crate::results_folder::{Earlier, Growing, RESULTS, ResultsFolder, finished, unfinished};

#[derive(Debug)]
pub(crate) struct BenchFolder(ResultsFolder);

#[derive(Debug)]
pub(crate) struct ExistingResults {
    /// The header as it was begun, with the prices in which rows are counted.
    pub(crate) header: BenchHeader,
    /// The rows of units that are done.
    pub(crate) rows: Vec<BenchRow>,
    /// How many units these are.
    pub(crate) units_done: usize,
}

impl BenchFolder {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        ResultsFolder::create(path).map(Self)
    }

    /// Returns the existing results, if they are to be continued. Results, finished or not, are not
    /// overwritten unless they are to be replaced.
    pub(crate) fn earlier(
        &self,
        header: &BenchHeader,
        earlier: Earlier,
        units: &[Unit<'_>],
    ) -> Result<Option<ExistingResults>, Failure> {
        let path = self.0.file(RESULTS);
        if earlier == Earlier::Replace || !path.exists() {
            return Ok(None);
        }
        let (found, mut rows) = bench::read_jsonl::<BenchHeader>(&path).map_err(|error| {
            Failure::input(error.to_string()).with_help("--fresh replaces the file")
        })?;
        // Rows do not show all arguments, but the header does.
        let is_ours = found.plans == header.plans;
        let Some((kept, units_done)) = remaining(units, &rows).filter(|_| is_ours) else {
            return Err(another(&path, "was begun with other arguments"));
        };
        let is_finished = found.rows == Some(rows.len());
        if earlier == Earlier::Keep {
            return Err(match is_finished {
                true => finished(&path),
                false => unfinished(&path, units_done, units.len()),
            });
        }
        if found.commit != header.commit {
            let begun = format!("was begun by another version of groupkey, {}", found.commit);
            return Err(another(&path, &begun));
        }
        if found.machine != header.machine {
            return Err(another(
                &path,
                &format!("was begun on another machine, {}", found.machine),
            ));
        }
        let (kept, units_done) = match is_finished {
            true => (rows.len(), units.len()),
            false => (kept, units_done),
        };
        rows.truncate(kept);
        Ok(Some(ExistingResults { header: BenchHeader { rows: None, ..found }, rows, units_done }))
    }

    pub(crate) fn begin(
        &self,
        header: &BenchHeader,
        rows: &[BenchRow],
    ) -> Result<Growing, Failure> {
        self.0.grow(&jsonl(header, rows))
    }

    /// Writes all files again in their final form, and the page. Returns the path of the page.
    pub(crate) fn finish(
        &self,
        header: &BenchHeader,
        rows: &[BenchRow],
        report: &Report,
    ) -> Result<PathBuf, Failure> {
        Ok(self.0.finish(header, rows, &render(report))?.report)
    }
}

fn jsonl(header: &BenchHeader, rows: &[BenchRow]) -> Vec<u8> {
    let mut whole = Vec::new();
    bench::write_jsonl(&mut whole, header, rows).expect("writing to memory");
    whole
}

fn another(path: &Path, reason: &str) -> Failure {
    Failure::input(format!("{} {reason}", path.display()))
        .with_help("resume with the same, choose another --out, or start again with --fresh")
}
