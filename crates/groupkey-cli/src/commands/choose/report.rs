//! `groupkey choose --report`: pages in a folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use groupkey_choose::requirements::to_toml;
use groupkey_choose::{Decision, Requirements};
use groupkey_lab::choose::winner_maps::{MapKind, Winner, map};
use groupkey_lab::report::{Choice, render_choice};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::progress::ProgressBar;
use crate::{provenance, whole_file};

/// Cells of both maps, more or less.
const CELLS: usize = 300;

/// Makes the folder, and checks that the files can be written: a wrong name should not cost the
/// work.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| refused(folder, &error))?;
    FILES
        .into_iter()
        .map(|name| folder.join(name))
        .try_for_each(|path| whole_file::try_write(&path).map_err(|error| refused(&path, &error)))
}

/// Writes the page, the decision and the requirements into a [prepared](prepare) folder. Returns the page.
pub(super) fn write(
    decision: &Decision,
    requirements: &Requirements,
    folder: &Path,
    decide: &(dyn Fn(&Requirements) -> Option<Winner> + Sync),
) -> Result<PathBuf, Failure> {
    let (bar, done) = (ProgressBar::counting("cells of maps"), AtomicUsize::new(0));
    let counted = |requirements: &Requirements| {
        let winner = decide(requirements);
        bar.advance(done.fetch_add(1, Ordering::Relaxed) + 1, CELLS);
        winner
    };
    let maps = MapKind::ALL.map(|kind| map(kind, requirements, all_cores(), &counted));
    drop(bar);
    let page =
        render_choice(&Choice { requirements, decision, maps: &maps, commit: provenance::COMMIT });
    let json = serde_json::to_string_pretty(decision).expect("it is a tree") + "\n";
    for (name, content) in FILES.into_iter().zip([to_toml(requirements), json, page]) {
        let path = folder.join(name);
        whole_file::write(&path, content.as_bytes()).map_err(|error| refused(&path, &error))?;
    }
    Ok(folder.join(PAGE))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::running(format!("cannot write {}: {error}", path.display()))
        .with_help("choose another folder with --report")
}

const FILES: [&str; 3] = ["requirements.toml", "decision.json", PAGE];
const PAGE: &str = "index.html";
