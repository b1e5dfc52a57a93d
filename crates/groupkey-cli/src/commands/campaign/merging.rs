//! The rows of all cells in one file for each command.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use groupkey_lab::audit::Finding;
use groupkey_lab::bench::trace::ReplayRow;
use groupkey_lab::choose::PolicyRow;
use groupkey_lab::results::{
    self, FileHeader, ResultsHeader, ResultsKind, RunHeader, write_csv, write_parquet,
};

use super::each_once;
use super::folder::CellFolder;
use super::spec::Spec;
use crate::failure::Failure;
use crate::output::BesideFiles;

/// Merges the cells, in their order, and names the files.
pub(crate) fn merge(
    spec: &Spec,
    folder: &CellFolder,
    partial: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let cells = each_once(spec, 0..spec.len())?;
    let mut merged: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut missing = 0;
    for (place, address) in &cells {
        if !folder.has(address) {
            missing += 1;
            continue;
        }
        let name = spec.cell(*place).command.replace(' ', "-");
        let rows = merged.entry(name).or_default();
        append(rows, &folder.printed(address)?);
    }
    if missing > 0 && !partial {
        let problem = format!("{missing} of {} cells are not finished", cells.len());
        return Err(
            Failure::running(problem).with_help("run them, or merge what is there with --partial")
        );
    }
    let out = &mut BesideFiles::new(out, true);
    for (name, rows) in merged {
        let path = folder.write_merged(&format!("{name}.jsonl"), &rows)?;
        writeln!(out, "rows:    {}", path.display())?;
        if let Some([csv, parquet]) = columns(folder, &name, &path)? {
            writeln!(out, "columns: {} and {}", csv.display(), parquet.display())?;
        }
    }
    if missing > 0 {
        writeln!(out, "{missing} of {} cells are missing", cells.len())?;
    }
    Ok(())
}

/// Appends what a cell printed. An object that was printed on several lines becomes one of one line.
fn append(rows: &mut Vec<u8>, printed: &[u8]) {
    let mut lines = printed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).peekable();
    let is_spread = lines.peek() == Some(&&b"{"[..]);
    for line in lines {
        // In JSON, no text has an end of line.
        rows.extend_from_slice(if is_spread { line.trim_ascii_start() } else { line });
        if !is_spread || line == b"}" {
            rows.push(b'\n');
        }
    }
}

/// Writes rows as columns, if they are rows of results.
fn columns(folder: &CellFolder, name: &str, rows: &Path) -> Result<Option<[PathBuf; 2]>, Failure> {
    let tables = match ResultsKind::of(rows) {
        Ok(ResultsKind::Audit) => tables::<RunHeader<Finding>>(rows),
        Ok(ResultsKind::Network) => tables::<ResultsHeader>(rows),
        Ok(ResultsKind::Policy) => tables::<RunHeader<PolicyRow>>(rows),
        Ok(ResultsKind::Trace) => tables::<RunHeader<ReplayRow>>(rows),
        // No cell prints rows of another kind.
        Ok(_) | Err(_) => return Ok(None),
    };
    let Some([csv, parquet]) = tables? else { return Ok(None) };
    let csv = folder.write_merged(&format!("{name}.csv"), &csv)?;
    let parquet = folder.write_merged(&format!("{name}.parquet"), &parquet)?;
    Ok(Some([csv, parquet]))
}

/// Returns rows as CSV and as Parquet. `None` if cells printed rows of several kinds.
fn tables<H: FileHeader>(path: &Path) -> Result<Option<[Vec<u8>; 2]>, Failure> {
    let Ok((_, rows)) = results::read_jsonl::<H>(path) else { return Ok(None) };
    let (mut csv, mut parquet) = (Vec::new(), Vec::new());
    let written = write_csv(&mut csv, &rows)
        .and_then(|()| write_parquet(&mut parquet, &rows).map_err(io::Error::other));
    written.map_err(|error| Failure::running(format!("the rows are no table: {error}")))?;
    Ok(Some([csv, parquet]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_on_several_lines_becomes_one_line() {
        let mut rows = Vec::new();
        append(&mut rows, b"{\"a\":1}\n{\"a\":2}\n");
        append(&mut rows, b"{\n  \"b\": [\n    \"x  y\"\n  ]\n}\n");
        append(&mut rows, b"");
        assert_eq!(rows, b"{\"a\":1}\n{\"a\":2}\n{\"b\": [\"x  y\"]}\n");
    }
}
