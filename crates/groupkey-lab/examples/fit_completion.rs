//! Makes `devices.jsonl` and `completion.json` in a folder that has `counts.jsonl`:
//! `fit_completion FOLDER [quick]`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use groupkey_choose::evidence::Evidence;
use groupkey_lab::choose::{FitOptions, Observation, fit, latencies, make_devices, observe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("name a folder")?.into();
    let is_quick = std::env::args_os().nth(2).is_some();
    let mut devices = String::new();
    for device in make_devices() {
        devices += &serde_json::to_string(&device)?;
        devices.push('\n');
    }
    std::fs::write(folder.join("devices.jsonl"), devices)?;
    let evidence = Evidence::parse(&std::fs::read_to_string(folder.join("counts.jsonl"))?)?;
    let on_progress = |done: usize, total: usize| {
        if done % 15 == 0 {
            eprintln!("{done} of {total} groups");
        }
    };
    let stop = AtomicBool::new(false);
    let options =
        FitOptions { seed: 1, is_quick, threads: 1, stop: &stop, on_progress: &on_progress };
    let latencies = latencies(&options);
    let Some(observations) = observe(&evidence, &latencies, &options)? else { return Ok(()) };
    for Observation { kind, what, terms, mean, of_99, .. } in &observations {
        println!("{kind}\t{mean}\t{of_99}\t{:?}\t{}\t{what}", terms.values, terms.spread);
    }
    let model = fit(latencies, &observations);
    for (kind, fit) in &model.fits {
        eprintln!("{kind}: {fit:?}");
    }
    std::fs::write(folder.join("completion.json"), serde_json::to_string(&model)?)?;
    Ok(())
}
