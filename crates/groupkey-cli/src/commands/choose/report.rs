//! `groupkey choose --out`: a page, the decision and its rows in a folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use groupkey_choose::requirements::to_toml;
use groupkey_choose::{Decision, Requirements};
use groupkey_lab::choose::ChoiceRow;
use groupkey_lab::choose::winner_maps::{MapKind, Winner, map};
use groupkey_lab::report::{Choice, render_choice};
use groupkey_lab::results::RunHeader;

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::progress::ProgressBar;
use crate::results_folder::ResultsFolder;
use crate::{provenance, whole_file};

/// Cells of both maps, more or less.
const CELLS: usize = 300;

/// Makes the folder, and checks that the files can be written: a wrong name should not cost the
/// work.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    let folder = ResultsFolder::create(folder)?;
    let names = [REQUIREMENTS, DECISION].into_iter().chain(ResultsFolder::NAMES);
    names.map(|name| folder.file(name)).try_for_each(|path| {
        whole_file::try_write(&path).map_err(|error| {
            Failure::running(format!("cannot write {}: {error}", path.display()))
                .with_help("choose another folder with --out")
        })
    })
}

/// Writes the page, the decision with its rows, and the requirements into a [prepared](prepare)
/// folder. `name` is that of the requirements. Returns the page.
pub(super) fn write(
    decision: &Decision,
    requirements: &Requirements,
    name: &str,
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
    let folder = ResultsFolder::create(folder)?;
    folder.write_whole(REQUIREMENTS, to_toml(requirements).as_bytes())?;
    folder.write_whole(DECISION, json.as_bytes())?;
    let name = if name.is_empty() { "choice" } else { name };
    let (commit, machine) = (provenance::COMMIT, provenance::machine());
    let header = RunHeader::new(name, 0, commit, machine, vec![ASSUMPTION.to_owned()]);
    let rows = ChoiceRow::of(decision);
    Ok(folder.finish(&header, &rows, &page)?.report)
}

const REQUIREMENTS: &str = "requirements.toml";
const DECISION: &str = "decision.json";
const ASSUMPTION: &str =
    "Each figure says on what it rests; requirements.toml beside the rows has the requirements.";
