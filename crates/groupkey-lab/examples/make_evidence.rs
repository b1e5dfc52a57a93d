//! Counts all variants and writes `counts.jsonl` into a folder: `make_evidence FOLDER [quick]`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use groupkey_lab::choose::{EvidenceOptions, make_evidence};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("name a folder")?.into();
    let is_quick = std::env::args_os().nth(2).is_some();
    let on_progress = |done: usize, total: usize| {
        if done % 50 == 0 || done == total {
            eprintln!("{done} of {total} groups");
        }
    };
    let stop = AtomicBool::new(false);
    let options =
        EvidenceOptions { seed: 1, is_quick, threads: 1, stop: &stop, on_progress: &on_progress };
    std::fs::write(folder.join("counts.jsonl"), make_evidence(&options)?.to_text())?;
    Ok(())
}
