//! `groupkey choose --evidence`: makes again what decisions rest on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use groupkey_choose::evidence::Evidence;
use groupkey_lab::choose::{
    EvidenceOptions, EvidenceRunError, FitOptions, GroupTimes, counted_schemes, fit_completion,
    fit_simulated, fitted_groups, make_devices, make_evidence, make_evidence_of,
    make_evidence_part, make_memories, make_radios, simulate_groups,
};
use groupkey_lab::part::WorkPart;
use groupkey_sim::group::GroupError;
use serde::Serialize;

use super::ChooseArguments;
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::progress::ProgressBar;
use crate::{interruption, whole_file};

/// What a part of the evidence is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvidenceKind {
    /// What each scheme's variants compute, keep and send.
    Counts,
    /// How long the changes of the groups take to which the model is fitted.
    Times,
}

/// Seed of the evidence that ships with the program.
pub(super) const SEED: u64 = 1;

/// The files, in the order in which they are written.
const FILES: [&str; 5] =
    ["counts.jsonl", "devices.jsonl", "radios.jsonl", "memory.jsonl", "completion.json"];

/// Counts all variants, prices the devices and fits the model, and writes all into a folder. If
/// schemes are named, they alone are counted, and the model stays as it is. What parts printed is not
/// done again.
pub(super) fn run(
    folder: &Path,
    arguments: &ChooseArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // Ctrl-C is noticed from the start, before there is anything to leave behind.
    let out = &mut BesideFiles::new(out, true);
    interruption::requested();
    let ChooseArguments { scheme: schemes, from, quick, .. } = arguments;
    let given = GivenParts::read(from, *quick)?;
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let files = if schemes.is_empty() { &FILES[..] } else { &FILES[..FILES.len() - 1] };
    for name in files {
        let path = folder.join(name);
        whole_file::try_write(&path).map_err(|error| unwritten(&path, &error))?;
    }
    let evidence = match given.counts {
        Some(evidence) => evidence,
        None => count(arguments, |options| match &schemes[..] {
            [] => make_evidence(options),
            schemes => make_evidence_of(schemes, options),
        })?,
    };
    write(folder, "counts.jsonl", &evidence.to_text(), out)?;
    write(folder, "devices.jsonl", &lines(make_devices()), out)?;
    write(folder, "radios.jsonl", &lines(make_radios()), out)?;
    write(folder, "memory.jsonl", &lines(make_memories()), out)?;
    if !schemes.is_empty() {
        return Ok(());
    }
    let model = simulate(arguments, |options| match &given.times {
        Some(times) => Ok(Some(fit_simulated(&evidence, times, options))),
        None => fit_completion(&evidence, options),
    })?;
    let model = serde_json::to_string(&model).expect("it is a tree");
    write(folder, "completion.json", &model, out)
}

/// Prints a part of the counts, or of the times to which the model is fitted.
pub(super) fn print_part(
    kind: EvidenceKind,
    arguments: &ChooseArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let part = arguments.part.unwrap_or(WorkPart::WHOLE);
    let printed = match kind {
        EvidenceKind::Counts => {
            count(arguments, |options| make_evidence_part(part, options))?.to_text()
        }
        EvidenceKind::Times => lines(simulate(arguments, |o| simulate_groups(part, o))?),
    };
    out.write_all(printed.as_bytes())?;
    Ok(())
}

fn count(
    arguments: &ChooseArguments,
    make: impl FnOnce(&EvidenceOptions<'_>) -> Result<Evidence, EvidenceRunError>,
) -> Result<Evidence, Failure> {
    let bar = ProgressBar::counting("groups counted");
    let made = make(&EvidenceOptions {
        seed: SEED,
        is_quick: arguments.quick,
        threads: arguments.threads(),
        stop: interruption::requested(),
        on_progress: &|done, total| bar.advance(done, total),
    });
    drop(bar);
    made.map_err(|error| match error {
        EvidenceRunError::Interrupted => interrupted(),
        error @ EvidenceRunError::Incomplete { .. } => Failure::running(error.to_string()),
    })
}

fn simulate<T>(
    arguments: &ChooseArguments,
    run: impl FnOnce(&FitOptions<'_>) -> Result<Option<T>, GroupError>,
) -> Result<T, Failure> {
    let bar = ProgressBar::counting("groups simulated");
    let ran = run(&fit_options(arguments.quick, arguments.threads(), &|done, total| {
        bar.advance(done, total);
    }));
    drop(bar);
    ran.map_err(|error| Failure::running(error.to_string()))?.ok_or_else(interrupted)
}

fn fit_options(
    is_quick: bool,
    threads: usize,
    on_progress: &(dyn Fn(usize, usize) + Sync),
) -> FitOptions<'_> {
    let stop = interruption::requested();
    FitOptions { seed: SEED, is_quick, threads, stop, on_progress }
}

/// What parts printed, of which nothing is missing.
#[derive(Default)]
struct GivenParts {
    counts: Option<Evidence>,
    times: Option<Vec<GroupTimes>>,
}

impl GivenParts {
    fn read(paths: &[PathBuf], is_quick: bool) -> Result<Self, Failure> {
        let (mut facts, mut tables, mut times) = (Vec::new(), Vec::new(), BTreeMap::new());
        for path in paths {
            let refused =
                |problem: String| Failure::input(format!("{}: {problem}", path.display()));
            let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
            let mut counted = String::new();
            for line in text.split_inclusive('\n') {
                if line.starts_with("{\"group\"") {
                    let one: GroupTimes =
                        serde_json::from_str(line).map_err(|error| refused(error.to_string()))?;
                    times.insert(one.group, one);
                } else {
                    counted += line;
                }
            }
            let counted = Evidence::parse(&counted);
            let counted = counted.map_err(|error| refused(format!("the counts: {error}")))?;
            facts.extend(counted.facts().cloned());
            tables.extend(counted.tables().cloned());
        }
        let mut given = Self::default();
        if !facts.is_empty() {
            let evidence = Evidence::new(facts, tables);
            let is_there = |id: &str| evidence.facts().any(|facts| facts.scheme == id);
            let schemes = counted_schemes(is_quick).into_iter();
            let missing: Vec<_> =
                schemes.map(|scheme| scheme.id).filter(|id| !is_there(id)).collect();
            if !missing.is_empty() {
                return Err(missing_parts(&format!("counts of {}", missing.join(", "))));
            }
            given.counts = Some(evidence);
        }
        if !times.is_empty() {
            let groups = fitted_groups(&fit_options(is_quick, 1, &|_, _| ()));
            if !times.keys().copied().eq(0..groups) {
                return Err(missing_parts(&format!("times of all {groups} groups, and no others")));
            }
            given.times = Some(times.into_values().collect());
        }
        Ok(given)
    }
}

fn missing_parts(what: &str) -> Failure {
    Failure::input(format!("the files of --from need {what}"))
        .with_help("give all parts, and --quick if they had it")
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
