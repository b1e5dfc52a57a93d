//! `groupkey choose --evidence`: makes again what decisions rest on.

use std::fs;
use std::io::Write;
use std::path::Path;

use groupkey_choose::completion::Model;
use groupkey_choose::evidence::Evidence;
use groupkey_lab::choose::{
    EvidenceOptions, EvidenceRunError, FitOptions, fit_completion, make_devices, make_evidence,
    make_evidence_of, make_memories, make_radios,
};
use serde::Serialize;

use super::ChooseArguments;
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::progress::ProgressBar;
use crate::{interruption, whole_file};

/// Seed of the evidence that ships with the program.
pub(super) const SEED: u64 = 1;

/// The files, in the order in which they are written.
const FILES: [&str; 5] =
    ["counts.jsonl", "devices.jsonl", "radios.jsonl", "memory.jsonl", "completion.json"];

/// Counts all variants, prices the devices and fits the model, and writes all into a folder. If
/// schemes are named, they alone are counted, and the model stays as it is.
pub(super) fn run(
    folder: &Path,
    arguments: &ChooseArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // Ctrl-C is noticed from the start, before there is anything to leave behind.
    let out = &mut BesideFiles::new(out, true);
    interruption::requested();
    let schemes = &arguments.scheme;
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let files = if schemes.is_empty() { &FILES[..] } else { &FILES[..FILES.len() - 1] };
    for name in files {
        let path = folder.join(name);
        whole_file::try_write(&path).map_err(|error| unwritten(&path, &error))?;
    }
    let evidence = count(arguments)?;
    write(folder, "counts.jsonl", &evidence.to_text(), out)?;
    write(folder, "devices.jsonl", &lines(make_devices()), out)?;
    write(folder, "radios.jsonl", &lines(make_radios()), out)?;
    write(folder, "memory.jsonl", &lines(make_memories()), out)?;
    if !schemes.is_empty() {
        return Ok(());
    }
    let model = fit(arguments, &evidence)?;
    let model = serde_json::to_string(&model).expect("it is a tree");
    write(folder, "completion.json", &model, out)
}

fn count(arguments: &ChooseArguments) -> Result<Evidence, Failure> {
    let bar = ProgressBar::counting("groups counted");
    let options = EvidenceOptions {
        seed: SEED,
        is_quick: arguments.quick,
        threads: arguments.threads(),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    };
    let made = match &arguments.scheme[..] {
        [] => make_evidence(&options),
        schemes => make_evidence_of(schemes, &options),
    };
    drop(bar);
    made.map_err(|error| match error {
        EvidenceRunError::Interrupted => interrupted(),
        error @ EvidenceRunError::Incomplete { .. } => Failure::running(error.to_string()),
    })
}

fn fit(arguments: &ChooseArguments, evidence: &Evidence) -> Result<Model, Failure> {
    let bar = ProgressBar::counting("groups simulated");
    let options = FitOptions {
        seed: SEED,
        is_quick: arguments.quick,
        threads: arguments.threads(),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    };
    let fitted = fit_completion(evidence, &options);
    drop(bar);
    fitted.map_err(|error| Failure::running(error.to_string()))?.ok_or_else(interrupted)
}

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
