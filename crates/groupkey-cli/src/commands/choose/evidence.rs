//! `groupkey choose --evidence`: makes again what decisions rest on.

use std::fs;
use std::io::Write;
use std::path::Path;

use groupkey_lab::choose::{
    EvidenceOptions, EvidenceRunError, FitOptions, fit_completion, make_devices, make_evidence,
    make_memories, make_radios,
};

use serde::Serialize;

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::progress::ProgressBar;
use crate::{interruption, whole_file};

/// Seed of the evidence that ships with the program.
pub(super) const SEED: u64 = 1;

/// The files, in the order in which they are written.
const FILES: [&str; 5] =
    ["counts.jsonl", "devices.jsonl", "radios.jsonl", "memory.jsonl", "completion.json"];

/// Counts all variants, prices the devices and fits the model, and writes all into a folder.
pub(super) fn run(folder: &Path, is_quick: bool, out: &mut dyn Write) -> Result<(), Failure> {
    // Ctrl-C is noticed from the start, before there is anything to leave behind.
    let out = &mut BesideFiles::new(out, true);
    let (stop, threads) = (interruption::requested(), all_cores());
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    for name in FILES {
        let path = folder.join(name);
        whole_file::try_write(&path).map_err(|error| unwritten(&path, &error))?;
    }
    let bar = ProgressBar::counting("groups counted");
    let evidence = make_evidence(&EvidenceOptions {
        seed: SEED,
        is_quick,
        threads,
        stop,
        on_progress: &|done, total| bar.advance(done, total),
    });
    drop(bar);
    let evidence = evidence.map_err(|error| match error {
        EvidenceRunError::Interrupted => interrupted(),
        error @ EvidenceRunError::Incomplete { .. } => Failure::running(error.to_string()),
    })?;
    write(folder, "counts.jsonl", &evidence.to_text(), out)?;
    write(folder, "devices.jsonl", &lines(make_devices()), out)?;
    write(folder, "radios.jsonl", &lines(make_radios()), out)?;
    write(folder, "memory.jsonl", &lines(make_memories()), out)?;

    let bar = ProgressBar::counting("groups simulated");
    let on_progress: &(dyn Fn(usize, usize) + Sync) = &|done, total| bar.advance(done, total);
    let model =
        fit_completion(&evidence, &FitOptions { seed: SEED, is_quick, threads, stop, on_progress });
    drop(bar);
    let model = model.map_err(|error| Failure::running(error.to_string()))?;
    let model = model.ok_or_else(interrupted)?;
    let model = serde_json::to_string(&model).expect("it is a tree");
    write(folder, "completion.json", &model, out)
}

/// Writes a line of JSON for each.
fn lines<T: Serialize>(all: Vec<T>) -> String {
    all.iter().map(|one| serde_json::to_string(one).expect("it is a tree") + "\n").collect()
}

fn write(folder: &Path, name: &str, text: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let path = folder.join(name);
    whole_file::write(&path, text.as_bytes()).map_err(|error| unwritten(&path, &error))?;
    writeln!(out, "written:  {}", path.display())?;
    Ok(())
}

fn interrupted() -> Failure {
    Failure::interrupted("the evidence is incomplete; start again")
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::running(format!("cannot write {}: {error}", path.display()))
        .with_help("choose another folder with --evidence")
}
